#include "generator/spec.h"

#include <array>
#include <bit>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
};

constexpr std::array<Named<Layout>, 2> layouts{{{Layout::contiguous, "contiguous"}, {Layout::paged, "paged"}}};
constexpr std::array<Named<Mask>, 6> masks{{{Mask::full, "full"},
                                            {Mask::ranges, "ranges"},
                                            {Mask::ragged, "ragged"},
                                            {Mask::ragged_causal, "ragged_causal"},
                                            {Mask::context, "context"},
                                            {Mask::context_rows, "context_rows"}}};
constexpr std::array<Named<ScoreType>, 2> score_types{
    {{ScoreType::f32, "f32"}, {ScoreType::bf16, "bf16"}}};
constexpr std::array<Named<Fill>, 2> fills{
    {{Fill::none, "none"}, {Fill::negative_infinity, "-inf"}}};
constexpr std::array<Named<FoldType>, 2> folds{{{FoldType::f32, "f32"}, {FoldType::bf16, "bf16"}}};

template <class Enum, std::size_t size>
Result<Enum> parse(const std::array<Named<Enum>, size>& names, std::string_view what, std::string_view given) {
  std::string allowed;
  for (const auto& [value, name] : names) {
    if (given == name) return value;
    allowed += (allowed.empty() ? "allowed: " : ", ") + std::string(name);
  }
  return Error{ErrorCode::invalid_argument, fmt::format("unknown {} '{}'", what, given), allowed};
}

template <class Enum, std::size_t size>
std::string_view name_of(const std::array<Named<Enum>, size>& names, Enum wanted) noexcept {
  for (const auto& [value, name] : names) {
    if (value == wanted) return name;
  }
  return "?";
}

Status check_layout(const Spec& spec) {
  if (spec.layout == Layout::contiguous) {
    if (spec.mask == Mask::context || spec.mask == Mask::context_rows) {
      return Error{ErrorCode::unsupported_shape, fmt::format("mask {} with contiguous keys", mask_name(spec.mask)),
                   "allowed: full, ranges, ragged, ragged_causal; context lengths go with paged keys"};
    }
    if (spec.page_size == 0) return {};
    return Error{ErrorCode::unsupported_shape, fmt::format("page_size = {} with contiguous keys", spec.page_size),
                 "only the layout 'paged' has pages"};
  }
  if (spec.mask == Mask::full || spec.mask == Mask::ranges) {
    return Error{ErrorCode::unsupported_shape, fmt::format("mask {} with paged keys", mask_name(spec.mask)),
                 "allowed: context, context_rows, ragged, ragged_causal"};
  }
  if (spec.page_size < min_page_size || spec.page_size > max_page_size ||
      !std::has_single_bit(static_cast<unsigned>(spec.page_size))) {
    return Error{ErrorCode::unsupported_shape, fmt::format("page_size = {}", spec.page_size),
                 "allowed: 16, 32, 64, 128, 256"};
  }
  return {};
}

}  // namespace

Status validate(const Spec& spec) {
  if (spec.num_heads < 1 || spec.num_heads > max_num_heads) {
    return Error{ErrorCode::unsupported_shape, fmt::format("num_heads = {}", spec.num_heads),
                 fmt::format("allowed: 1 to {}", max_num_heads)};
  }
  if (spec.depth != 32 && spec.depth != 64 && spec.depth != 128) {
    return Error{ErrorCode::unsupported_shape, fmt::format("depth = {}", spec.depth),
                 "allowed: 32, 64, 128"};
  }
  return check_layout(spec);
}

std::string to_string(const Spec& spec) {
  const std::string layout = spec.layout == Layout::contiguous
                                 ? std::string(layout_name(spec.layout))
                                 : fmt::format("{} page_size={}", layout_name(spec.layout), spec.page_size);
  return fmt::format("score arch={} num_heads={} depth={} layout={} mask={} score_type={} fill={}{}",
                     arch_name(spec.arch), spec.num_heads, spec.depth, layout, mask_name(spec.mask),
                     score_type_name(spec.score_type), fill_name(spec.fill),
                     spec.fold == FoldType::f32 ? "" : fmt::format(" fold={}", fold_name(spec.fold)));
}

std::uint32_t packed_key(const Spec& spec) noexcept {
  std::uint32_t key = static_cast<std::uint32_t>(spec.arch);
  key = key << 8 | static_cast<std::uint32_t>(spec.num_heads);
  key = key << 8 | static_cast<std::uint32_t>(spec.depth);
  key = key << 9 | static_cast<std::uint32_t>(spec.page_size);  // 0 exactly for contiguous keys
  key = key << 3 | static_cast<std::uint32_t>(spec.mask);
  key = key << 1 | static_cast<std::uint32_t>(spec.score_type);
  key = key << 1 | static_cast<std::uint32_t>(spec.fill);
  return key << 1 | static_cast<std::uint32_t>(spec.fold);
}

std::string_view layout_name(Layout layout) noexcept { return name_of(layouts, layout); }
std::string_view mask_name(Mask mask) noexcept { return name_of(masks, mask); }
std::string_view score_type_name(ScoreType type) noexcept { return name_of(score_types, type); }
std::string_view fill_name(Fill fill) noexcept { return name_of(fills, fill); }
std::string_view fold_name(FoldType fold) noexcept { return name_of(folds, fold); }
Result<Layout> parse_layout(std::string_view name) { return parse(layouts, "layout", name); }
Result<Mask> parse_mask(std::string_view name) { return parse(masks, "mask", name); }
Result<ScoreType> parse_score_type(std::string_view name) { return parse(score_types, "score type", name); }
Result<Fill> parse_fill(std::string_view name) { return parse(fills, "fill", name); }
Result<FoldType> parse_fold(std::string_view name) { return parse(folds, "fold", name); }

int padded_heads(int num_heads) noexcept {
  return num_heads <= 4 ? 4 : static_cast<int>(std::bit_ceil(static_cast<unsigned>(num_heads)));
}

}  // namespace mlaindex
