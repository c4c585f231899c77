#!/usr/bin/env bash
# Builds the stranger's project in an empty folder, by one way to get the library, and checks what it prints.
set -euo pipefail
usage="usage: run.sh find_package|add_subdirectory|fetch_content|pkg_config|amalgamated|compiled|compiled_package
       SOURCE_DIR COMPILER"
[ $# -eq 3 ] || { echo "$usage" >&2; exit 2; }
way=$1 source=$(cd "$2" && pwd) compiler=$3
here=$source/tests/consumer
export CMAKE_GENERATOR=Ninja
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install_library() {
  cmake -S "$source" -B "$work/library" -DCMAKE_CXX_COMPILER="$compiler" \
    -DBURTORCH_BUILD_TESTS=OFF -DBURTORCH_BUILD_BENCH=OFF -DBURTORCH_BUILD_EXAMPLES=OFF
  # Installed here, used there: a path baked into the package would break the build below.
  cmake --install "$work/library" --prefix "$work/first"
  mv "$work/first" "$work/prefix"
}

# A header-only library must survive two translation units; a stranger's warnings are errors.
compile() {
  echo '#include <burtorch/burtorch.hpp>' >"$work/second.cpp"
  "$compiler" -Wall -Wextra -Werror "$@" "$here/main.cpp" "$work/second.cpp" -o "$work/stranger"
}

# The same with the compiled target.
# Which takes long to build: from the source tree, where it is what our own tests link, the stranger's file is enough.
target=burtorch build=(cmake --build "$work")
case $way in
  compiled)
    way=add_subdirectory target=compiled
    build=(cmake --build "$work" --target CMakeFiles/stranger.dir/main.cpp.o)
    ;;
  compiled_package) way=find_package target=compiled ;;
esac

case $way in
  find_package | add_subdirectory | fetch_content)
    [ "$way" != find_package ] || install_library
    cmake -S "$here" -B "$work" -DCMAKE_CXX_COMPILER="$compiler" -DWAY="$way" -DTARGET="$target" \
      -DBURTORCH_SOURCE="$source" -DCMAKE_PREFIX_PATH="$work/prefix"
    "${build[@]}"
    # The sweep comes from the library, not from the stranger's own file.
    own=$(nm -C "$work"/CMakeFiles/stranger.dir/main.cpp.o | grep -c ' [TWtw] .*::runFast' || true)
    if [ "$own" -ne "$([ "$target" = compiled ] && echo 0 || echo 1)" ]; then
      echo "with burtorch::$target main.cpp compiles $own sweeps of its own" >&2
      exit 1
    fi
    if grep -E '^(GTest_DIR|BURTORCH_BUILD_[A-Z]+:BOOL=ON)' "$work/CMakeCache.txt"; then
      echo "the library's tests, benches or examples were configured for a consumer" >&2
      exit 1
    fi
    ;;
  pkg_config)
    install_library
    read -ra flags < <(PKG_CONFIG_PATH="$work/prefix/share/pkgconfig" pkg-config --cflags burtorch)
    compile "${flags[@]}"
    ;;
  amalgamated)
    mkdir -p "$work/include/burtorch"
    "$source/tools/amalgamate.py" "$work/include/burtorch/burtorch.hpp"
    compile -std=c++20 -I"$work/include"
    ;;
  *)
    echo "$usage" >&2
    exit 2
    ;;
esac

if [ ! -x "$work/stranger" ]; then
  grep -q 'stranger: .*libburtorch_compiled.a' "$work/build.ninja" || {
    echo "$way: the stranger is not linked with the compiled library" >&2
    exit 1
  }
  echo "$way: main.cpp compiles, and links the library"
  exit 0
fi
printed=$("$work/stranger")
if [ "$printed" != "-35 1050" ]; then
  echo "$way: expected '-35 1050', the program printed '$printed'" >&2
  exit 1
fi
echo "$way: $printed"
