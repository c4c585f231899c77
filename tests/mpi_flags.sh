# Sourced by headers.sh and syntax.sh: `flags_for FILE` prints what the compiler needs beyond the usual for a file that includes
# mpi.h, and fails where MPI is not installed. Its headers are not ours: no warnings about them.
flags_for() {
  if ! grep -qE 'mpi/mpi_ranks\.hpp|<mpi\.h>' "$1"; then return 0; fi
  command -v mpicxx >/dev/null || return 1
  mpicxx --showme:incdirs 2>/dev/null | tr ' ' '\n' | sed '/^$/d; s/^/-isystem /' && return 0
  mpicxx -show | tr ' ' '\n' | sed -n 's/^-I/-isystem /p'
}
