#!/bin/sh
# Installs what the build needs and puts NVRTC where the build looks for it. Safe to run again:
# when everything is there it only looks. Network: apt and PyPI, and only for what is missing.
#
# usage: scripts/setup.sh [BUILD_DIR]      (default: build)
#
#   apt    g++, CMake, Ninja, LLVM 19 or newer, spdlog, fmt, CLI11, nlohmann-json, Catch2,
#          RapidCheck, zlib, zstd (Debian 12 or anything with the same package names)
#   NVRTC  BUILD_DIR/nvrtc: a link to the libraries of a CUDA toolkit (CUDA_HOME, CUDA_PATH or
#          /usr/local/cuda), else the unpacked PyPI wheel
set -eu
cd "$(dirname "$0")/.."
build_dir=${1:-build}

wheel=nvidia-cuda-nvrtc==13.0.88
wheel_sha256=ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575
toolkit_minimum="12.8"  # the oldest NVRTC that knows sm_100a

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 3; }

# --- packages ---------------------------------------------------------------------------------

installed() { dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

# install PACKAGE...: those of them that are missing, with one question to the package manager.
install() {
  missing=
  for package in "$@"; do
    installed "$package" || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    fail "packages are missing; as root run: apt-get install --no-install-recommends$missing"
  fi
  say "installing:$missing"
  apt="apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0"
  log=$(mktemp)
  # $apt and $missing are lists of words. One package source that does not answer need not matter, so it is
  # the installation that decides.
  # shellcheck disable=SC2086
  if ! { $apt update || true; $apt install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    fail "apt-get failed (above); with a working package source run this again"
  fi
  rm -f "$log"
}

llvm_package=llvm-19-dev
for version in 22 21 20; do
  if command -v dpkg-query >/dev/null && installed "llvm-$version-dev"; then
    llvm_package=llvm-$version-dev
    break
  fi
done

export DEBIAN_FRONTEND=noninteractive
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  install g++ cmake ninja-build "$llvm_package" libspdlog-dev libfmt-dev libcli11-dev \
    nlohmann-json3-dev catch2 librapidcheck-dev zlib1g-dev libzstd-dev
else
  say "no apt here: taking the compiler and the libraries as they are (docs/development.md lists them)"
fi

# --- NVRTC ------------------------------------------------------------------------------------

nvrtc_dir=$build_dir/nvrtc
mkdir -p "$build_dir"

# at_least MINIMUM VERSION, both MAJOR.MINOR
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# The library folder of an installed toolkit whose NVRTC is new enough, or nothing.
toolkit_libraries() {
  for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    for folder in "$root/lib64" "$root/targets/x86_64-linux/lib"; do
      [ -n "$root" ] || continue
      for builtins in "$folder"/libnvrtc-builtins.so.*.*; do
        [ -e "$builtins" ] || continue
        version=$(printf '%s' "${builtins##*libnvrtc-builtins.so.}" | cut -d. -f1,2)
        if at_least "$toolkit_minimum" "$version"; then
          printf '%s' "$folder"
          return
        fi
      done
    done
  done
}

# Downloads the wheel, checks its digest and unpacks its libraries into nvrtc_dir.
fetch_nvrtc() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) ;;
    *) fail "no CUDA toolkit found, and the NVRTC wheel used here is for Linux on x86-64" ;;
  esac
  if ! python3 -m pip --version >/dev/null 2>&1; then
    command -v apt-get >/dev/null || fail "NVRTC comes from PyPI: install python3 with pip"
    install python3-pip
  fi
  say "fetching NVRTC from PyPI: $wheel"
  scratch=$(mktemp -d "$build_dir/nvrtc.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  printf '%s --hash=sha256:%s\n' "$wheel" "$wheel_sha256" >"$scratch/requirements.txt"
  python3 -m pip --quiet --disable-pip-version-check --retries 2 download --no-deps --only-binary :all: \
    --require-hashes -r "$scratch/requirements.txt" -d "$scratch" ||
    fail "PyPI is not reached, or served another file; install a CUDA toolkit $toolkit_minimum or newer and set CUDA_HOME instead"
  python3 -m zipfile -e "$scratch"/*.whl "$scratch/wheel"
  rm -f "$scratch"/wheel/nvidia/*/lib/*.alt.so.*
  rm -rf "$nvrtc_dir"
  mv "$scratch"/wheel/nvidia/*/lib "$nvrtc_dir"
  mv "$scratch"/wheel/*.dist-info/licenses "$nvrtc_dir"
}

if ! ls "$nvrtc_dir"/libnvrtc.so.* >/dev/null 2>&1; then
  folder=$(toolkit_libraries)
  if [ -n "$folder" ]; then
    say "NVRTC: $folder"
    rm -rf "$nvrtc_dir"
    ln -s "$folder" "$nvrtc_dir"
  else
    fetch_nvrtc
  fi
fi
