#include "tools/kernel_report.h"

#include "generator/base/format.h"

namespace mlaindex::tools {

std::string milliseconds_text(double milliseconds) {
  return fmt::format("{:.{}f} ms", milliseconds, milliseconds < 1 ? 3 : milliseconds < 100 ? 1 : 0);
}

std::string steps_text(const KernelLookup& lookup) {
  std::string text;
  for (const StepTime& step : lookup.steps) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", step.step, milliseconds_text(step.milliseconds));
  }
  return text.empty() ? "none" : text;
}

std::string origin_text(const KernelLookup& lookup) {
  if (!lookup.kernel->override_text.empty()) return lookup.kernel->override_text;
  switch (lookup.origin) {
    case KernelOrigin::memory: return "in memory already";
    case KernelOrigin::disk: return "found in the cache";
    case KernelOrigin::compiled: return "compiled by NVRTC";
    case KernelOrigin::overridden: break;
  }
  return "";
}

Json kernel_json(const KernelLookup& lookup) {
  const CompiledKernel& kernel = *lookup.kernel;
  Json steps = Json::object();
  for (const StepTime& step : lookup.steps) steps[step.step] = step.milliseconds;
  return {{"name", kernel.kernel_name},
          {"plan", kernel.plan.name},
          {"arch", arch_name(kernel.spec.arch)},
          {"spec", to_string(kernel.spec)},
          {"key", kernel.key},
          {"registers", kernel.facts.registers},
          {"frame_bytes", kernel.facts.frame_bytes},
          {"dynamic_shared_bytes", kernel.plan.shared_bytes()},
          {"static_shared_bytes", kernel.facts.static_shared_bytes},
          {"tensor_memory_columns", kernel.plan.tensor_memory_columns},
          {"code_bytes", kernel.facts.code_bytes},
          {"cubin_bytes", kernel.cubin.size()},
          {"ptx_bytes", kernel.ptx.size()},
          {"origin", kernel_origin_name(lookup.origin)},
          {"override", kernel.override_text},
          {"steps_ms", std::move(steps)}};
}

Json counters_json(const KernelCounters& counters) {
  return {{"hit_memory", counters.hit_memory},   {"waited", counters.waited},
          {"hit_disk", counters.hit_disk},       {"compiled", counters.compiled},
          {"overridden", counters.overridden},   {"failed", counters.failed},
          {"quarantined", counters.quarantined}, {"store_failed", counters.store_failed}};
}

void print_kernel(Output& output, const KernelLookup& lookup) {
  const CompiledKernel& kernel = *lookup.kernel;
  output.row("spec", to_string(kernel.spec));
  output.row("kernel", fmt::format("{}, plan {}", kernel.kernel_name, kernel.plan.name));
  std::string resources =
      fmt::format("{} threads, {} registers each at launch, {} bytes of spills, {} KiB of shared memory",
                  kernel.plan.num_threads, kernel.facts.registers, kernel.facts.frame_bytes,
                  (kernel.plan.shared_bytes() + 1023) / 1024);
  if (kernel.plan.tensor_memory_columns > 0) {
    resources += fmt::format(", {} columns of tensor memory", kernel.plan.tensor_memory_columns);
  }
  output.row("resources", resources);
  output.row("cubin", fmt::format("{} bytes, {}", kernel.cubin.size(), origin_text(lookup)));
  output.row("steps", steps_text(lookup));
}

void print_passes(Output& output, const std::vector<ptx::PassReport>& reports) {
  for (const ptx::PassReport& report : reports) {
    std::string text = report.text();
    text.pop_back();  // the end of the last line
    output.line();
    output.row("pass", text);
  }
}

Json passes_json(const std::vector<ptx::PassReport>& reports) {
  Json passes = Json::array();
  for (const ptx::PassReport& report : reports) {
    Json notes = Json::array();
    for (const ptx::Note& note : report.notes) notes.push_back({{"subject", note.subject}, {"text", note.text}});
    passes.push_back({{"name", report.name},
                      {"version", report.version},
                      {"settings", report.settings},
                      {"notes", std::move(notes)}});
  }
  return passes;
}

}  // namespace mlaindex::tools
