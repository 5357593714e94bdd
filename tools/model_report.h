// What the cycle model says of a kernel, as people and programs read it.
#pragma once

#include <string>

#include "generator/model/prediction.h"
#include "tools/output.h"

namespace mlaindex::tools {

// Whose constants the times stand on.
std::string model_text(const model::Gpu& gpu);

// The rows "model" and "loop".
void print_loop(Output& output, const model::LoopCosts& loop, const model::Gpu& gpu);
// {"elements", "issue_slots", "slots_per_element", "fold", "other": {pipe: clocks}, "opcodes": {opcode: count}}
Json loop_json(const model::LoopCosts& loop);

// The rows "tile", "work", "time" and "limits".
void print_prediction(Output& output, const model::Prediction& prediction);
// {"us", "tflops", "gigahertz", "limiter", "next", "tile_clocks": {...}, "terms_us": {limiter: us}, ...}
Json prediction_json(const model::Prediction& prediction);

}  // namespace mlaindex::tools
