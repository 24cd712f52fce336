#!/usr/bin/env bash
# The fabric as a library of other programs: builds examples/rdma_write with what is installed, by CMake and by pkg-config, and runs it.
#   library.sh BUILD                       installs the component devel of a finished build below a work folder, and takes that
#   library.sh --installed SOURCE PREFIX   takes what is installed below PREFIX; SOURCE is the folder of the example (packages.sh)
set -uo pipefail
export LC_ALL=C.UTF-8
fail() { echo "FAILED: $1" >&2 && exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/splitnic.XXXXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# check_run PROGRAM: what was written has arrived.
check_run() {
  local output
  output=$(timeout 60 "$1" 2>&1) || fail "$1: $output"
  grep -q '^reader: 20 bytes arrived with immediate data 7: a line of the writer$' <<<"$output" || fail "nothing arrived: $output"
  grep -q '^writer: the write is complete$' <<<"$output" || fail "the write is not complete: $output"
}

by_cmake() {
  { cmake -S "$source" -B "$work/cmake" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" && cmake --build "$work/cmake"; } >"$work/log" 2>&1 ||
    fail "CMake: $(tail -n 40 "$work/log")"
  grep -q "^splitnic_DIR:PATH=$prefix/" "$work/cmake/CMakeCache.txt" || fail "another library: $(grep splitnic_DIR "$work/cmake/CMakeCache.txt")"
  check_run "$work/cmake/rdma_write"
}

# by_pkg_config COMPILER: all of the archive is linked, so that a library that is missing in the file is found.
by_pkg_config() {
  local flags
  flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$prefix/lib64/pkgconfig pkg-config --cflags --libs splitnic-fabric 2>"$work/log") ||
    fail "pkg-config: $(cat "$work/log")"
  # shellcheck disable=SC2086
  "$1" -std=c++20 "$source/main.cc" -o "$work/$1" -Wl,--whole-archive -lsplitnic_fabric -Wl,--no-whole-archive $flags >"$work/log" 2>&1 ||
    fail "$1: $(tail -n 40 "$work/log")"
  check_run "$work/$1"
}

# Each header that is installed finds what it includes.
check_headers() {
  (cd "$prefix/include/splitnic" && find . -type f ! -name '*.h') >"$work/others"
  [ ! -s "$work/others" ] || fail "installed as headers: $(cat "$work/others")"
  (cd "$prefix/include/splitnic" && find . -name '*.h' | sort | sed 's|^\./\(.*\)|#include "\1"|') >"$work/headers.cc"
  [ "$(wc -l <"$work/headers.cc")" -gt 200 ] || fail "few headers: $(cat "$work/headers.cc")"
  # shellcheck disable=SC2046
  g++ -std=c++20 -fsyntax-only "-I$prefix/include/splitnic" $(pkg-config --cflags spdlog) "$work/headers.cc" >"$work/log" 2>&1 ||
    fail "the headers: $(head -n 40 "$work/log")"
}

# Sections of LTO can be read by the compiler that wrote them only.
check_archive() {
  objdump -h "$prefix"/lib*/libsplitnic_fabric.a >"$work/sections" 2>&1 && grep -q ' \.text' "$work/sections" || fail "no code in the archive"
  ! grep -q '\.gnu\.lto_' "$work/sections" || fail "the archive has sections of LTO"
}

if [ "$1" = --installed ]; then
  source=$2 prefix=$3
  by_cmake
  by_pkg_config g++
else
  source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../examples/rdma_write" && pwd) prefix=$work/prefix
  cmake --install "$1" --prefix "$prefix" --component devel >"$work/log" 2>&1 || fail "cmake --install: $(tail -n 20 "$work/log")"
  check_headers
  check_archive
  by_cmake
  by_pkg_config clang++
fi
echo "library: ok"
