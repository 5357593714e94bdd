// Cases of paged keys: what is read, what is refused, and that the reference finds every key.
#include <cstring>
#include <functional>

#include <catch2/catch.hpp>

#include "runtime/reference.h"
#include "tools/case_file.h"
#include "tools/make_case.h"

using namespace mlaindex;
using namespace mlaindex::tools;
using Catch::Contains;

namespace {

Safetensors paged_tensors(Mask mask, bool separate_scales) {
  return make_case({.num_tokens = 11, .num_keys = 150, .num_requests = 4, .num_heads = 3, .depth = 32, .mask = mask,
                    .page_size = 32, .next_n = is_ragged(mask) ? 1 : 2, .separate_scales = separate_scales, .exact = true})
      .value();
}

Result<Case> read(Safetensors tensors) { return to_case(std::move(tensors), "case", ScoreType::f32, Fill::none); }

Tensor integers(std::vector<std::uint64_t> shape, std::int32_t value) {
  std::size_t count = 1;
  for (std::uint64_t extent : shape) count *= extent;
  Tensor tensor{"I32", std::move(shape), AlignedBytes(4 * count)};
  for (std::int32_t& element : tensor.data.as<std::int32_t>()) element = value;
  return tensor;
}

}  // namespace

TEST_CASE("a paged case scores as the same keys in rows do") {
  for (Mask mask : {Mask::context, Mask::context_rows, Mask::ragged, Mask::ragged_causal}) {
    for (bool separate_scales : {false, true}) {
      const Case paged = read(paged_tensors(mask, separate_scales)).value();
      const ScoreProblem& problem = paged.problem;
      INFO(describe(problem));
      REQUIRE(problem.layout == Layout::paged);
      CHECK(problem.mask == mask);
      CHECK(problem.paged.fused() == !separate_scales);
      std::vector<float> scores(static_cast<std::size_t>(problem.num_tokens * problem.row_stride), -7.0f);
      REQUIRE(reference_scores(problem, std::as_writable_bytes(std::span(scores))));

      for (std::int64_t token = 0; token < problem.num_tokens; ++token) {
        // One token against its request's keys, gathered from their pages here.
        const KeyRange visible = visible_range(problem, token);
        const auto count = static_cast<std::size_t>(visible.size());
        std::vector<std::uint8_t> k;
        std::vector<float> k_scale;
        for (std::size_t key = 0; key < count; ++key) {
          const std::int64_t request = is_ragged(mask) ? request_of(problem, token) : token / 2;
          const auto entry = static_cast<std::size_t>(request * problem.paged.pages_per_request) + key / 32;
          const std::uint8_t* page = problem.paged.pages.data() + problem.paged.block_table[entry] * problem.paged.page_stride;
          k.insert(k.end(), page + key % 32 * 32, page + key % 32 * 32 + 32);
          const std::uint8_t* scales = page + 32 * 32;
          if (separate_scales) scales = problem.paged.k_scale_pages.data() + problem.paged.k_scale_table[entry] * 32 * 4;
          float scale = 0;
          std::memcpy(&scale, scales + key % 32 * 4, 4);
          k_scale.push_back(scale);
        }
        ScoreProblem row;
        row.num_heads = 3;
        row.depth = 32;
        row.num_tokens = 1;
        row.num_keys = row.num_columns = row.row_stride = visible.size();
        row.q_scale_stride = 3;
        row.q = problem.q.subspan(static_cast<std::size_t>(token) * 96, 96);
        row.q_scale = problem.q_scale.subspan(static_cast<std::size_t>(token) * 3, 3);
        row.k = k;
        row.k_scale = k_scale;
        std::vector<float> expected(count);
        REQUIRE(reference_scores(row, std::as_writable_bytes(std::span(expected))));
        const float* got = scores.data() + token * problem.row_stride;
        CHECK(std::equal(expected.begin(), expected.end(), got));
        CHECK(std::all_of(got + count, got + problem.row_stride, [](float untouched) { return untouched == -7.0f; }));
      }
    }
  }
}

TEST_CASE("lengths past the table are clamped, lengths below zero see nothing, entries that are no page read as zeros") {
  Safetensors tensors = paged_tensors(Mask::context, false);
  auto lens = tensors.tensors["context_lens"].data.as<std::int32_t>();
  lens[0] = 1 << 30;
  lens[1] = -5;
  auto table = tensors.tensors["block_table"].data.as<std::int32_t>();
  for (std::size_t i = 0; i < 5; ++i) table[i] = i % 2 == 0 ? -3 : 1 << 20;
  const Case paged = read(std::move(tensors)).value();
  CHECK(visible_range(paged.problem, 0).end == 160);
  CHECK(visible_range(paged.problem, 1).end == 160);
  CHECK(visible_range(paged.problem, 2).empty());
  CHECK(visible_range(paged.problem, 3).empty());
  CHECK(key_view(paged.problem, 0, 159).elements.empty());
  std::vector<float> scores(static_cast<std::size_t>(paged.problem.num_tokens * paged.problem.row_stride), 1.0f);
  REQUIRE(reference_scores(paged.problem, std::as_writable_bytes(std::span(scores))));
  CHECK(std::all_of(scores.begin(), scores.begin() + 320, [](float score) { return score == 0.0f; }));
}

TEST_CASE("every wrong paged case says which tensor, what it is and what is expected") {
  struct Wrong {
    std::function<void(Safetensors&)> spoil;
    const char* message;
  };
  const Wrong wrong[] = {
      {[](Safetensors& f) { f.tensors.erase("block_table"); }, "has no tensor 'block_table'"},
      {[](Safetensors& f) { f.tensors.erase("context_lens"); }, "has no tensor 'context_lens'"},
      {[](Safetensors& f) { f.tensors["context_lens"] = integers({3}, 1); }, "context_lens has shape [3]"},
      {[](Safetensors& f) { f.tensors["block_table"] = integers({3, 5}, 0); }, "8 tokens of 3 requests"},
      {[](Safetensors& f) { f.tensors["query_offsets"] = integers({4}, 0); }, "query_offsets has shape [4]"},
      {[](Safetensors& f) { f.tensors["row_start"] = integers({8}, 0); }, "has both kv_pages and row_start"},
      {[](Safetensors& f) { f.tensors["k_scale_pages"] = Tensor{"F32", {2, 32}, AlignedBytes(256)}; }, "has no tensor 'k_scale_table'"},
      {[](Safetensors& f) { f.metadata["page_size"] = "many"; }, "metadata 'page_size' is 'many'"},
      {[](Safetensors& f) { f.metadata["page_size"] = "48"; }, "page_size = 48"},
      {[](Safetensors& f) { f.metadata["page_size"] = "256"; }, "a page stride of"},
      {[](Safetensors& f) { f.metadata.erase("page_size"); f.tensors["kv_pages"] = Tensor{"U8", {2, 100}, AlignedBytes(200)}; },
       "has pages of 2 keys"},
  };
  for (const Wrong& item : wrong) {
    Safetensors tensors = paged_tensors(Mask::context, false);
    item.spoil(tensors);
    const Result<Case> result = read(std::move(tensors));
    INFO(item.message);
    REQUIRE_FALSE(result);
    CHECK_THAT(result.error().text(), Contains(item.message));
  }
}
