// Decoding and rounding of the small formats, at their edges.
#include <catch2/catch.hpp>

#include <cmath>

#include "emulator/number_format.h"

using namespace mlaindex::emulator;

TEST_CASE("e4m3") {
  const Decoded* table = decode_table(NumberFormat::e4m3);
  CHECK(table[0x7E].value == 448.0f);
  CHECK(table[0x7E].exponent == 8);
  CHECK(table[0x01].value == std::ldexp(1.0f, -9));
  CHECK(table[0x01].exponent == -6);
  CHECK(table[0x38].value == 1.0f);
  CHECK(table[0xB8].value == -1.0f);
  CHECK(std::isnan(table[0x7F].value));
  CHECK(std::isnan(table[0xFF].value));
  CHECK(table[0x80].exponent == Decoded::kZeroExponent);
  for (int code = 0; code < 256; ++code)
    if (!std::isnan(table[code].value)) CHECK(f32_to_e4m3(table[code].value) == code);
  CHECK(f32_to_e4m3(1e9f) == 0x7E);
  CHECK(f32_to_e4m3(-INFINITY) == 0xFE);
  CHECK(f32_to_e4m3(1.0625f) == 0x38);  // a tie goes to even
  CHECK(f32_to_e4m3(1.1875f) == 0x3A);
}

TEST_CASE("e5m2, e2m1 and their neighbours") {
  CHECK(decode(NumberFormat::e5m2, 0x7B).value == 57344.0f);
  CHECK(std::isinf(decode(NumberFormat::e5m2, 0x7C).value));
  CHECK(decode(NumberFormat::e2m1, 0x7).value == 6.0f);
  CHECK(decode(NumberFormat::e2m1, 0x1).value == 0.5f);
  CHECK(decode(NumberFormat::e2m1, 0xF).value == -6.0f);
  CHECK(decode(NumberFormat::e2m3, 0x1F).value == 7.5f);
  CHECK(decode(NumberFormat::e3m2, 0x1F).value == 28.0f);
  for (int code = 0; code < 16; ++code)
    CHECK(f32_to_e2m1(decode(NumberFormat::e2m1, static_cast<std::uint32_t>(code)).value) == code);
}

TEST_CASE("bf16 and f16 round trips and ties") {
  for (std::uint32_t code = 0; code < 0x7C00; ++code)
    CHECK(f32_to_f16(f16_to_f32(static_cast<std::uint16_t>(code))) == code);
  CHECK(f32_to_bf16(1.0f) == 0x3F80);
  CHECK(f32_to_bf16(1.00390625f) == 0x3F80);  // 1 + 2^-8, a tie
  CHECK(f32_to_bf16(1.01171875f) == 0x3F82);  // 1 + 3 * 2^-8, a tie
  CHECK(f32_to_bf16(1.99f, Rounding::toward_zero) == 0x3FFE);
  CHECK(f32_to_f16(70000.0f) == 0x7C00);
  CHECK(f32_to_f16(70000.0f, Rounding::nearest_even, true) == 0x7BFF);
  CHECK(f32_to_f16(std::ldexp(1.0f, -24)) == 0x0001);
  CHECK(f32_to_bf16(NAN) == 0x7FFF);
}
