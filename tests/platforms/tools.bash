# Shared by the scripts of this folder, which source it. Each runs the library on one platform and says what ran; it exits
# with 0, with 77 and a reason if the tools are not here, or with 1. `./test --platforms` runs all of them and sets
# BURTORCH_INSTALL, which lets them install what is missing; in the ordinary ./test they make do with what is there.
# shellcheck source=../../tools/need.sh
. "$root/tools/need.sh"

# tools NAME:PACKAGE...: as `need`, but what cannot be had is a reason to skip.
tools() {
  local pair missing=""
  for pair in "$@"; do
    have "${pair%%:*}" || missing="$missing ${pair#*:}"
  done
  [ -n "$missing" ] || return 0
  if [ -n "${BURTORCH_INSTALL:-}" ] && (need "$@"); then return 0; fi
  skip "these Debian packages are missing:$missing"
}

skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "failed: $*"
  exit 1
}
