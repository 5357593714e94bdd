#!/bin/sh
# Holds finished ELF files to what another Linux machine offers: of shared libraries only those of
# the C library, and for .so files no exported name but mlaindex_*. Prints what breaks the rule.
#
# usage: scripts/check_elf.sh FILE...      exit 0: all kept the rule; 1: some did not
set -eu
status=0
for file in "$@"; do
  readelf -h "$file" >/dev/null || { status=1; continue; }
  foreign=$(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux-x86-64\.so\.2)$' || true)
  if [ -n "$foreign" ]; then
    printf '%s needs %s\n' "$file" "$(printf '%s' "$foreign" | tr '\n' ' ')"
    status=1
  fi
  case $file in
    *.so | *.so.*)
      names=$(nm -D --defined-only "$file" | awk '$2 != "A" && $3 !~ /^mlaindex_/ { print $3 }')
      if [ -n "$names" ]; then
        printf '%s exports %s other names, the first: %s\n' "$file" \
          "$(printf '%s\n' "$names" | wc -l)" "$(printf '%s\n' "$names" | head -n 1)"
        status=1
      fi
      ;;
  esac
done
exit $status
