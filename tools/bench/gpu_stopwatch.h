// Samples of how long a GPU works, with warm and with cold caches.
#pragma once

#include <functional>
#include <memory>

#include "runtime/captured_graph.h"
#include "runtime/device_buffer.h"
#include "runtime/event_timer.h"
#include "runtime/stream.h"
#include "tools/bench/statistics.h"

namespace mlaindex::tools {

// Puts work on the stream and returns.
using Enqueue = std::function<Status(cuda::Stream)>;

// Owns a stream, two events and a buffer of four times the size of L2, whose overwriting makes L2 cold.
// Times are microseconds between the two events, on the GPU. For one thread at a time.
class GpuStopwatch {
 public:
  static Result<GpuStopwatch> create(const std::shared_ptr<const Context>& context);

  Result<double> warm(const Enqueue& work);
  Result<double> cold(const Enqueue& work);

  // Of `samples` calls of the same.
  Result<Spread> warm_spread(int samples, const Enqueue& work);
  Result<Spread> cold_spread(int samples, const Enqueue& work);

  // A graph of `launches` of the work, one after the other.
  Result<CapturedGraph> capture(int launches, const Enqueue& work) const;

  cuda::Stream stream() const noexcept { return stream_.handle(); }

 private:
  GpuStopwatch(std::shared_ptr<const Context> context, OwnedStream stream, EventTimer timer, DeviceBuffer flushed)
      : context_(std::move(context)), stream_(std::move(stream)), timer_(std::move(timer)),
        flushed_(std::move(flushed)) {}

  std::shared_ptr<const Context> context_;
  OwnedStream stream_;
  EventTimer timer_;
  DeviceBuffer flushed_;
};

}  // namespace mlaindex::tools
