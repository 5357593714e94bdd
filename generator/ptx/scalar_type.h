// The scalar types and state spaces of PTX, and their spellings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mlaindex::ptx {

enum class ScalarType : std::uint8_t {
  pred, b8, b16, b32, b64, b128, u8, u16, u32, u64, s8, s16, s32, s64,
  f16, f16x2, bf16, bf16x2, tf32, f32, f64, e4m3, e5m2,
};

enum class StateSpace : std::uint8_t { global, constant, shared, local, param };

// The spelling without its dot: "b32", "global" ("const" for StateSpace::constant).
std::string_view spelling(ScalarType type) noexcept;
std::string_view spelling(StateSpace space) noexcept;

// Nothing when `text` (no dot) names no type or space.
std::optional<ScalarType> scalar_type(std::string_view text) noexcept;
std::optional<StateSpace> state_space(std::string_view text) noexcept;

// Storage width in bits; a predicate counts as 1.
unsigned bit_width(ScalarType type) noexcept;

}  // namespace mlaindex::ptx
