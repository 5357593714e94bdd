#include "runtime/score_value.h"

#include <limits>

#include <catch2/catch.hpp>

#include "runtime/e4m3.h"

namespace mlaindex {

TEST_CASE("e4m3 values", "[e4m3]") {
  CHECK(e4m3_value(0x00) == 0);
  CHECK(e4m3_value(0x01) == 0x1p-9);
  CHECK(e4m3_value(0x07) == 7 * 0x1p-9);
  CHECK(e4m3_value(0x08) == 0x1p-6);
  CHECK(e4m3_value(0x38) == 1);
  CHECK(e4m3_value(0xb9) == -1.125);
  CHECK(e4m3_value(0x7e) == 448);
  CHECK(e4m3_value(0xfe) == -448);
  CHECK(std::isnan(e4m3_value(0x7f)));
  CHECK(std::isnan(e4m3_value(0xff)));
  for (unsigned bits = 0; bits < 256; ++bits) {
    const double value = std::fabs(e4m3_value(static_cast<std::uint8_t>(bits)));
    const double power = e4m3_power(static_cast<std::uint8_t>(bits));
    if (std::isnan(value)) continue;
    CHECK((value == 0 ? power == 0 : value < 2 * power && (value >= power || power == 0x1p-6)));
  }
}

TEST_CASE("bf16 rounds once, to nearest even", "[score_value]") {
  CHECK(bf16_bits(1.0) == 0x3f80);
  CHECK(bf16_bits(-0.0) == 0x8000);
  CHECK(bf16_bits(1 + 0x1p-8) == 0x3f80);              // a tie, to even
  CHECK(bf16_bits(1 + 3 * 0x1p-8) == 0x3f82);          // a tie, to even
  CHECK(bf16_bits(1 + 0x1p-8 + 0x1p-40) == 0x3f81);    // above a tie that f32 cannot tell from it
  CHECK(bf16_bits(1 + 3 * 0x1p-8 - 0x1p-40) == 0x3f81);
  CHECK(bf16_bits(-(1 + 0x1p-8 + 0x1p-40)) == 0xbf81);
  CHECK(bf16_bits(0x1.fep127) == 0x7f7f);
  CHECK(bf16_bits(0x1.ffp127) == 0x7f80);
  CHECK(bf16_bits(1e300) == 0x7f80);
  CHECK(bf16_bits(-std::numeric_limits<double>::infinity()) == 0xff80);
  CHECK(bf16_bits(0x1p-133) == 0x0001);
  CHECK(std::isnan(bf16_value(bf16_bits(std::numeric_limits<double>::quiet_NaN()))));
}

TEST_CASE("scores are stored and loaded at any alignment", "[score_value]") {
  std::byte buffer[17] = {};
  store_score(buffer + 1, ScoreType::f32, 2, score_bits(ScoreType::f32, -2.5));
  CHECK(score_value(ScoreType::f32, load_score(buffer + 1, ScoreType::f32, 2)) == -2.5);
  CHECK(buffer[8] == std::byte{0});
  store_score(buffer + 1, ScoreType::bf16, 1, score_bits(ScoreType::bf16, 3.0));
  CHECK(score_value(ScoreType::bf16, load_score(buffer + 1, ScoreType::bf16, 1)) == 3.0);
  CHECK(buffer[2] == std::byte{0});
  CHECK(buffer[5] == std::byte{0});
}

}  // namespace mlaindex
