#include "runtime/emulator_launch.h"

#include <span>
#include <string>
#include <vector>

#include "generator/kernel_arguments.h"
#include "generator/route.h"
#include "runtime/tensor_map.h"

namespace mlaindex {
namespace {

// Of the board each arch ships on (H200, B200): only the grid depends on it.
int board_sms(Arch arch) noexcept { return arch == Arch::sm_90a ? 132 : 148; }

// An input in emulated global memory. The allocator's alignment is the 16 bytes that TMA needs.
template <class T>
class Input {
 public:
  Input(emulator::GlobalMemory& memory, std::span<const T> values, const char* name)
      : values_(values.begin(), values.end()) {
    if (!values_.empty()) memory.add_read_only(std::as_bytes(std::span(values_)), name);
  }

  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(values_.data()); }

 private:
  std::vector<T> values_;
};

void append(std::vector<std::byte>& params, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  params.insert(params.end(), bytes, bytes + size);
}

Status append_map(std::vector<std::byte>& params, const TensorMapParams& map) {
  if (Status status = validate(map); !status) return status;
  const TensorMapBytes bytes = pack(map);
  append(params, bytes.data(), bytes.size());
  return {};
}

std::vector<std::string> role_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const WarpRole& role : plan.roles) names.insert(names.end(), static_cast<std::size_t>(role.num_warps), role.name);
  return names;
}

// What the kernel argument row_start or row_end points to.
struct RowTensor {
  std::span<const std::int32_t> values;
  const char* name;
};

RowTensor row_starts(const ScoreProblem& problem) noexcept {
  if (problem.mask == Mask::ranges) return {problem.row_start, "row_start"};
  return {problem.query_offsets, "query_offsets"};
}

RowTensor row_ends(const ScoreProblem& problem) noexcept {
  if (problem.layout == Layout::paged) return {problem.paged.context_lens, "context_lens"};
  if (problem.mask == Mask::ranges) return {problem.row_end, "row_end"};
  return {problem.key_offsets, "key_offsets"};
}

// The keys of a problem in emulated memory: rows, or pages with their tables.
struct KeyInputs {
  KeyInputs(emulator::GlobalMemory& memory, const ScoreProblem& problem)
      : k(memory, problem.layout == Layout::paged ? problem.paged.pages : problem.k,
          problem.layout == Layout::paged ? "pages" : "k"),
        k_scale(memory, problem.k_scale, "k_scale"),
        k_scale_pages(memory, problem.paged.k_scale_pages, "pages of k_scale"),
        block_table(memory, problem.paged.block_table, "block_table"),
        k_scale_table(memory, problem.paged.k_scale_table, "k_scale_table") {}

  Input<std::uint8_t> k;
  Input<float> k_scale;
  Input<std::uint8_t> k_scale_pages;
  Input<std::int32_t> block_table;
  Input<std::int32_t> k_scale_table;
};

Status append_key_maps(std::vector<std::byte>& params, const CompiledKernel& kernel, const ScoreProblem& problem,
                       const KeyInputs& keys) {
  const Plan& plan = kernel.plan;
  if (problem.layout == Layout::paged) {
    const PagedKeys& paged = problem.paged;
    const auto k_map = page_map_params(kernel.spec, plan, keys.k.address(), paged.num_pages, paged.page_stride);
    if (Status status = append_map(params, k_map); !status) return status;
    const auto key_bytes = static_cast<std::uint64_t>(paged.page_size) * static_cast<std::uint64_t>(problem.depth);
    return append_map(params, paged.fused()
                                  ? k_scale_page_map_params(kernel.spec, plan, keys.k.address() + key_bytes,
                                                            paged.num_pages, paged.page_stride)
                                  : k_scale_page_map_params(kernel.spec, plan, keys.k_scale_pages.address(),
                                                            paged.num_k_scale_pages, paged.k_scale_page_stride));
  }
  if (Status status = append_map(params, k_map_params(kernel.spec, plan, keys.k.address(), problem.num_keys)); !status)
    return status;
  params.resize(params.size() + sizeof(TensorMapBytes));
  return {};
}

PageArguments page_arguments(const ScoreProblem& problem, const KeyInputs& keys) noexcept {
  const PagedKeys& paged = problem.paged;
  return {
      .block_table = keys.block_table.address(),
      .k_scale_table = paged.fused() ? keys.block_table.address() : keys.k_scale_table.address(),
      .block_table_stride = paged.pages_per_request,
      .k_scale_table_stride = paged.pages_per_request,
      .num_pages = static_cast<std::int32_t>(paged.num_pages),
      .num_k_scale_pages = static_cast<std::int32_t>(paged.fused() ? paged.num_pages : paged.num_k_scale_pages),
      .next_n = paged.next_n,
      .max_context = static_cast<std::int32_t>(problem.num_keys),
  };
}

}  // namespace

Result<emulator::RunReport> launch_on_emulator(const CompiledKernel& kernel, const ptx::Module& module,
                                               const ScoreProblem& problem, ScoreBuffer scores,
                                               const EmulatorSettings& settings) {
  const Plan& plan = kernel.plan;
  emulator::GlobalMemory memory;
  const Input<std::uint8_t> q(memory, problem.q, "q");
  const Input<float> q_scale(memory, problem.q_scale, "q_scale");
  const KeyInputs keys(memory, problem);
  const Input<std::int32_t> starts(memory, row_starts(problem).values, row_starts(problem).name);
  const Input<std::int32_t> ends(memory, row_ends(problem).values, row_ends(problem).name);
  memory.add(scores, "scores");

  std::vector<std::byte> params;
  if (Status status = append_map(params, q_map_params(kernel.spec, plan, q.address(), problem.num_tokens)); !status)
    return status.error();
  if (Status status = append_key_maps(params, kernel, problem, keys); !status) return status.error();
  const int num_sms = settings.num_sms > 0 ? settings.num_sms : board_sms(kernel.spec.arch);
  const LaunchGrid grid = launch_grid(kernel.spec, plan, size_of(problem), num_sms);
  const KernelArguments arguments{
      .q_scale = q_scale.address(),
      .k_scale = keys.k_scale.address(),
      .scores = reinterpret_cast<std::uint64_t>(scores.data()),
      .row_start = starts.address(),
      .row_end = ends.address(),
      .q_scale_stride = problem.q_scale_stride,
      .row_stride = problem.row_stride,
      .num_tokens = static_cast<std::int32_t>(problem.num_tokens),
      .num_keys = static_cast<std::int32_t>(problem.num_keys),
      .num_columns = static_cast<std::int32_t>(problem.num_columns),
      .num_requests = static_cast<std::int32_t>(problem.num_requests()),
      .unit_share = grid.unit_share,
      .in_sequence = grid.in_sequence,
      .log2_pieces = grid.log2_pieces,
  };
  append(params, &arguments, sizeof(arguments));
  if (problem.layout == Layout::paged) {
    const PageArguments pages = page_arguments(problem, keys);
    append(params, &pages, sizeof(pages));
  }

  emulator::LaunchSpec launch;
  launch.module = &module;
  launch.entry = kernel.kernel_name;
  launch.grid.x = static_cast<std::uint32_t>(grid.x);
  launch.grid.y = static_cast<std::uint32_t>(grid.y);
  launch.block.x = static_cast<std::uint32_t>(plan.num_threads);
  launch.dynamic_shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes());
  launch.params = std::move(params);
  launch.memory = &memory;
  launch.warp_roles = role_names(plan);
  launch.barriers = barrier_groups(plan);
  launch.options.trace = static_cast<bool>(settings.on_timeline);
  launch.options.seed = settings.seed;
  launch.options.threads = settings.threads;
  if (settings.shared_base > 0) launch.options.shared_base = settings.shared_base;
  if (settings.max_steps > 0) launch.options.max_steps = settings.max_steps;
  launch.options.arithmetic =
      settings.exact_arithmetic ? emulator::ArithmeticMode::exact : emulator::ArithmeticMode::hardware;
  auto report = emulator::run(launch);
  if (report && settings.on_timeline) settings.on_timeline(emulator::chrome_trace(*report));
  return report;
}

}  // namespace mlaindex
