// What a number of samples says.
#pragma once

#include <vector>

namespace mlaindex::tools {

struct Spread {
  int samples = 0;
  double median = 0;
  double low = 0;   // 10th percentile
  double high = 0;  // 90th percentile
  double least = 0;
};

// Percentiles lie between neighbouring samples in proportion. No samples: all zero.
Spread spread_of(std::vector<double> samples);

// The same of every sample times a factor above zero.
Spread scaled(const Spread& spread, double factor) noexcept;

}  // namespace mlaindex::tools
