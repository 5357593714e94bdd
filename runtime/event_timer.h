// Time that a GPU spends on the work of a stream.
#pragma once

#include <memory>

#include "runtime/context.h"

namespace mlaindex {

// For one thread at a time.
class EventTimer {
 public:
  static Result<EventTimer> create(std::shared_ptr<const Context> context);
  ~EventTimer();
  EventTimer(EventTimer&& other) noexcept;
  EventTimer& operator=(EventTimer&& other) noexcept;

  // Between the two: the work to be timed, on the same stream.
  Status start(cuda::Stream stream);
  Result<double> stop(cuda::Stream stream);  // milliseconds; waits for the work

 private:
  explicit EventTimer(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  cuda::Event start_ = nullptr;
  cuda::Event stop_ = nullptr;
};

}  // namespace mlaindex
