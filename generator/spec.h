// What is asked: one scoring operation, specialised. Everything here changes the generated code;
// nothing here depends on a batch, a length or a machine (docs/contract.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "generator/arch.h"
#include "generator/base/result.h"

namespace mlaindex {

// How the visible keys [begin, end) of a token are known.
enum class Mask {
  full,           // every token sees every key
  ranges,         // row_start[t], row_end[t] per token
  ragged,         // from query_offsets and key_offsets: a token sees all keys of its request
  ragged_causal,  // the same, and token j of n in a request of m keys sees the first m - (n-1-j)
};

enum class ScoreType { f32, bf16 };

// What happens to the slots of a row outside the visible range.
enum class Fill { none, negative_infinity };

struct Spec {
  Arch arch = Arch::sm_90a;
  int num_heads = 64;  // 1..128
  int depth = 128;     // 32, 64 or 128 e4m3 elements a head
  Mask mask = Mask::ragged_causal;
  ScoreType score_type = ScoreType::f32;
  Fill fill = Fill::none;

  bool operator==(const Spec&) const = default;
};

inline constexpr int max_num_heads = 128;

// ok, or unsupported_shape saying what was given and what is allowed.
Status validate(const Spec& spec);

// The canonical one-line text, "score arch=sm_90a num_heads=64 depth=128 layout=contiguous
// mask=ragged_causal score_type=f32 fill=none": part of cache keys, banners and reports.
std::string to_string(const Spec& spec);

// Equal exactly for equal specs; fits a hash map on the launch path.
std::uint32_t packed_key(const Spec& spec) noexcept;

std::string_view mask_name(Mask mask) noexcept;
std::string_view score_type_name(ScoreType type) noexcept;
std::string_view fill_name(Fill fill) noexcept;  // "none", "-inf"
Result<Mask> parse_mask(std::string_view name);
Result<ScoreType> parse_score_type(std::string_view name);
Result<Fill> parse_fill(std::string_view name);

// Heads after padding with zero weight: the next power of two, at least 4.
int padded_heads(int num_heads) noexcept;

}  // namespace mlaindex
