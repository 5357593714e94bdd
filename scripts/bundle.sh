#!/bin/sh
# Gathers what was built into BUILD_DIR/bundle and BUILD_DIR/bundle.tar.gz: stripped, and checked to
# need nothing of another x86-64 Linux but its C library (and, to compile kernels, libnvrtc; to run
# them, the driver; both are opened at run time).
#
# usage: scripts/bundle.sh [BUILD_DIR]      (default: build)
set -eu
cd "$(dirname "$0")/.."
build_dir=${1:-build}
bundle=$build_dir/bundle

rm -rf "$bundle" "$bundle.tar.gz"
cmake --install "$build_dir" --component bundle --prefix "$bundle" --strip >/dev/null
set -- "$bundle"/mlaindex* "$bundle"/lib/*.so
scripts/check_elf.sh "$@" || {
  echo "bundle: this would not run on another machine (above)" >&2
  exit 1
}

# The oldest C library that FILE... start with.
glibc_of() { objdump -T "$@" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | cut -d_ -f2; }
programs_glibc=$(glibc_of "$bundle"/mlaindex*)
library_glibc=$(glibc_of "$bundle"/lib/*.so)
sed "s/@PROGRAMS_GLIBC@/$programs_glibc/; s/@LIBRARY_GLIBC@/$library_glibc/" \
  scripts/bundle_readme.txt >"$bundle/README.txt"
tar -C "$build_dir" --owner=0 --group=0 --sort=name -czf "$bundle.tar.gz" bundle

echo "bundle: needs x86-64 Linux with glibc $programs_glibc (the library: $library_glibc) or newer, nothing else to start"
(cd "$build_dir" && ls -sh1 bundle.tar.gz bundle/mlaindex* bundle/lib/*)
