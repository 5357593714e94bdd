// The results of a benchmark, as a table, as JSON and as a plot.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/bench_case.h"
#include "tools/bench/launch_times.h"
#include "tools/bench/roofs.h"
#include "tools/bench/shape.h"
#include "tools/bench/svg_plot.h"
#include "tools/output.h"

namespace mlaindex::tools {

struct BenchResult {
  BenchShape shape;
  BenchModel model;
  std::string kernel, plan;
  BenchWork work;
  LaunchTimes times;
};

// The least microseconds by the roofs: bytes at the read rate, or operations at the tensor cores' rate.
double roof_microseconds(const BenchWork& work, const Roofs& roofs) noexcept;

// One line a shape below two lines of headings: of the results of one family.
std::vector<std::string> bench_table(const std::vector<BenchResult>& results, const Roofs& roofs);

Json roofs_json(const Roofs& roofs);
Json result_json(const BenchResult& result, const Roofs& roofs);

// A panel for each family and number of heads: time against context, a curve for each batch, its roof dashed.
std::vector<PlotPanel> bench_panels(const std::vector<BenchResult>& results, const Roofs& roofs,
                                    const std::string& device);

}  // namespace mlaindex::tools
