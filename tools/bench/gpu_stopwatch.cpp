#include "tools/bench/gpu_stopwatch.h"

#include <algorithm>
#include <vector>

namespace mlaindex::tools {
namespace {

template <class Sample>
Result<Spread> spread(int samples, Sample sample) {
  std::vector<double> values;
  for (int i = 0; i < samples; ++i) {
    const Result<double> value = sample();
    if (!value) return value.error();
    values.push_back(*value);
  }
  return spread_of(std::move(values));
}

}  // namespace

Result<GpuStopwatch> GpuStopwatch::create(const std::shared_ptr<const Context>& context) {
  constexpr std::size_t least_bytes = 1 << 20;
  auto stream = OwnedStream::create(context);
  if (!stream) return stream.error();
  auto timer = EventTimer::create(context);
  if (!timer) return timer.error();
  const auto l2_bytes = static_cast<std::size_t>(std::max(context->properties().l2_bytes, 0));
  auto flushed = DeviceBuffer::allocate(context, "the buffer that flushes L2", std::max(4 * l2_bytes, least_bytes), false);
  if (!flushed) return flushed.error();
  return GpuStopwatch(context, *std::move(stream), *std::move(timer), *std::move(flushed));
}

Result<double> GpuStopwatch::warm(const Enqueue& work) {
  if (Status status = timer_.start(stream()); !status) return status.error();
  if (Status status = work(stream()); !status) return status.error();
  const Result<double> milliseconds = timer_.stop(stream());
  if (!milliseconds) return milliseconds;
  return 1e3 * *milliseconds;
}

// The fill takes longer than enqueueing what follows, so the GPU does not wait for the host in between.
Result<double> GpuStopwatch::cold(const Enqueue& work) {
  if (Status status = flushed_.enqueue_fill(0, stream()); !status) return status.error();
  return warm(work);
}

Result<Spread> GpuStopwatch::warm_spread(int samples, const Enqueue& work) {
  return spread(samples, [&] { return warm(work); });
}

Result<Spread> GpuStopwatch::cold_spread(int samples, const Enqueue& work) {
  return spread(samples, [&] { return cold(work); });
}

Result<CapturedGraph> GpuStopwatch::capture(int launches, const Enqueue& work) const {
  return CapturedGraph::capture(context_, stream(), [&]() -> Status {
    for (int i = 0; i < launches; ++i) {
      if (Status status = work(stream()); !status) return status;
    }
    return {};
  });
}

}  // namespace mlaindex::tools
