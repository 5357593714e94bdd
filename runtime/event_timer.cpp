#include "runtime/event_timer.h"

#include <utility>

namespace mlaindex {

Result<EventTimer> EventTimer::create(std::shared_ptr<const Context> context) {
  const Driver& driver = context->driver();
  const ContextScope scope(*context);
  if (Status status = scope.status(); !status) return status.error();
  EventTimer timer(context);
  for (cuda::Event* event : {&timer.start_, &timer.stop_}) {
    if (Status status = driver.check(driver->event_create(event, cuda::event_default), "cuEventCreate"); !status)
      return status.error();
  }
  return timer;
}

EventTimer::~EventTimer() {
  if (context_ == nullptr) return;
  const ContextScope scope(*context_);
  for (cuda::Event event : {start_, stop_}) {
    if (event != nullptr) context_->driver()->event_destroy(event);
  }
}

EventTimer::EventTimer(EventTimer&& other) noexcept
    : context_(std::move(other.context_)), start_(std::exchange(other.start_, nullptr)),
      stop_(std::exchange(other.stop_, nullptr)) {}

EventTimer& EventTimer::operator=(EventTimer&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(start_, other.start_);
  std::swap(stop_, other.stop_);
  return *this;
}

Status EventTimer::start(cuda::Stream stream) {
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status;
  const Driver& driver = context_->driver();
  return driver.check(driver->event_record(start_, stream), "cuEventRecord");
}

Result<double> EventTimer::stop(cuda::Stream stream) {
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status.error();
  const Driver& driver = context_->driver();
  if (Status status = driver.check(driver->event_record(stop_, stream), "cuEventRecord"); !status)
    return status.error();
  if (Status status = driver.check(driver->event_synchronize(stop_), "running the kernel"); !status)
    return status.error();
  float milliseconds = 0;
  if (Status status = driver.check(driver->event_elapsed_time(&milliseconds, start_, stop_), "cuEventElapsedTime");
      !status)
    return status.error();
  return static_cast<double>(milliseconds);
}

}  // namespace mlaindex
