// A small case scored by a kernel's own PTX on the emulator, and checked.
#pragma once

#include <string>

#include "runtime/config.h"
#include "runtime/emulator_device.h"
#include "runtime/kernel_store.h"
#include "tools/make_case.h"
#include "tools/score_case.h"

namespace mlaindex {

inline constexpr int head_counts[] = {1, 4, 8, 12, 16, 32, 64, 128};
inline constexpr int depths[] = {32, 64, 128};
inline constexpr Mask masks[] = {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal};

struct Form {
  ScoreType score_type;
  Fill fill;
  FoldType fold = FoldType::f32;
};
inline constexpr Form forms[] = {{ScoreType::f32, Fill::none},
                          {ScoreType::bf16, Fill::negative_infinity},
                          {ScoreType::f32, Fill::negative_infinity},
                          {ScoreType::bf16, Fill::none}};

inline Config memory_only() {
  Config config = config_from_environment();
  config.cache_enabled = false;
  return config;
}

// Runs one case under these settings; empty when all is well.
inline std::string trouble(KernelStore& store, Arch arch, const std::string& plan, Result<tools::Safetensors> tensors,
                           Form form, const EmulatorSettings& settings) {
  if (!tensors) return tensors.error().text();
  auto input = tools::to_case(std::move(*tensors), "case", form.score_type, form.fill, form.fold);
  if (!input) return input.error().text();
  auto device = emulator_factory(settings)(store, arch);
  if (!device) return device.error().text();
  auto scored = tools::score_case(**device, *input, {.plan = plan, .check = true});
  if (!scored) return scored.error().text();
  return scored->passed() ? "" : summary(*scored->against_reference);
}

inline std::string trouble(KernelStore& store, Arch arch, const std::string& plan, const tools::CaseRequest& request,
                           Form form, const EmulatorSettings& settings) {
  return trouble(store, arch, plan, tools::make_case(request), form, settings);
}

// Under one schedule. threads: as EmulatorSettings.
inline std::string trouble(KernelStore& store, Arch arch, const std::string& plan, const tools::CaseRequest& request,
                           Form form, std::uint64_t schedule, unsigned threads = 0) {
  return trouble(store, arch, plan, request, form, EmulatorSettings{.seed = schedule, .threads = threads});
}

}  // namespace mlaindex
