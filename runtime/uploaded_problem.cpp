#include "runtime/uploaded_problem.h"

#include <array>

namespace mlaindex {
namespace {

struct Tensor {
  const char* name;
  std::span<const std::byte> bytes;
  cuda::DevicePointer* pointer;
};

}  // namespace

Result<UploadedProblem> UploadedProblem::create(const std::shared_ptr<const Context>& context,
                                                const ScoreProblem& problem, std::span<const std::byte> scores,
                                                bool guard_zones) {
  UploadedProblem uploaded;
  DeviceProblem& device = uploaded.device_;
  const bool ragged = is_ragged(problem.mask);
  const PagedKeys& paged = problem.paged;
  const bool is_paged = problem.layout == Layout::paged;
  const std::array<Tensor, 9> tensors{{
      {"q", std::as_bytes(problem.q), &device.q},
      {"q_scale", std::as_bytes(problem.q_scale), &device.q_scale},
      {is_paged ? "pages" : "k", std::as_bytes(is_paged ? paged.pages : problem.k), &device.k},
      {"k_scale", is_paged ? std::as_bytes(paged.k_scale_pages) : std::as_bytes(problem.k_scale), &device.k_scale},
      {"block_table", std::as_bytes(paged.block_table), &device.pages.block_table},
      {"k_scale_table", std::as_bytes(paged.k_scale_table), &device.pages.k_scale_table},
      {"row starts", std::as_bytes(ragged ? problem.query_offsets : problem.row_start), &device.row_start},
      {"row ends",
       std::as_bytes(is_paged ? paged.context_lens : ragged ? problem.key_offsets : problem.row_end),
       &device.row_end},
      {"scores", scores, &device.scores},
  }};
  for (const Tensor& tensor : tensors) {
    auto pointer = uploaded.add(context, tensor.name, tensor.bytes, guard_zones);
    if (!pointer) return pointer.error();
    *tensor.pointer = *pointer;
  }
  device.q_scale_stride = problem.q_scale_stride;
  device.row_stride = problem.row_stride;
  device.num_tokens = problem.num_tokens;
  device.num_keys = problem.num_keys;
  device.num_columns = problem.num_columns;
  device.num_requests = problem.num_requests();
  if (!is_paged) return uploaded;
  if (paged.fused()) device.k_scale = 0;
  device.pages.block_table_stride = device.pages.k_scale_table_stride = paged.pages_per_request;
  device.pages.pages_per_request = paged.pages_per_request;
  device.pages.num_pages = paged.num_pages;
  device.pages.page_stride = paged.page_stride;
  device.pages.num_k_scale_pages = paged.num_k_scale_pages;
  device.pages.k_scale_page_stride = paged.k_scale_page_stride;
  device.pages.next_n = paged.next_n;
  return uploaded;
}

Result<cuda::DevicePointer> UploadedProblem::add(const std::shared_ptr<const Context>& context, const char* name,
                                                 std::span<const std::byte> bytes, bool guard_zones) {
  auto buffer = DeviceBuffer::allocate(context, name, bytes.size(), guard_zones);
  if (!buffer) return buffer.error();
  if (Status status = buffer->upload(bytes); !status) return status.error();
  buffers_.push_back(std::move(*buffer));
  return buffers_.back().pointer();
}

Status UploadedProblem::upload_scores(std::span<const std::byte> scores) { return buffers_.back().upload(scores); }

Status UploadedProblem::download_scores(ScoreBuffer scores) const { return buffers_.back().download(scores); }

Status UploadedProblem::check_guard_zones() const {
  for (const DeviceBuffer& buffer : buffers_) {
    if (Status status = buffer.check_guard_zones(); !status) return status;
  }
  return {};
}

}  // namespace mlaindex
