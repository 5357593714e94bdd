// Runs small PTX kernels: `.visible .entry k(.param .u64 out)` with the body given, plus tensor maps.
#pragma once

#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "emulator/machine.h"
#include "generator/base/tensor_map_params.h"
#include "generator/ptx/parser.h"

namespace mlaindex::emulator {

struct PtxProgram {
  std::string target = "sm_100a";
  std::string body;               // may use %r, %rd, %f, %p, %rs 0..63 and the pointer to `out` in %rd0
  std::string shared = ".shared .align 1024 .b8 smem[16384];";
  std::string directives;         // after the parameter list
  std::uint32_t threads = 32;
  std::uint32_t ctas = 1;
  std::uint32_t cluster = 1;
  std::vector<TensorMapParams> maps;  // parameters map0, map1, ...
  std::vector<std::pair<const void*, std::size_t>> inputs;  // readable buffers
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::string> warp_roles;
  std::vector<BarrierGroup> barriers;
  Options options;
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(1024, 0);

  std::string text() const {
    std::string parameters = ".param .u64 out";
    for (std::size_t i = 0; i < maps.size(); ++i)
      parameters += ", .param .align 128 .b8 map" + std::to_string(i) + "[128]";
    return ".version 8.6\n.target " + target + "\n.address_size 64\n" + shared + "\n.visible .entry k(" + parameters + ") " +
           directives + "\n{\n.reg .pred %p<64>;\n.reg .b16 %rs<64>;\n.reg .b32 %r<512>;\n.reg .f32 %f<64>;\n.reg .b64 %rd<64>;\n" +
           "ld.param.u64 %rd0, [out];\n" + body + "\nret;\n}\n";
  }

  RunReport run() {
    const auto module = ptx::parse(text(), "test.ptx");
    if (!module.ok()) FAIL(module.error().text());
    LaunchSpec launch;
    launch.module = &*module;
    launch.entry = "k";
    launch.grid.x = ctas;
    launch.block.x = threads;
    launch.cluster.x = cluster;
    launch.dynamic_shared_bytes = dynamic_shared_bytes;
    launch.warp_roles = warp_roles;
    launch.barriers = barriers;
    launch.options = options;
    GlobalMemory memory;
    memory.add(std::as_writable_bytes(std::span(out)), "out");
    for (const auto& [data, size] : inputs) memory.add_read_only({static_cast<const std::byte*>(data), size}, "input");
    launch.memory = &memory;
    launch.params.resize(128 * (1 + maps.size()));
    const auto address = reinterpret_cast<std::uintptr_t>(out.data());
    std::memcpy(launch.params.data(), &address, 8);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const TensorMapBytes bytes = pack(maps[i]);
      std::memcpy(launch.params.data() + 128 * (i + 1), bytes.data(), 128);
    }
    const auto report = emulator::run(launch);
    if (!report.ok()) FAIL(report.error().text());
    return *report;
  }

  // Runs and requires that nothing was found.
  void run_clean() {
    const RunReport report = run();
    INFO(report.text());
    REQUIRE(report.clean());
  }

  float out_float(std::size_t i) const {
    float value;
    std::memcpy(&value, &out[i], 4);
    return value;
  }
};

inline bool found(const RunReport& report, FaultKind kind) {
  for (const Fault& fault : report.faults)
    if (fault.kind == kind) return true;
  return false;
}

// Stores %r1 to out[tid].
inline const char* const kStoreResult =
    "mov.u32 %r60, %tid.x; mul.wide.u32 %rd60, %r60, 4; add.s64 %rd61, %rd0, %rd60; st.global.u32 [%rd61], %r1;";

}  // namespace mlaindex::emulator
