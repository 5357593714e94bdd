#include "tools/bench/launch_times.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace mlaindex::tools {
namespace {

// Long enough for clocks to rise, in microseconds of work, and no more launches than that many.
constexpr double warm_up_microseconds = 20'000;
constexpr int most_warm_ups = 500;

// A sample of warm launches: a millisecond of work, so that the events at its ends do not show.
constexpr double sample_microseconds = 1000;
constexpr int most_launches_per_sample = 50;

// The host's cost: fewer launches than the driver queues before one blocks.
constexpr double host_microseconds = 50'000;
constexpr int least_host_launches = 20, most_host_launches = 200;

int launches_within(double budget, double microseconds, int least, int most) {
  return static_cast<int>(std::clamp(budget / std::max(microseconds, 1e-3), double(least), double(most)));
}

// Of one launch, once warm.
Result<double> warm_up(GpuStopwatch& stopwatch, const Enqueue& launch) {
  double least = 0, total = 0;
  for (int i = 0; i < most_warm_ups && total < warm_up_microseconds; ++i) {
    const Result<double> time = stopwatch.warm(launch);
    if (!time) return time;
    least = i == 0 ? *time : std::min(least, *time);
    total += *time;
  }
  return least;
}

// A graph whose replay is a sample of warm launches.
struct WarmGraph {
  double estimate = 0;  // microseconds of a launch
  int launches = 0;
  CapturedGraph graph;
};

Result<WarmGraph> warm_graph(GpuStopwatch& stopwatch, const Enqueue& launch) {
  const Result<double> estimate = warm_up(stopwatch, launch);
  if (!estimate) return estimate.error();
  const int launches = launches_within(sample_microseconds, *estimate, 1, most_launches_per_sample);
  Result<CapturedGraph> graph = stopwatch.capture(launches, launch);
  if (!graph) return graph.error();
  return WarmGraph{*estimate, launches, *std::move(graph)};
}

Result<Spread> host_cost(GpuStopwatch& stopwatch, const Enqueue& launch, int launches) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> costs;
  const auto timed = [&](cuda::Stream stream) -> Status {
    for (int i = 0; i < launches; ++i) {
      const auto begin = Clock::now();
      const Status status = launch(stream);
      costs.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
      if (!status) return status;
    }
    return {};
  };
  if (const Result<double> drained = stopwatch.warm(timed); !drained) return drained.error();
  return spread_of(std::move(costs));
}

}  // namespace

Result<LaunchTimes> time_launches(GpuStopwatch& stopwatch, Launcher& launcher, const DeviceProblem& problem,
                                  int samples) {
  const Enqueue launch = [&](cuda::Stream stream) { return launcher.launch(problem, stream); };
  const Result<WarmGraph> many = warm_graph(stopwatch, launch);
  if (!many) return many.error();

  LaunchTimes times;
  times.launches_per_sample = many->launches;
  const Enqueue launches = [&](cuda::Stream stream) -> Status {
    for (int i = 0; i < times.launches_per_sample; ++i) {
      if (Status status = launch(stream); !status) return status;
    }
    return {};
  };
  const Result<CapturedGraph> one = stopwatch.capture(1, launch);
  if (!one) return one.error();
  const Enqueue replay_many = [&](cuda::Stream stream) { return many->graph.replay(stream); };
  const Enqueue replay_one = [&](cuda::Stream stream) { return one->replay(stream); };
  for (const Enqueue* first : {&replay_many, &replay_one}) {  // the first replay uploads the graph
    if (const Result<double> time = stopwatch.warm(*first); !time) return time.error();
  }

  const double per_launch = 1.0 / times.launches_per_sample;
  const int host_launches = launches_within(host_microseconds, many->estimate, least_host_launches, most_host_launches);
  struct Measured {
    Spread* into;
    Result<Spread> spread;
    double factor;
  };
  for (const Measured& measured :
       {Measured{&times.warm_graph, stopwatch.warm_spread(samples, replay_many), per_launch},
        Measured{&times.warm_launches, stopwatch.warm_spread(samples, launches), per_launch},
        Measured{&times.cold_graph, stopwatch.cold_spread(samples, replay_one), 1},
        Measured{&times.cold_launch, stopwatch.cold_spread(samples, launch), 1},
        Measured{&times.host, host_cost(stopwatch, launch, host_launches), 1}}) {
    if (!measured.spread) return measured.spread.error();
    *measured.into = scaled(*measured.spread, measured.factor);
  }
  return times;
}

Result<std::vector<Spread>> time_in_turn(GpuStopwatch& stopwatch, std::span<Launcher* const> launchers,
                                         const DeviceProblem& problem, int samples) {
  std::vector<WarmGraph> graphs;
  std::vector<std::vector<double>> times(launchers.size());
  for (Launcher* launcher : launchers) {
    Result<WarmGraph> graph =
        warm_graph(stopwatch, [&](cuda::Stream stream) { return launcher->launch(problem, stream); });
    if (!graph) return graph.error();
    graphs.push_back(*std::move(graph));
  }
  for (int sample = -1; sample < samples; ++sample) {  // the first replay uploads the graph
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const Result<double> time = stopwatch.warm([&](cuda::Stream stream) { return graphs[i].graph.replay(stream); });
      if (!time) return time.error();
      if (sample >= 0) times[i].push_back(*time / graphs[i].launches);
    }
  }
  std::vector<Spread> spreads;
  for (std::vector<double>& of_launcher : times) spreads.push_back(spread_of(std::move(of_launcher)));
  return spreads;
}

}  // namespace mlaindex::tools
