// A score problem copied to a GPU.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device_buffer.h"
#include "runtime/launcher.h"
#include "runtime/score_problem.h"

namespace mlaindex {

class UploadedProblem {
 public:
  // Copies a valid problem, and what its scores' bytes are before the run.
  static Result<UploadedProblem> create(const std::shared_ptr<const Context>& context, const ScoreProblem& problem,
                                        std::span<const std::byte> scores, bool guard_zones);

  const DeviceProblem& device() const noexcept { return device_; }

  Status upload_scores(std::span<const std::byte> scores);
  Status download_scores(ScoreBuffer scores) const;

  // ok, or internal when anything outside the buffers was written.
  Status check_guard_zones() const;

 private:
  UploadedProblem() = default;
  Result<cuda::DevicePointer> add(const std::shared_ptr<const Context>& context, const char* name,
                                  std::span<const std::byte> bytes, bool guard_zones);

  std::vector<DeviceBuffer> buffers_;  // the scores last
  DeviceProblem device_;
};

}  // namespace mlaindex
