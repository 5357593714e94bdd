#include "generator/ptx/scalar_type.h"

#include <array>

namespace mlaindex::ptx {
namespace {

struct TypeRow {
  ScalarType type;
  std::string_view text;
  unsigned bits;
};

constexpr std::array kTypes = {
    TypeRow{ScalarType::pred, "pred", 1},     TypeRow{ScalarType::b8, "b8", 8},
    TypeRow{ScalarType::b16, "b16", 16},      TypeRow{ScalarType::b32, "b32", 32},
    TypeRow{ScalarType::b64, "b64", 64},      TypeRow{ScalarType::b128, "b128", 128},
    TypeRow{ScalarType::u8, "u8", 8},         TypeRow{ScalarType::u16, "u16", 16},
    TypeRow{ScalarType::u32, "u32", 32},      TypeRow{ScalarType::u64, "u64", 64},
    TypeRow{ScalarType::s8, "s8", 8},         TypeRow{ScalarType::s16, "s16", 16},
    TypeRow{ScalarType::s32, "s32", 32},      TypeRow{ScalarType::s64, "s64", 64},
    TypeRow{ScalarType::f16, "f16", 16},      TypeRow{ScalarType::f16x2, "f16x2", 32},
    TypeRow{ScalarType::bf16, "bf16", 16},    TypeRow{ScalarType::bf16x2, "bf16x2", 32},
    TypeRow{ScalarType::tf32, "tf32", 32},    TypeRow{ScalarType::f32, "f32", 32},
    TypeRow{ScalarType::f64, "f64", 64},      TypeRow{ScalarType::e4m3, "e4m3", 8},
    TypeRow{ScalarType::e5m2, "e5m2", 8},
};

struct SpaceRow {
  StateSpace space;
  std::string_view text;
};

constexpr std::array kSpaces = {
    SpaceRow{StateSpace::global, "global"}, SpaceRow{StateSpace::constant, "const"},
    SpaceRow{StateSpace::shared, "shared"}, SpaceRow{StateSpace::local, "local"},
    SpaceRow{StateSpace::param, "param"},
};

// Rows stand in the order of the enumerators.
const TypeRow& row(ScalarType type) noexcept { return kTypes[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view spelling(ScalarType type) noexcept { return row(type).text; }
std::string_view spelling(StateSpace space) noexcept {
  return kSpaces[static_cast<std::size_t>(space)].text;
}

std::optional<ScalarType> scalar_type(std::string_view text) noexcept {
  for (const TypeRow& candidate : kTypes)
    if (candidate.text == text) return candidate.type;
  return std::nullopt;
}

std::optional<StateSpace> state_space(std::string_view text) noexcept {
  for (const SpaceRow& candidate : kSpaces)
    if (candidate.text == text) return candidate.space;
  return std::nullopt;
}

unsigned bit_width(ScalarType type) noexcept { return row(type).bits; }

}  // namespace mlaindex::ptx
