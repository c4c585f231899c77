# Shared by ./run, ./test and ./bench, which source it: installs what is missing, keeps builds quiet.
# Everything here talks on stderr, because stdout belongs to the program that is run.

# have NAME: is there such a command, or, for a name that ends in .h, such a header, in .py, such a module of Python, or,
# for a path, such a file?
have() {
  case $1 in
    /*) [ -e "$1" ] ;;
    *.py) python3 -c "import ${1%.py}" >/dev/null 2>&1 ;;
    *.h) echo "#include <$1>" | g++ -E -x c++ - >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

# need NAME:PACKAGE...: each NAME is what `have` understands, PACKAGE the Debian package that holds it.
# Installs what is missing as root or by sudo without a prompt; otherwise prints the command and exits with 3.
need() {
  local pair packages="" sudo=""
  for pair in "$@"; do
    have "${pair%%:*}" || packages="$packages ${pair#*:}"
  done
  [ -n "$packages" ] || return 0

  if ! have apt-get; then
    echo "missing (Debian package names):$packages; install them with this system's package manager" >&2
    exit 3
  fi
  [ "$(id -u)" -eq 0 ] || sudo="sudo "
  local command="${sudo}apt-get update && ${sudo}apt-get install -y$packages"
  if [ -n "$sudo" ] && ! sudo -n true 2>/dev/null; then
    printf 'missing:%s\nto install, run:\n  %s\n' "$packages" "$command" >&2
    exit 3
  fi
  echo "installing:$packages" >&2
  # shellcheck disable=SC2086  # the package names are separate words
  if ! { ${sudo}apt-get update -qq &&
    ${sudo}env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages; } >&2; then
    printf 'installing failed; to try by hand, run:\n  %s\n' "$command" >&2
    exit 3
  fi
}

# quietly COMMAND...: shows the command's output only if it fails.
quietly() {
  local output
  output=$("$@" 2>&1) || { local code=$?; printf '%s\n' "$output" >&2; return "$code"; }
}
