// The claim of docs/measurements.md, section "Cycle model": how far predictions are from measured times.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <catch2/catch.hpp>

#include "tests/model/measured_shapes.h"

using namespace mlaindex;
using namespace mlaindex::model;

namespace {

double relative_error(const MeasuredShape& shape) { return prediction_of(shape).microseconds / shape.microseconds - 1; }

struct Errors {
  double mean = 0;
  double worst = 0;
};

template <class Chosen>
Errors errors(Chosen chosen) {
  Errors result;
  int count = 0;
  const auto& shapes = measured_shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!chosen(i, shapes[i])) continue;
    const double error = std::abs(relative_error(shapes[i]));
    result.mean += error;
    result.worst = std::max(result.worst, error);
    ++count;
  }
  REQUIRE(count > 0);
  result.mean /= count;
  return result;
}

}  // namespace

TEST_CASE("predicted times of the H200 are within the documented error") {
  const Errors fitted = errors([](std::size_t i, const MeasuredShape& shape) { return is_fitted(i) && !shape.outlier; });
  const Errors held_out = errors([](std::size_t i, const MeasuredShape& shape) { return !is_fitted(i) && !shape.outlier; });
  CHECK(fitted.mean < 0.05);
  CHECK(held_out.mean < 0.055);
  CHECK(fitted.worst < 0.13);
  CHECK(held_out.worst < 0.13);
}

TEST_CASE("a figure counts as an outlier only where the model is far from it") {
  for (const MeasuredShape& shape : measured_shapes()) {
    CAPTURE(shape_text(shape));
    CHECK(shape.outlier == (std::abs(relative_error(shape)) > 0.13));
  }
}

// The rows of the documentation's table: test_model "[.table]".
TEST_CASE("table of predicted and measured times", "[.table]") {
  const auto& shapes = measured_shapes();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Prediction prediction = prediction_of(shapes[i]);
    std::printf("| %s | %.4g | %.4g | %+.0f %% | %s, %s | %s |\n", shape_text(shapes[i]).c_str(), shapes[i].microseconds,
                prediction.microseconds, 100 * relative_error(shapes[i]),
                std::string(limiter_name(prediction.terms[0].limiter)).c_str(),
                std::string(limiter_name(prediction.terms[1].limiter)).c_str(),
                shapes[i].outlier ? "outlier" : is_fitted(i) ? "fitted" : "held out");
  }
  const Errors contiguous = errors([](std::size_t, const MeasuredShape& s) { return s.layout == Layout::contiguous && !s.outlier; });
  const Errors paged = errors([](std::size_t, const MeasuredShape& s) { return s.layout == Layout::paged && !s.outlier; });
  const Errors fitted = errors([](std::size_t i, const MeasuredShape& s) { return is_fitted(i) && !s.outlier; });
  const Errors held_out = errors([](std::size_t i, const MeasuredShape& s) { return !is_fitted(i) && !s.outlier; });
  for (const auto& [name, error] : {std::pair{"contiguous", contiguous}, {"paged", paged}, {"fitted", fitted}, {"held out", held_out}})
    std::printf("%s: mean %.1f %%, worst %.1f %%\n", name, 100 * error.mean, 100 * error.worst);
}
