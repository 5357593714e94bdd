#include "tools/lower_bound.h"

#include <algorithm>

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

// NVIDIA's data sheets: dense FP8 rate and memory rate of the SXM boards; the clock is the one that
// the FP8 rate implies.
struct Board {
  const char* name;
  int num_sms;
  double gigahertz;
  int products_per_clock;  // e4m3 multiply-adds of one SM
  int folds_per_clock;     // of one SM: 128 lanes, a maximum and a multiply-add each; of a bf16 fold, for two heads
  double bytes_per_second;
};

constexpr Board h200{"H200", 132, 1.83, 4096, 64, 4.8e12};
constexpr Board b200{"B200", 148, 1.85, 8192, 64, 8.0e12};

constexpr const Board& board_of(Arch arch) noexcept { return arch == Arch::sm_90a ? h200 : b200; }

}  // namespace

LowerBound lower_bound(const Spec& spec, std::int64_t num_tokens, std::int64_t num_keys) noexcept {
  const Board& board = board_of(spec.arch);
  const double tokens = static_cast<double>(num_tokens);
  const double keys = static_cast<double>(num_keys);
  const double dots = tokens * keys * padded_heads(spec.num_heads);
  const double clocks_per_microsecond = board.num_sms * board.gigahertz * 1e3;
  const double score_bytes = spec.score_type == ScoreType::f32 ? 4 : 2;
  const double bytes = (tokens * spec.num_heads + keys) * (spec.depth + 4) + tokens * keys * score_bytes;
  return {.device = board.name,
          .num_sms = board.num_sms,
          .tensor = dots * spec.depth / board.products_per_clock / clocks_per_microsecond,
          .fold = dots / (spec.fold == FoldType::bf16 ? 2 : 1) / board.folds_per_clock / clocks_per_microsecond,
          .memory = bytes / board.bytes_per_second * 1e6};
}

double published_tensor_rate(Arch arch) noexcept {
  const Board& board = board_of(arch);
  return 2.0 * board.products_per_clock * board.num_sms * board.gigahertz * 1e9;
}

std::string describe(const LowerBound& bound) {
  return fmt::format(
      "predicted  at least {:.1f} us on one {} when every token sees every key:\n"
      "           tensor cores {:.1f} us, fold on CUDA cores {:.1f} us, memory {:.1f} us",
      std::max({bound.tensor, bound.fold, bound.memory}), bound.device, bound.tensor, bound.fold, bound.memory);
}

}  // namespace mlaindex::tools
