// What is asked: one scoring operation, specialised. Everything here changes the generated code;
// nothing here depends on a batch, a length or a machine (docs/contract.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "generator/arch.h"
#include "generator/base/result.h"

namespace mlaindex {

// Where the keys lie.
enum class Layout {
  contiguous,  // one row after the other
  paged,       // in pages of page_size keys, found through a block table for every request
};

// How the visible keys [begin, end) of a token are known. Of paged keys, key n of a request is the n-th
// through its row of the block table, and every range begins at 0.
enum class Mask {
  full,           // every token sees every key
  ranges,         // row_start[t], row_end[t] per token
  ragged,         // from query_offsets and key_offsets: a token sees all keys of its request
  ragged_causal,  // the same, and token j of n in a request of m keys sees the first m - (n-1-j)
  context,        // next_n tokens a request, token j of which sees the first context_lens[b] - (next_n-1-j)
  context_rows,   // the same batch, but a length for every token: it sees the first context_lens[t]
};

inline constexpr int min_page_size = 16;
inline constexpr int max_page_size = 256;

enum class ScoreType { f32, bf16 };

// In which type the heads are summed (docs/contract.md).
enum class FoldType {
  f32,   // exact products, sums in f32
  bf16,  // relu, weights and runs of products in bf16, their sums in f32
};

// Of a bf16 fold: most products that are added one to the other in bf16. Two such runs may be joined by one more
// addition; from there on it is f32.
inline constexpr int bf16_run = 16;

// What happens to the slots of a row outside the visible range.
enum class Fill { none, negative_infinity };

struct Spec {
  Arch arch = Arch::sm_90a;
  int num_heads = 64;  // 1..128
  int depth = 128;     // 32, 64 or 128 e4m3 elements a head
  Mask mask = Mask::ragged_causal;  // contiguous keys: the first four; paged keys: the last four
  ScoreType score_type = ScoreType::f32;
  Fill fill = Fill::none;
  Layout layout = Layout::contiguous;
  int page_size = 0;  // keys a page, a power of two from 16 to 256; 0 for contiguous keys
  FoldType fold = FoldType::f32;

  bool operator==(const Spec&) const = default;
};

inline constexpr int max_num_heads = 128;

// ok, or unsupported_shape saying what was given and what is allowed.
Status validate(const Spec& spec);

// The canonical one-line text, "score arch=sm_90a num_heads=64 depth=128 layout=contiguous
// mask=ragged_causal score_type=f32 fill=none": part of cache keys, banners and reports. Of paged keys:
// "layout=paged page_size=64"; of a bf16 fold with " fold=bf16" at the end.
std::string to_string(const Spec& spec);

// Equal exactly for equal specs; fits a hash map on the launch path.
std::uint32_t packed_key(const Spec& spec) noexcept;

// Whether requests are given by offsets of their tokens.
constexpr bool is_ragged(Mask mask) noexcept { return mask == Mask::ragged || mask == Mask::ragged_causal; }

std::string_view layout_name(Layout layout) noexcept;
std::string_view mask_name(Mask mask) noexcept;
std::string_view score_type_name(ScoreType type) noexcept;
std::string_view fill_name(Fill fill) noexcept;  // "none", "-inf"
std::string_view fold_name(FoldType fold) noexcept;
Result<Layout> parse_layout(std::string_view name);
Result<Mask> parse_mask(std::string_view name);
Result<ScoreType> parse_score_type(std::string_view name);
Result<Fill> parse_fill(std::string_view name);
Result<FoldType> parse_fold(std::string_view name);

// Heads after padding with zero weight: the next power of two, at least 4.
int padded_heads(int num_heads) noexcept;

}  // namespace mlaindex
