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
  const bool ragged = problem.mask == Mask::ragged || problem.mask == Mask::ragged_causal;
  const std::array<Tensor, 7> tensors{{
      {"q", std::as_bytes(problem.q), &device.q},
      {"q_scale", std::as_bytes(problem.q_scale), &device.q_scale},
      {"k", std::as_bytes(problem.k), &device.k},
      {"k_scale", std::as_bytes(problem.k_scale), &device.k_scale},
      {"row starts", std::as_bytes(ragged ? problem.query_offsets : problem.row_start), &device.row_start},
      {"row ends", std::as_bytes(ragged ? problem.key_offsets : problem.row_end), &device.row_end},
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
