// The problem sizes that a route table is made of, and those that it is judged by.
#pragma once

#include <vector>

#include "tools/bench/shape.h"

namespace mlaindex::tools {

// Every number in octaves or pairs of octaves, as far as one launch stays within some milliseconds.
std::vector<BenchShape> grid_shapes(BenchFamily family);

// Sizes in between, none of them in the grid.
std::vector<BenchShape> held_out_shapes(BenchFamily family);

}  // namespace mlaindex::tools
