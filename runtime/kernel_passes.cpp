#include "runtime/kernel_passes.h"

#include <utility>

#include "runtime/tensor_map.h"

namespace mlaindex {

ptx::PassContext pass_context(const CompiledKernel& kernel) {
  const ArchLimits& limits = arch_limits(kernel.spec.arch);
  ptx::PassContext context;
  context.entry = kernel.kernel_name;
  context.sm_number = limits.sm_number;
  context.max_registers_per_thread = kernel.plan.entry_registers;
  context.dynamic_shared_bytes = kernel.plan.shared_bytes();
  context.max_shared_bytes = limits.shared_bytes_per_cta;
  // By kernel parameter (generator/kernel_arguments.h). A box does not depend on the problem.
  const bool paged = kernel.spec.layout == Layout::paged;
  context.tensor_map_box_bytes = {
      {0, box_bytes(q_map_params(kernel.spec, kernel.plan, 0, 1))},
      {1, box_bytes(paged ? page_map_params(kernel.spec, kernel.plan, 0, 1, 0) : k_map_params(kernel.spec, kernel.plan, 0, 1))}};
  if (paged) context.tensor_map_box_bytes[2] = box_bytes(k_scale_page_map_params(kernel.spec, kernel.plan, 0, 1, 0));
  for (const WarpRole& role : kernel.plan.roles) {
    context.roles.push_back(
        {role.name, static_cast<std::uint32_t>(role.first_warp), static_cast<std::uint32_t>(role.num_warps)});
  }
  context.barriers = barrier_groups(kernel.plan);
  return context;
}

Result<std::vector<ptx::PassReport>> run_passes(const ptx::Pipeline& pipeline, CompiledKernel& kernel,
                                                bool describe) {
  ptx::Artifact artifact;
  artifact.ptx = kernel.ptx;
  artifact.cubin = kernel.cubin;
  ptx::PassContext context = pass_context(kernel);
  context.describe = describe;
  if (Status passed = pipeline.run(artifact, context); !passed) return passed.error();
  // The resource gate let exactly one kernel through.
  if (artifact.facts.kernels.size() != 1)
    return Error{ErrorCode::internal, "the passes let through a cubin without one kernel", "please report this"};
  std::vector<ptx::PassReport> reports = pipeline.reports(artifact);
  kernel.facts = std::move(artifact.facts.kernels.front());
  kernel.ptx = std::move(artifact.ptx);
  kernel.cubin = std::move(artifact.cubin);
  return reports;
}

}  // namespace mlaindex
