#include "tests/hardware/overlap_run.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "generator/base/format.h"
#include "runtime/stream.h"
#include "runtime/uploaded_problem.h"

namespace mlaindex::hardware {
namespace {

constexpr int chain_launches = 8;  // more, and the scores of random data overflow
constexpr int chains = 100;
constexpr std::uint32_t one = 0x3f800000;  // 1.0f, where no score is written

using Scores = std::vector<std::byte>;  // of the last launch, then of the one before

class Chain {
 public:
  static Result<Chain> create(CudaDevice& device, const ScoreProblem& problem) {
    const std::size_t bytes = score_buffer_bytes(problem);
    auto uploaded = UploadedProblem::create(device.context(), problem, Scores(bytes), false);
    if (!uploaded) return uploaded.error();
    auto stream = OwnedStream::create(device.context());
    if (!stream) return stream.error();
    std::vector<DeviceBuffer> buffers;
    for (const char* name : {"even scores", "odd scores"}) {
      auto buffer = DeviceBuffer::allocate(device.context(), name, bytes, false);
      if (!buffer) return buffer.error();
      buffers.push_back(std::move(*buffer));
    }
    return Chain(std::move(*uploaded), std::move(*stream), std::move(buffers));
  }

  Result<Scores> run(Launcher& launcher) {
    for (DeviceBuffer& buffer : buffers_)
      if (Status status = buffer.enqueue_fill(one, stream_.handle()); !status) return status.error();
    DeviceProblem problem = uploaded_.device();
    for (int i = 0; i < chain_launches; ++i) {
      problem.scores = buffers_[i % 2].pointer();
      if (Status status = launcher.launch(problem, stream_.handle()); !status) return status.error();
      problem.q_scale = problem.scores;
      problem.q_scale_stride = problem.row_stride;
    }
    Scores scores;
    for (const DeviceBuffer& buffer : buffers_) {
      Scores part(buffer.bytes());
      if (Status status = buffer.download(part); !status) return status.error();
      scores.insert(scores.end(), part.begin(), part.end());
    }
    return scores;
  }

 private:
  Chain(UploadedProblem uploaded, OwnedStream stream, std::vector<DeviceBuffer> buffers)
      : uploaded_(std::move(uploaded)), stream_(std::move(stream)), buffers_(std::move(buffers)) {}

  UploadedProblem uploaded_;
  OwnedStream stream_;
  std::vector<DeviceBuffer> buffers_;
};

}  // namespace

Result<std::string> run_overlapping(CudaDevice& device, KernelStore& store, const tools::Case& input,
                                    const std::string& plan_name) {
  if (input.problem.row_stride < input.problem.num_heads) return std::string();  // scores have no room for q_scale
  const auto lookup = store.get(spec_for(input.problem, device.arch()), plan_name, size_of(input.problem));
  if (!lookup) return lookup.error();
  auto overlapping = Launcher::create(device.context(), *lookup->kernel, Overlap::allowed);
  if (!overlapping) return overlapping.error();
  auto ordered = Launcher::create(device.context(), *lookup->kernel, Overlap::never);
  if (!ordered) return ordered.error();
  auto chain = Chain::create(device, input.problem);
  if (!chain) return chain.error();
  const auto expected = chain->run(*ordered);
  if (!expected) return expected.error();
  int different = 0;
  for (int i = 0; i < chains; ++i) {
    const auto scores = chain->run(*overlapping);
    if (!scores) return scores.error();
    if (*scores != *expected) ++different;
  }
  return different == 0 ? std::string() : fmt::format("{} of {} chains of launches that overlap differ", different, chains);
}

}  // namespace mlaindex::hardware
