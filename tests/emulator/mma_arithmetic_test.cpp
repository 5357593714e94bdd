// The sum of one tensor-core instruction: hand-worked cases of each model, and the fast path
// against the definition.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "emulator/mma_arithmetic.h"

using namespace mlaindex::emulator;

namespace {

struct Problem {
  MmaOperand a, b;
  std::vector<std::array<float, kMmaColumns>> c;  // [kMmaRows]

  void multiply(bool accumulate, const AccumulationModel& model) {
    float d[kMmaRows][kMmaColumns];
    for (std::uint32_t r = 0; r < kMmaRows; ++r) std::copy(c[r].begin(), c[r].end(), d[r]);
    multiply_rows(a, 0, b, d, accumulate, model, true);
    result.resize(kMmaRows);
    for (std::uint32_t r = 0; r < kMmaRows; ++r) std::copy(std::begin(d[r]), std::end(d[r]), result[r].begin());
  }
  std::vector<std::array<float, kMmaColumns>> result;
};

Problem random_problem(std::mt19937& rng, std::uint32_t columns, NumberFormat format, bool nans) {
  Problem p;
  p.a.reset(kMmaRows, 32, MmaOperand::Order::row_major);
  p.b.reset(columns, 32, MmaOperand::Order::k_major);
  const auto code = [&] {
    std::uint32_t bits = rng() & 0xFF;
    while (!nans && !std::isfinite(decode(format, bits).value)) bits = rng() & 0xFF;
    return bits;
  };
  for (std::uint32_t k = 0; k < 32; ++k) {
    for (std::uint32_t r = 0; r < kMmaRows; ++r) p.a.set(r, k, decode(format, code()));
    for (std::uint32_t n = 0; n < columns; ++n) p.b.set(n, k, decode(format, code()));
  }
  p.c.resize(kMmaRows);
  for (auto& row : p.c)
    for (std::uint32_t n = 0; n < columns; ++n)
      row[n] = std::ldexp(static_cast<float>(rng() % 65536) - 32768, static_cast<int>(rng() % 24) - 16);
  return p;
}

// One product 1*1 at k = 0 and the rest given as e4m3 values.
float sum_of(const std::vector<std::pair<float, float>>& products, float c, const AccumulationModel& model) {
  MmaOperand a, b;
  a.reset(1, 32, MmaOperand::Order::row_major);
  b.reset(1, 32, MmaOperand::Order::k_major);
  for (std::uint32_t k = 0; k < products.size(); ++k) {
    a.set(0, k, decode(NumberFormat::e4m3, f32_to_e4m3(products[k].first)));
    b.set(0, k, decode(NumberFormat::e4m3, f32_to_e4m3(products[k].second)));
  }
  return dot(a, 0, b, 0, c, true, model);
}

}  // namespace

TEST_CASE("Hopper keeps 13 fraction bits of the largest term, Blackwell 25") {
  const float tiny = std::ldexp(1.0f, -9);  // the smallest e4m3
  CHECK(sum_of({{256, 256}, {tiny, 1}}, 0, kHopperFp8) == 65536.0f);           // 2^-9 < 2^(16-13)
  CHECK(sum_of({{256, 256}, {tiny, 1}}, 0, kBlackwell) == 65536.0f + 0x1p-7f * 0);  // 24 bits of f32
  CHECK(sum_of({{1, 1}, {tiny, 1}}, 0, kHopperFp8) == 1.0f + tiny);
  CHECK(sum_of({{16, 16}, {tiny, 1}}, 0, kHopperFp8) == 256.0f);
  CHECK(sum_of({{16, 16}, {tiny, 1}}, 0, kBlackwell) == 256.0f + tiny);
  CHECK(sum_of({{16, 16}, {-tiny, 1}}, 0, kHopperFp8) == 256.0f);               // toward zero, not down
}

TEST_CASE("The accumulator is cut like a product") {
  CHECK(sum_of({{1, 1}}, 16384.5f, kHopperFp8) == 16384.0f);
  CHECK(sum_of({{1, 1}}, 16384.5f, kBlackwell) == 16385.5f);
  CHECK(sum_of({}, 1.0f + 0x1p-20f, kHopperFp8) == 1.0f);
  CHECK(sum_of({}, 1.0f + 0x1p-20f, kBlackwell) == 1.0f + 0x1p-20f);
}

TEST_CASE("Products are aligned without being renormalised") {
  // 1.875 * 1.875 * 2^0 has exponent 0 and significand 3.5156: the grid stays 2^-13.
  const float with = sum_of({{1.875f, 1.875f}, {0.0078125f, 0.015625f}}, 0, kHopperFp8);  // + 2^-13
  CHECK(with == std::trunc((3.515625f + 0x1p-13f) * 0x1p12f) / 0x1p12f);
}

TEST_CASE("Small integers are exact in every model") {
  const std::vector<std::pair<float, float>> terms{{3, 5}, {-7, 9}, {14, 14}, {-2, 6}};
  for (const AccumulationModel& model : {kExact, kHopperFp8, kBlackwell})
    CHECK(sum_of(terms, 100, model) == 15 - 63 + 196 - 12 + 100);
}

TEST_CASE("The fast path equals the definition bit for bit") {
  std::mt19937 rng(7);
  for (const NumberFormat format : {NumberFormat::e4m3, NumberFormat::e5m2})
    for (const AccumulationModel& model : {kExact, kHopperFp8, kBlackwell})
      for (int round = 0; round < 40; ++round) {
        const std::uint32_t columns = 8 * (1 + rng() % 6);
        Problem p = random_problem(rng, columns, format, round % 8 == 0);
        const bool accumulate = round % 3 != 0;
        p.multiply(accumulate, model);
        for (std::uint32_t r = 0; r < kMmaRows; ++r)
          for (std::uint32_t n = 0; n < columns; ++n) {
            const float want = dot(p.a, r, p.b, n, p.c[r][n], accumulate, model);
            CHECK(std::bit_cast<std::uint32_t>(p.result[r][n]) == std::bit_cast<std::uint32_t>(want));
          }
      }
}

TEST_CASE("An accumulator that nothing is added to is cut alike on both paths") {
  Problem p;
  p.a.reset(kMmaRows, 32, MmaOperand::Order::row_major);
  p.b.reset(8, 32, MmaOperand::Order::k_major);
  p.c.resize(kMmaRows);
  const float odd[] = {0.0f, -0.0f, 128.0078125f, -128.0078125f, std::bit_cast<float>(0x00000401u),
                       std::bit_cast<float>(0x80800001u), 1e30f, -0x1.fffffep-100f};
  for (auto& row : p.c) std::copy(std::begin(odd), std::end(odd), row.begin());
  for (const AccumulationModel& model : {kHopperFp8, kBlackwell}) {
    p.multiply(true, model);
    for (std::uint32_t n = 0; n < std::size(odd); ++n) {
      INFO(odd[n]);
      CHECK(std::bit_cast<std::uint32_t>(p.result[0][n]) ==
            std::bit_cast<std::uint32_t>(dot(p.a, 0, p.b, n, odd[n], true, model)));
    }
  }
}

TEST_CASE("NaN is canonical and stays in its column") {
  std::mt19937 rng(3);
  Problem p = random_problem(rng, 16, NumberFormat::e4m3, false);
  p.b.set(5, 7, decode(NumberFormat::e4m3, 0x7F));
  p.multiply(true, kBlackwell);
  for (std::uint32_t n = 0; n < 16; ++n) CHECK(std::isnan(p.result[1][n]) == (n == 5));
  CHECK(std::bit_cast<std::uint32_t>(p.result[1][5]) == 0x7FFFFFFF);
}
