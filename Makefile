# The front door. `make run` and `make test` do everything on a bare Debian 12; see README.md.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BUILD := build
JOBS ?= $(shell nproc)
TEST_JOBS ?= 2

EXAMPLE := $(BUILD)/example/glm.safetensors
CACHE := $(BUILD)/cache

# Ninja works in parallel inside a step; two steps at once would fight over the build folder.
.NOTPARALLEL:

.PHONY: help setup configure build run test test-full bundle clean distclean

help:
	@echo "make run     set up, build, then score an example case and check it"
	@echo "make test    set up, build, then run every test"
	@echo "make test-full  the same, then kernels, defects and round trips in full: hours"
	@echo "make build   build/mlaindex, build/libmlaindex_jit.a, build/libmlaindex_jit.so"
	@echo "make bundle  build/bundle and build/bundle.tar.gz, for another machine"
	@echo "make setup   only install what is missing"
	@echo "make clean   remove what was built; distclean also removes the downloaded NVRTC"

setup:
	@scripts/setup.sh $(BUILD)

# Ninja runs CMake again by itself when a CMake file changes.
configure: setup
	@test -e $(BUILD)/build.ninja || cmake --preset release

build: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target mlaindex mlaindex_jit mlaindex_jit_shared

run: build
	@mkdir -p $(dir $(EXAMPLE))
	$(BUILD)/mlaindex make-case $(EXAMPLE) --tokens 96 --keys 1024 --heads 32 --depth 128 --mask ragged_causal --seed 1
	$(BUILD)/mlaindex score $(EXAMPLE) --check --device auto --cache-dir $(CACHE)

test: configure
	@cmake --build $(BUILD) --parallel $(JOBS)
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $(TEST_JOBS)

test-full: test
	@$(BUILD)/tests/mutation/test_mutation "[.full]"
	@$(BUILD)/tests/kernels/test_kernels "[.full]"

bundle: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target bundle
	@scripts/bundle.sh $(BUILD)

clean:
	@[ ! -d $(BUILD) ] || find $(BUILD) -mindepth 1 -maxdepth 1 ! -name nvrtc -exec rm -rf {} +

distclean:
	@rm -rf $(BUILD)
