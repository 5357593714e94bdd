#include "tools/case_file.h"

#include <algorithm>
#include <functional>

#include <catch2/catch.hpp>

#include "tests/tools/temporary_folder.h"

using namespace mlaindex;
using namespace mlaindex::tools;

namespace {

Tensor zeros(const char* dtype, std::vector<std::uint64_t> shape) {
  std::size_t bytes = dtype_size(dtype);
  for (std::uint64_t extent : shape) bytes *= extent;
  return Tensor{dtype, std::move(shape), AlignedBytes(bytes)};
}

Tensor integers(std::initializer_list<std::int32_t> values) {
  Tensor tensor = zeros("I32", {values.size()});
  std::copy(values.begin(), values.end(), tensor.data.as<std::int32_t>().begin());
  return tensor;
}

// Three tokens, two heads, depth 32, five keys.
Safetensors small() {
  Safetensors file;
  file.tensors["q"] = zeros("F8_E4M3", {3, 2, 32});
  file.tensors["q_scale"] = zeros("F32", {3, 2});
  file.tensors["k"] = zeros("F8_E4M3", {5, 32});
  file.tensors["k_scale"] = zeros("F32", {5});
  return file;
}

Result<Case> read(Safetensors file) { return to_case(std::move(file), "in.safetensors", ScoreType::f32, Fill::none); }

}  // namespace

TEST_CASE("the four tensors alone: every token sees every key") {
  const Result<Case> result = read(small());
  REQUIRE(result);
  const ScoreProblem& problem = result->problem;
  CHECK(problem.mask == Mask::full);
  CHECK(problem.num_tokens == 3);
  CHECK(problem.num_heads == 2);
  CHECK(problem.depth == 32);
  CHECK(problem.num_keys == 5);
  CHECK(problem.num_columns == 5);
  CHECK(problem.row_stride == 5);
  CHECK(problem.q.size() == 192);
  CHECK(problem.k_scale.size() == 5);
  CHECK(result->scores == nullptr);
  CHECK_FALSE(result->exact);
  CHECK(describe(problem) == "3 tokens, 5 keys, 2 heads, depth 32, full");
}

TEST_CASE("the mask follows from the tensors and the metadata") {
  Safetensors ranges = small();
  ranges.tensors["row_start"] = integers({0, 1, 2});
  ranges.tensors["row_end"] = integers({5, 5, 2});
  const Result<Case> by_range = read(std::move(ranges));
  REQUIRE(by_range);
  CHECK(by_range->problem.mask == Mask::ranges);
  CHECK(by_range->problem.row_start[1] == 1);

  for (const auto& [causal, mask] : {std::pair("", Mask::ragged_causal), std::pair("true", Mask::ragged_causal),
                                     std::pair("false", Mask::ragged)}) {
    Safetensors ragged = small();
    ragged.tensors["query_offsets"] = integers({0, 1, 3});
    ragged.tensors["key_offsets"] = integers({0, 2, 5});
    if (*causal != '\0') ragged.metadata["causal"] = causal;
    const Result<Case> by_request = read(std::move(ragged));
    REQUIRE(by_request);
    CHECK(by_request->problem.mask == mask);
    CHECK(by_request->problem.num_requests() == 2);
  }
}

TEST_CASE("spans stay valid when a case moves") {
  Result<Case> result = read(small());
  REQUIRE(result);
  const auto* q = result->problem.q.data();
  const Case moved = *std::move(result);
  CHECK(moved.problem.q.data() == q);
  CHECK(moved.file.tensors.at("q").data.as<std::uint8_t>().data() == q);
}

TEST_CASE("scores, exact and unknown tensors are noticed") {
  Safetensors file = small();
  file.tensors["scores"] = zeros("BF16", {3, 5});
  file.tensors["row_starts"] = integers({0, 0, 0});
  file.metadata["exact"] = "true";
  const Result<Case> result = read(std::move(file));
  REQUIRE(result);
  CHECK(result->exact);
  REQUIRE(result->scores != nullptr);
  CHECK(result->scores->dtype == "BF16");
  CHECK(result->ignored == std::vector<std::string>{"row_starts"});
}

TEST_CASE("no tokens or no keys make a case") {
  Safetensors file;
  file.tensors["q"] = zeros("F8_E4M3", {0, 4, 64});
  file.tensors["q_scale"] = zeros("F32", {0, 4});
  file.tensors["k"] = zeros("F8_E4M3", {0, 64});
  file.tensors["k_scale"] = zeros("F32", {0});
  CHECK(read(std::move(file)));
}

TEST_CASE("every wrong case says which tensor, what it is and what is expected") {
  struct Wrong {
    std::function<void(Safetensors&)> spoil;
    const char* message;
    ErrorCode code = ErrorCode::invalid_file;
  };
  const auto set = [](const char* name, auto tensor) {
    return [name, tensor](Safetensors& file) { file.tensors[name] = tensor(); };
  };
  const Wrong wrong[] = {
      {[](Safetensors& f) { f.tensors.erase("q"); }, "has no tensor 'q'"},
      {[](Safetensors& f) { f.tensors.erase("k_scale"); }, "has no tensor 'k_scale'"},
      {[](Safetensors& f) { f.tensors["kv_pages"] = zeros("U8", {1, 2112}); }, "has both kv_pages and k"},
      {set("q", [] { return zeros("F16", {3, 2, 32}); }), "q has dtype F16; allowed: F8_E4M3"},
      {set("k", [] { return zeros("F8_E5M2", {5, 32}); }), "k has dtype F8_E5M2; allowed: F8_E4M3"},
      {set("q_scale", [] { return zeros("BF16", {3, 2}); }), "q_scale has dtype BF16; allowed: F32"},
      {set("q", [] { return zeros("F8_E4M3", {3, 64}); }), "q has shape [3, 64]; expected [T, H, D]"},
      {set("k", [] { return zeros("F8_E4M3", {5, 64}); }), "k has shape [5, 64]; expected [N, D of q] = [5, 32]"},
      {set("q_scale", [] { return zeros("F32", {3, 4}); }), "q_scale has shape [3, 4]; expected [T, H] = [3, 2]"},
      {set("k_scale", [] { return zeros("F32", {4}); }), "k_scale has shape [4]; expected [N] = [5]"},
      {set("k_scale", [] { return zeros("F32", {5, 1}); }), "k_scale has shape [5, 1]"},
      {set("row_start", [] { return integers({0, 0, 0}); }), "has no tensor 'row_end'"},
      {set("key_offsets", [] { return integers({0, 5}); }), "has no tensor 'query_offsets'"},
      {set("scores", [] { return zeros("F32", {5, 3}); }), "scores has shape [5, 3]; expected [T, N] = [3, 5]"},
      {set("scores", [] { return zeros("F64", {3, 5}); }), "scores has dtype F64; allowed: F32, BF16"},
      {[](Safetensors& f) { f.metadata["exact"] = "yes"; }, "metadata 'exact' is 'yes'"},
      {[](Safetensors& f) {
         f.tensors["row_start"] = integers({0, 0});
         f.tensors["row_end"] = integers({1, 1, 1});
       }, "row_start has shape [2]; expected [T] = [3]"},
      {[](Safetensors& f) {
         f.tensors["row_start"] = zeros("I64", {3});
         f.tensors["row_end"] = zeros("I64", {3});
       }, "row_start has dtype I64; allowed: I32"},
      {[](Safetensors& f) {
         f.tensors["row_start"] = integers({0, 0, 0});
         f.tensors["row_end"] = integers({0, 0, 0});
         f.tensors["query_offsets"] = integers({0, 3});
         f.tensors["key_offsets"] = integers({0, 3});
       }, "has both row_start or row_end, and query_offsets"},
      {[](Safetensors& f) {
         f.tensors["query_offsets"] = integers({0, 3});
         f.tensors["key_offsets"] = integers({0, 1, 5});
       }, "key_offsets has shape [3]"},
      {[](Safetensors& f) {
         f.tensors["query_offsets"] = integers({0, 3});
         f.tensors["key_offsets"] = integers({0, 5});
         f.metadata["causal"] = "maybe";
       }, "metadata 'causal' is 'maybe'"},
      {[](Safetensors& f) {
         f.tensors["query_offsets"] = integers({3, 0});
         f.tensors["key_offsets"] = integers({0, 5});
       }, "query_offsets", ErrorCode::invalid_argument},
      {[](Safetensors& f) {
         f.tensors["q"] = zeros("F8_E4M3", {3, 129, 32});
         f.tensors["q_scale"] = zeros("F32", {3, 129});
       }, "129", ErrorCode::unsupported_shape},
      {[](Safetensors& f) {
         f.tensors["q"] = zeros("F8_E4M3", {3, 2, 96});
         f.tensors["k"] = zeros("F8_E4M3", {5, 96});
       }, "96", ErrorCode::unsupported_shape},
  };
  for (const Wrong& one : wrong) {
    INFO(one.message);
    Safetensors file = small();
    one.spoil(file);
    const Result<Case> result = read(std::move(file));
    REQUIRE_FALSE(result);
    CHECK_THAT(result.error().message, Catch::StartsWith("in.safetensors: ") && Catch::Contains(one.message));
    CHECK(result.error().code == one.code);
    CHECK_FALSE(result.error().hint.empty());
  }
}
