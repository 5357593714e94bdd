#include "runtime/launcher.h"

#include "generator/base/format.h"
#include "generator/kernel_arguments.h"
#include "runtime/score_problem.h"

namespace mlaindex {
namespace {

Error invalid(std::string message, std::string hint) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(hint)};
}

struct Extent {
  const char* name;
  std::int64_t value;
};

struct Pointer {
  const char* name;
  cuda::DevicePointer value;
  std::uint64_t alignment;
};

Status check_extents(const Spec& spec, const DeviceProblem& problem) {
  for (const Extent& extent :
       {Extent{"num_tokens", problem.num_tokens}, Extent{"num_keys", problem.num_keys},
        Extent{"num_columns", problem.num_columns}, Extent{"num_requests", problem.num_requests}}) {
    if (extent.value < 0 || extent.value > max_extent)
      return invalid(fmt::format("{} = {}", extent.name, extent.value), fmt::format("allowed: 0 to {}", max_extent));
  }
  if (problem.row_stride < problem.num_columns)
    return invalid(fmt::format("row_stride = {}", problem.row_stride),
                   fmt::format("at least num_columns = {}", problem.num_columns));
  if (problem.q_scale_stride < spec.num_heads)
    return invalid(fmt::format("q_scale_stride = {}", problem.q_scale_stride),
                   fmt::format("at least num_heads = {}", spec.num_heads));
  return {};
}

Status check_pointer(const Pointer& pointer) {
  if (pointer.value == 0) return invalid(fmt::format("{} is null", pointer.name), "device memory is needed");
  if (pointer.value % pointer.alignment != 0)
    return invalid(fmt::format("{} = {:#x}", pointer.name, pointer.value),
                   fmt::format("{}-byte alignment is needed", pointer.alignment));
  return {};
}

Status check_pages(const Spec& spec, const DeviceProblem& problem) {
  const DevicePages& pages = problem.pages;
  const bool fused = problem.k_scale == 0;
  const std::int64_t max_page_stride = std::int64_t{1} << 40;
  const std::int64_t scale_bytes = 4LL * spec.page_size;
  const std::int64_t key_bytes = static_cast<std::int64_t>(spec.page_size) * spec.depth;
  const auto bad_stride = [&](std::int64_t stride, std::int64_t least) {
    return stride < least || stride % 16 != 0 || stride >= max_page_stride;
  };
  const std::int64_t least_stride = key_bytes + (fused ? scale_bytes : 0);
  if (bad_stride(pages.page_stride, least_stride))
    return invalid(fmt::format("page_stride = {}", pages.page_stride),
                   fmt::format("allowed: multiples of 16 bytes from {} to 2^40", least_stride));
  if (!fused && bad_stride(pages.k_scale_page_stride, scale_bytes))
    return invalid(fmt::format("k_scale_page_stride = {}", pages.k_scale_page_stride),
                   fmt::format("allowed: multiples of 16 bytes from {} to 2^40", scale_bytes));
  const auto bad_count = [](std::int64_t count) { return count < 1 || count > 2147483647; };
  if (bad_count(pages.num_pages) || (!fused && bad_count(pages.num_k_scale_pages)))
    return invalid(fmt::format("num_pages = {}, num_k_scale_pages = {}", pages.num_pages, pages.num_k_scale_pages),
                   "allowed: 1 to 2147483647");
  if (pages.block_table_stride < pages.pages_per_request || (!fused && pages.k_scale_table_stride < pages.pages_per_request))
    return invalid(fmt::format("block_table_stride = {}, k_scale_table_stride = {}", pages.block_table_stride,
                               pages.k_scale_table_stride),
                   fmt::format("at least pages_per_request = {}", pages.pages_per_request));
  if (problem.num_keys != pages.pages_per_request * spec.page_size)
    return invalid(fmt::format("num_keys = {}", problem.num_keys),
                   fmt::format("pages_per_request * page_size = {} is needed", pages.pages_per_request * spec.page_size));
  if (is_ragged(spec.mask)) return {};
  if (pages.next_n < 1 || pages.next_n > max_next_n)
    return invalid(fmt::format("next_n = {}", pages.next_n), fmt::format("allowed: 1 to {}", max_next_n));
  if (problem.num_tokens == problem.num_requests * pages.next_n) return {};
  return invalid(fmt::format("num_tokens = {}", problem.num_tokens),
                 fmt::format("num_requests * next_n = {} is needed", problem.num_requests * pages.next_n));
}

Status check_page_pointers(const Spec& spec, const DeviceProblem& problem) {
  for (const Pointer& pointer : {Pointer{"q", problem.q, 16}, Pointer{"pages", problem.k, 16},
                                 Pointer{"q_scale", problem.q_scale, 4},
                                 Pointer{"block_table", problem.pages.block_table, 4},
                                 Pointer{"context_lens", problem.row_end, 4}}) {
    if (Status status = check_pointer(pointer); !status) return status;
  }
  if (problem.k_scale != 0) {
    if (Status status = check_pointer({"pages of k_scale", problem.k_scale, 16}); !status) return status;
    if (Status status = check_pointer({"k_scale_table", problem.pages.k_scale_table, 4}); !status) return status;
  }
  return is_ragged(spec.mask) ? check_pointer({"query_offsets", problem.row_start, 4}) : Status{};
}

// Of a problem with tokens, keys and columns.
Status check_pointers(const Spec& spec, const DeviceProblem& problem) {
  if (spec.layout == Layout::paged) return check_page_pointers(spec, problem);
  for (const Pointer& pointer : {Pointer{"q", problem.q, 16}, Pointer{"k", problem.k, 16},
                                 Pointer{"q_scale", problem.q_scale, 4}, Pointer{"k_scale", problem.k_scale, 4}}) {
    if (Status status = check_pointer(pointer); !status) return status;
  }
  if (spec.mask == Mask::full) return {};
  const bool ragged = is_ragged(spec.mask);
  if (Status status = check_pointer({ragged ? "query_offsets" : "row_start", problem.row_start, 4}); !status)
    return status;
  return check_pointer({ragged ? "key_offsets" : "row_end", problem.row_end, 4});
}

// Into a graph, as an edge of its own kind.
constexpr int oldest_driver_that_captures_overlap = 12030;

// Of a kernel that came from elsewhere nobody knows.
bool waits_for_earlier_launches(const CompiledKernel& kernel) {
  return kernel.override_text.empty() && kernel.ptx.find("griddepcontrol.wait") != std::string::npos;
}

}  // namespace

Launcher::Launcher(LoadedKernel kernel, Spec spec, Plan plan, bool overlaps)
    : kernel_(std::move(kernel)), spec_(spec), plan_(std::move(plan)), overlaps_(overlaps) {}

Result<Launcher> Launcher::create(std::shared_ptr<const Context> context, const CompiledKernel& kernel, Overlap overlap) {
  auto loaded = LoadedKernel::load(std::move(context), kernel);
  if (!loaded) return loaded.error();
  const bool overlaps = overlap == Overlap::allowed && waits_for_earlier_launches(kernel) &&
                        loaded->context().driver().version() >= oldest_driver_that_captures_overlap;
  return Launcher(std::move(*loaded), kernel.spec, kernel.plan, overlaps);
}

Status Launcher::launch(const DeviceProblem& problem, cuda::Stream stream) {
  if (Status status = check_extents(spec_, problem); !status) return status;
  if (spec_.layout == Layout::paged) {
    if (Status status = check_pages(spec_, problem); !status) return status;
  }
  if (problem.num_tokens == 0 || problem.num_columns == 0) return {};
  if (Status status = check_pointer({"scores", problem.scores, score_bytes(spec_.score_type)}); !status) return status;

  const ContextScope scope(kernel_.context());
  if (Status status = scope.status(); !status) return status;
  const bool paged = spec_.layout == Layout::paged;
  const bool nothing_visible = problem.num_keys == 0 || ((paged || is_ragged(spec_.mask)) && problem.num_requests == 0);
  if (nothing_visible) return fill_rows(problem, stream);
  if (Status status = check_pointers(spec_, problem); !status) return status;
  if (Status status = prepare(problem); !status) return status;
  return launch_kernel(problem, stream);
}

Status Launcher::prepare(const DeviceProblem& problem) {
  const Prepared wanted{problem.q,        problem.k,           problem.k_scale, problem.num_tokens,
                        problem.num_keys, problem.num_requests, problem.pages};
  if (wanted == prepared_) return {};
  prepared_ = {};  // until all maps are encoded, none counts
  const Driver& driver = kernel_.context().driver();
  const auto q_map = q_map_params(spec_, plan_, problem.q, problem.num_tokens);
  if (Status status = encode(driver, q_map, q_map_); !status) return status;
  if (spec_.layout == Layout::paged) {
    if (Status status = prepare_paged_keys(problem); !status) return status;
  } else {
    const auto k_map = k_map_params(spec_, plan_, problem.k, problem.num_keys);
    if (Status status = encode(driver, k_map, k_map_); !status) return status;
  }
  const ProblemSize size{static_cast<int>(problem.num_tokens), static_cast<int>(problem.num_keys),
                         static_cast<int>(problem.num_requests)};
  grid_ = launch_grid(spec_, plan_, size, kernel_.context().properties().num_sms);
  prepared_ = wanted;
  return {};
}

Status Launcher::prepare_paged_keys(const DeviceProblem& problem) {
  const Driver& driver = kernel_.context().driver();
  const DevicePages& pages = problem.pages;
  const auto k_map = page_map_params(spec_, plan_, problem.k, pages.num_pages, pages.page_stride);
  if (Status status = encode(driver, k_map, k_map_); !status) return status;
  const auto behind_keys = problem.k + static_cast<cuda::DevicePointer>(spec_.page_size) * spec_.depth;
  const bool fused = problem.k_scale == 0;
  const auto k_scale_map =
      fused ? k_scale_page_map_params(spec_, plan_, behind_keys, pages.num_pages, pages.page_stride)
            : k_scale_page_map_params(spec_, plan_, problem.k_scale, pages.num_k_scale_pages, pages.k_scale_page_stride);
  return encode(driver, k_scale_map, k_scale_map_);
}

Status Launcher::launch_kernel(const DeviceProblem& problem, cuda::Stream stream) {
  PagedKernelArguments arguments;
  arguments.scoring = {
      .q_scale = problem.q_scale,
      .k_scale = problem.k_scale,
      .scores = problem.scores,
      .row_start = problem.row_start,
      .row_end = problem.row_end,
      .q_scale_stride = problem.q_scale_stride,
      .row_stride = problem.row_stride,
      .num_tokens = static_cast<std::int32_t>(problem.num_tokens),
      .num_keys = static_cast<std::int32_t>(problem.num_keys),
      .num_columns = static_cast<std::int32_t>(problem.num_columns),
      .num_requests = static_cast<std::int32_t>(problem.num_requests),
      .unit_share = grid_.unit_share,
      .in_sequence = grid_.in_sequence,
      .log2_pieces = grid_.log2_pieces,
  };
  const DevicePages& pages = problem.pages;
  const bool fused = problem.k_scale == 0;
  arguments.pages = {
      .block_table = pages.block_table,
      .k_scale_table = fused ? pages.block_table : pages.k_scale_table,
      .block_table_stride = pages.block_table_stride,
      .k_scale_table_stride = fused ? pages.block_table_stride : pages.k_scale_table_stride,
      .num_pages = static_cast<std::int32_t>(pages.num_pages),
      .num_k_scale_pages = static_cast<std::int32_t>(fused ? pages.num_pages : pages.num_k_scale_pages),
      .next_n = static_cast<std::int32_t>(pages.next_n),
      .max_context = static_cast<std::int32_t>(problem.num_keys),
  };
  // A kernel of contiguous keys takes the first part only: the driver copies what the kernel declares.
  void* parameters[] = {&q_map_, &k_map_, &k_scale_map_, &arguments};
  const LaunchShape shape{.grid_x = grid_.x,
                          .grid_y = grid_.y,
                          .num_threads = plan_.num_threads,
                          .dynamic_shared_bytes = plan_.shared_bytes(),
                          .overlaps = overlaps_};
  return kernel_.enqueue(shape, stream, parameters);
}

Status Launcher::fill_rows(const DeviceProblem& problem, cuda::Stream stream) const {
  if (spec_.fill == Fill::none) return {};
  const Driver& driver = kernel_.context().driver();
  const auto width = static_cast<std::size_t>(problem.num_columns);
  const auto height = static_cast<std::size_t>(problem.num_tokens);
  const std::size_t pitch = static_cast<std::size_t>(problem.row_stride) * score_bytes(spec_.score_type);
  constexpr unsigned f32_negative_infinity = 0xff800000;
  const auto code =
      spec_.score_type == ScoreType::f32
          ? driver->fill_rows_32(problem.scores, pitch, f32_negative_infinity, width, height, stream)
          : driver->fill_rows_16(problem.scores, pitch, f32_negative_infinity >> 16, width, height, stream);
  return driver.check(code, "filling rows that see no keys");
}

}  // namespace mlaindex
