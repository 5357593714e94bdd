#include "runtime/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "generator/base/format.h"
#include "runtime/reference.h"
#include "runtime/score_value.h"

namespace mlaindex {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool comes_before(const ScoreMismatch& a, const ScoreMismatch& b) noexcept {
  return a.token != b.token ? a.token < b.token : a.column < b.column;
}

void merge(const CheckReport& from, CheckReport& into) {
  into.scores_checked += from.scores_checked;
  into.fills_checked += from.fills_checked;
  into.untouched_checked += from.untouched_checked;
  into.mismatches += from.mismatches;
  into.max_absolute_error = std::max(into.max_absolute_error, from.max_absolute_error);
  into.max_error_to_bound = std::max(into.max_error_to_bound, from.max_error_to_bound);
  if (from.first_mismatch && (!into.first_mismatch || comes_before(*from.first_mismatch, *into.first_mismatch))) {
    into.first_mismatch = from.first_mismatch;
  }
}

// Checks the slots of one row, in the order of columns where it matters for the first mismatch.
class RowChecker {
 public:
  RowChecker(const ScoreProblem& problem, const CheckOptions& options, std::span<const std::byte> scores,
             const ReferenceRow& row)
      : problem_(problem), options_(options), row_(row),
        scores_(scores.data() + static_cast<std::size_t>(row.token * problem.row_stride) *
                                    score_bytes(problem.score_type)) {}

  CheckReport run() {
    check_hidden(0, row_.visible.begin);
    for (std::int64_t i = 0; i < row_.visible.size(); ++i) check_visible(i);
    check_hidden(row_.visible.end, problem_.num_columns);
    check_untouched(problem_.num_columns, problem_.row_stride);
    return report_;
  }

 private:
  std::uint32_t bits(std::int64_t column) const { return load_score(scores_, problem_.score_type, column); }

  void fail(std::int64_t column, double want, double bound, std::string reason) {
    ++report_.mismatches;
    const double got = score_value(problem_.score_type, bits(column));
    const ScoreMismatch mismatch{row_.token, column, got, want, bound, std::move(reason)};
    if (!report_.first_mismatch || comes_before(mismatch, *report_.first_mismatch)) report_.first_mismatch = mismatch;
  }

  void check_visible(std::int64_t index) {
    const std::int64_t column = row_.visible.begin + index;
    const double want = row_.scores[static_cast<std::size_t>(index)];
    const double got = score_value(problem_.score_type, bits(column));
    ++report_.scores_checked;
    if (std::isnan(want)) {
      if (!std::isnan(got)) fail(column, want, 0, "not NaN although an input is");
      return;
    }
    if (options_.bitwise && bits(column) != score_bits(problem_.score_type, want)) {
      fail(column, want, 0, "not the exact score");
      return;
    }
    const double bound = row_.bounds.empty() ? 0 : row_.bounds[static_cast<std::size_t>(index)];
    if (!std::isfinite(bound)) return;
    // Rounding is monotonic: the rounded score lies between the rounded ends of the allowed interval.
    const double lowest = round_score(problem_.score_type, want - bound);
    const double highest = round_score(problem_.score_type, want + bound);
    const double allowed = std::max(want - lowest, highest - want);
    if (!(got >= lowest && got <= highest)) fail(column, want, allowed, "beyond the bound");
    if (!std::isfinite(want) || !std::isfinite(got)) return;
    const double error = std::fabs(got - want);
    report_.max_absolute_error = std::max(report_.max_absolute_error, error);
    const double ratio = error == 0 ? 0 : (allowed > 0 ? error / allowed : infinity);
    report_.max_error_to_bound = std::max(report_.max_error_to_bound, ratio);
  }

  void check_hidden(std::int64_t begin, std::int64_t end) {
    if (problem_.fill == Fill::none) return check_untouched(begin, end);
    const std::uint32_t filled = score_bits(problem_.score_type, -infinity);
    for (std::int64_t column = begin; column < end; ++column) {
      ++report_.fills_checked;
      if (bits(column) != filled) fail(column, -infinity, 0, "not -inf outside the visible range");
    }
  }

  void check_untouched(std::int64_t begin, std::int64_t end) {
    if (!options_.poison) return;
    const auto width = static_cast<std::int64_t>(score_bytes(problem_.score_type));
    for (std::int64_t column = begin; column < end; ++column) {
      ++report_.untouched_checked;
      const std::byte* slot = scores_ + column * width;
      if (!std::all_of(slot, slot + width, [&](std::byte b) { return b == *options_.poison; })) {
        fail(column, 0, 0, "written outside the visible range");
      }
    }
  }

  const ScoreProblem& problem_;
  const CheckOptions& options_;
  const ReferenceRow& row_;
  const std::byte* scores_;
  CheckReport report_;
};

}  // namespace

std::string summary(const CheckReport& report) {
  if (report.passed()) {
    return fmt::format("ok: {} scores, {} filled and {} untouched slots, largest error {:.3g}, {:.3g} of its bound",
                       report.scores_checked, report.fills_checked, report.untouched_checked,
                       report.max_absolute_error, report.max_error_to_bound);
  }
  const ScoreMismatch& first = *report.first_mismatch;
  return fmt::format("{} of {} slots wrong; first: token {}, column {}: got {:.9g}, want {:.9g} +- {:.3g} ({})",
                     report.mismatches, report.scores_checked + report.fills_checked + report.untouched_checked,
                     first.token, first.column, first.got, first.want, first.bound, first.reason);
}

Result<CheckReport> check_scores(const ScoreProblem& problem, std::span<const std::byte> scores,
                                 const CheckOptions& options, int num_threads) {
  if (Status status = validate(problem); !status) return status.error();
  if (Status status = validate(problem, scores); !status) return status.error();
  CheckReport report;
  std::mutex mutex;
  const auto check_row = [&](const ReferenceRow& row) {
    const CheckReport checked = RowChecker(problem, options, scores, row).run();
    const std::lock_guard lock(mutex);
    merge(checked, report);
  };
  if (Status status = for_each_reference_row(problem, options.accumulation, check_row, num_threads); !status)
    return status.error();
  return report;
}

}  // namespace mlaindex
