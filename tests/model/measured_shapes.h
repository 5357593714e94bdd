// The H200's times of docs/measurements.md, with what the math loops of the timed kernels cost: recorded, so that the
// model is held to them without a compiler, a disassembler or a GPU.
#pragma once

#include <string>
#include <vector>

#include "generator/model/loop_costs.h"
#include "generator/model/prediction.h"

namespace mlaindex::model {

struct MeasuredShape {
  Layout layout;
  const char* plan;
  int num_heads;
  ProblemSize size;    // paged: num_keys is the mean context
  double microseconds; // measured
  bool outlier;        // a figure that its own section calls uncertain, or that no term explains
};

// Contiguous keys, causal; then pages of 64 keys, masked by context lengths. Depth 128, f32 scores.
const std::vector<MeasuredShape>& measured_shapes();

// Every other shape, from the first on, gave the fitted constants; the others are held out.
inline bool is_fitted(std::size_t index) { return index % 2 == 0; }

// Of that shape. The plan and the number of heads are among those measured.
const LoopCosts& recorded_loop(const MeasuredShape& shape);

// predict() of the shape on the H200.
Prediction prediction_of(const MeasuredShape& shape);

// "2048 x 65536, 64", "64 x 2, ~8192, 64": as the tables of docs/measurements.md name it.
std::string shape_text(const MeasuredShape& shape);

}  // namespace mlaindex::model
