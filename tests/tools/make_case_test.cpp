#include "tools/make_case.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <set>

#include <catch2/catch.hpp>

#include "runtime/e4m3.h"
#include "runtime/reference.h"
#include "tools/case_file.h"
#include "tools/e4m3.h"

using namespace mlaindex;
using namespace mlaindex::tools;

namespace {

bool same(const Safetensors& a, const Safetensors& b) {
  if (a.metadata != b.metadata || a.tensors.size() != b.tensors.size()) return false;
  for (const auto& [name, tensor] : a.tensors) {
    const Tensor& other = b.tensors.at(name);
    if (tensor.dtype != other.dtype || tensor.shape != other.shape) return false;
    if (std::memcmp(tensor.data.data(), other.data.data(), tensor.data.size()) != 0) return false;
  }
  return true;
}

CaseRequest small_request(Mask mask) {
  return {.num_tokens = 40, .num_keys = 130, .num_requests = 3, .num_heads = 8, .depth = 64, .mask = mask, .seed = 7};
}

Case made(const CaseRequest& request) {
  Result<Safetensors> file = make_case(request);
  REQUIRE(file);
  Result<Case> result = to_case(*std::move(file), "made", ScoreType::f32, Fill::none);
  REQUIRE(result);
  return *std::move(result);
}

}  // namespace

TEST_CASE("encode_e4m3 gives every code back and rounds to the nearest, ties to even") {
  for (unsigned code = 0; code < 256; ++code) {
    const double value = e4m3_value(static_cast<std::uint8_t>(code));
    if (!std::isnan(value)) CHECK(encode_e4m3(static_cast<float>(value)) == code);
  }
  for (unsigned code = 0; code < 0x7e; ++code) {
    INFO(code);
    const auto low = static_cast<float>(e4m3_value(static_cast<std::uint8_t>(code)));
    const auto high = static_cast<float>(e4m3_value(static_cast<std::uint8_t>(code + 1)));
    const float middle = (low + high) / 2;  // exact
    CHECK(encode_e4m3(middle) == (code % 2 == 0 ? code : code + 1));
    CHECK(encode_e4m3(std::nextafter(middle, low)) == code);
    CHECK(encode_e4m3(std::nextafter(middle, high)) == code + 1);
    CHECK(encode_e4m3(-std::nextafter(middle, high)) == (0x80 | (code + 1)));
  }
  CHECK(encode_e4m3(1e9f) == 0x7e);
  CHECK(encode_e4m3(-INFINITY) == 0xfe);
  CHECK((encode_e4m3(NAN) & 0x7f) == 0x7f);
}

TEST_CASE("the same request gives the same case, another seed another one") {
  for (Mask mask : {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal}) {
    CaseRequest request = small_request(mask);
    const Safetensors once = *make_case(request);
    CHECK(same(once, *make_case(request)));
    request.seed = 8;
    CHECK_FALSE(same(once, *make_case(request)));
  }
}

TEST_CASE("a known seed gives these bytes on every machine") {
  const Safetensors file = *make_case({.num_tokens = 1, .num_keys = 1, .num_requests = 1, .num_heads = 1, .depth = 32});
  const auto k = file.tensors.at("k").data.as<std::uint8_t>();
  CHECK(std::vector<int>(k.begin(), k.begin() + 8) == std::vector<int>{234, 252, 254, 112, 228, 111, 113, 250});
}

TEST_CASE("a case is what was asked for") {
  for (Mask mask : {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal}) {
    INFO(mask_name(mask));
    const Case result = made(small_request(mask));
    CHECK(result.problem.mask == mask);
    CHECK(result.problem.num_tokens == 40);
    CHECK(result.problem.num_keys == 130);
    CHECK(result.problem.num_heads == 8);
    CHECK(result.problem.depth == 64);
    CHECK_FALSE(result.exact);
  }
}

TEST_CASE("requests tile the tokens and the keys, and a causal token sees itself and before") {
  const Case result = made(small_request(Mask::ragged_causal));
  const ScoreProblem& problem = result.problem;
  REQUIRE(problem.num_requests() == 3);
  CHECK(problem.query_offsets.front() == 0);
  CHECK(problem.query_offsets.back() == 40);
  CHECK(problem.key_offsets.front() == 0);
  CHECK(problem.key_offsets.back() == 130);
  for (std::int64_t token = 0; token < problem.num_tokens; ++token) CHECK_FALSE(visible_range(problem, token).empty());
}

TEST_CASE("ranges have empty rows, and starts off multiples of four") {
  CaseRequest request = small_request(Mask::ranges);
  request.num_tokens = 200;
  const Case result = made(request);
  int empty = 0, unaligned = 0;
  for (std::int64_t token = 0; token < 200; ++token) {
    const KeyRange range = visible_range(result.problem, token);
    empty += range.empty();
    unaligned += range.begin % 4 != 0;
  }
  CHECK(empty > 5);
  CHECK(empty < 100);
  CHECK(unaligned > 50);
}

TEST_CASE("normal data fill the range of e4m3, with weights of both signs") {
  const Case result = made(small_request(Mask::full));
  int negative = 0, positive = 0;
  for (float scale : result.problem.q_scale) (scale < 0 ? negative : positive) += 1;
  CHECK(negative > 100);
  CHECK(positive > 100);
  for (std::int64_t key = 0; key < result.problem.num_keys; ++key) {
    double largest = 0;
    for (std::uint8_t code : result.problem.k.subspan(static_cast<std::size_t>(key) * 64, 64)) {
      largest = std::max(largest, std::fabs(e4m3_value(code)));
    }
    CHECK(largest == 448);
    CHECK(result.problem.k_scale[static_cast<std::size_t>(key)] > 0);
  }
}

TEST_CASE("exact data have f32 scores without rounding") {
  CaseRequest request = small_request(Mask::full);
  request.num_heads = 128;
  request.depth = 128;
  request.exact = true;
  const Case result = made(request);
  CHECK(result.exact);
  std::set<double> distinct;
  for (std::uint8_t code : result.problem.q) distinct.insert(e4m3_value(code));
  CHECK(distinct == std::set<double>{-2, -1, 0, 1, 2});
  std::atomic<int> inexact{0};
  REQUIRE(for_each_reference_row(result.problem, exact_accumulation, [&](const ReferenceRow& row) {
    for (double score : row.scores) inexact += score * 2 != std::round(score * 2) || std::fabs(score) >= 1 << 23;
  }));
  CHECK(inexact == 0);
}

TEST_CASE("data exact in bf16: all weighted dot products of a score are an integer of at most 256 together") {
  for (int heads : {1, 4, 32, 100, 128}) {
    CaseRequest request = small_request(Mask::full);
    request.num_heads = heads;
    request.depth = 64;
    request.exact_bf16 = true;
    const Case result = made(request);
    CHECK(result.exact);
    const auto bf16 = to_case(*make_case(request), "case", ScoreType::f32, Fill::none, FoldType::bf16);
    REQUIRE(bf16);
    CHECK(bf16->exact);
    const auto depth = static_cast<std::size_t>(64);
    double largest = 0, dots = 0;
    for (std::int64_t token = 0; token < result.problem.num_tokens; ++token) {
      const auto rows = static_cast<std::size_t>(token * heads);
      double weight = 0;  // of the token: zero or a power of two
      for (int h = 0; h < heads; ++h) {
        const double scale = std::fabs(result.problem.q_scale[rows + static_cast<std::size_t>(h)]);
        if (scale > 0 && weight > 0) CHECK(scale == weight);
        weight = std::max(weight, scale);
      }
      for (std::int64_t key = 0; key < result.problem.num_keys; ++key) {
        double sum = 0;
        for (int h = 0; h < heads; ++h) {
          double dot = 0;
          for (std::size_t d = 0; d < depth; ++d) {
            dot += e4m3_value(result.problem.q[(rows + static_cast<std::size_t>(h)) * depth + d]) *
                   e4m3_value(result.problem.k[static_cast<std::size_t>(key) * depth + d]);
          }
          sum += std::fabs(dot);
          dots += std::fabs(dot);
        }
        largest = std::max(largest, sum);
      }
    }
    CHECK(largest <= 256);
    CHECK(dots > 0);
  }
  CaseRequest request = small_request(Mask::full);
  request.exact = true;
  CHECK_FALSE(to_case(*make_case(request), "case", ScoreType::f32, Fill::none, FoldType::bf16)->exact);
}

TEST_CASE("requests that cannot be met are refused") {
  const auto refused = [](auto change, const char* message) {
    CaseRequest request = small_request(Mask::ragged_causal);
    change(request);
    const Result<Safetensors> file = make_case(request);
    REQUIRE_FALSE(file);
    CHECK_THAT(file.error().text(), Catch::Contains(message));
  };
  refused([](CaseRequest& r) { r.num_heads = 129; }, "num_heads = 129");
  refused([](CaseRequest& r) { r.depth = 96; }, "depth = 96");
  refused([](CaseRequest& r) { r.num_tokens = -1; }, "number of tokens = -1");
  refused([](CaseRequest& r) { r.num_requests = 0; }, "number of requests = 0");
  refused([](CaseRequest& r) { r.num_keys = std::int64_t{1} << 31; }, "allowed: 0 to 2147483647");
}

TEST_CASE("edges: no tokens, no keys, one of each, more requests than tokens") {
  for (std::int64_t tokens : {0, 1, 2}) {
    for (std::int64_t keys : {0, 1, 5}) {
      for (Mask mask : {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal}) {
        made({.num_tokens = tokens, .num_keys = keys, .num_requests = 4, .num_heads = 1, .depth = 32, .mask = mask});
      }
    }
  }
}
