#include "generator/spec.h"

#include <set>

#include <catch2/catch.hpp>

using namespace mlaindex;

namespace {

template <class Visit>
void for_each_spec(Visit visit) {
  for (Arch arch : all_archs)
    for (int heads = 1; heads <= max_num_heads; ++heads)
      for (int depth : {32, 64, 128})
        for (Mask mask : {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal})
          for (ScoreType type : {ScoreType::f32, ScoreType::bf16})
            for (Fill fill : {Fill::none, Fill::negative_infinity})
              for (FoldType fold : {FoldType::f32, FoldType::bf16})
                visit(Spec{arch, heads, depth, mask, type, fill, Layout::contiguous, 0, fold});
  for (Arch arch : all_archs)
    for (int heads : {1, 64, max_num_heads})
      for (int depth : {32, 64, 128})
        for (Mask mask : {Mask::context, Mask::context_rows, Mask::ragged, Mask::ragged_causal})
          for (ScoreType type : {ScoreType::f32, ScoreType::bf16})
            for (Fill fill : {Fill::none, Fill::negative_infinity})
              for (int page_size : {16, 32, 64, 128, 256})
                for (FoldType fold : {FoldType::f32, FoldType::bf16})
                  visit(Spec{arch, heads, depth, mask, type, fill, Layout::paged, page_size, fold});
}

}  // namespace

TEST_CASE("every spec of the contract is valid, and its packed key and text are its own") {
  std::set<std::uint32_t> keys;
  std::set<std::string> texts;
  std::size_t count = 0;
  for_each_spec([&](const Spec& spec) {
    if (!validate(spec)) FAIL(to_string(spec));
    keys.insert(packed_key(spec));
    texts.insert(to_string(spec));
    ++count;
  });
  CHECK(keys.size() == count);
  CHECK(texts.size() == count);
}

TEST_CASE("a spec outside the contract is refused with what was given and what is allowed") {
  const auto refused = [](int heads, int depth) {
    Spec spec;
    spec.num_heads = heads;
    spec.depth = depth;
    const Status status = validate(spec);
    return status ? std::string() : error_code_name(status.error().code) + (": " + status.error().text());
  };
  CHECK(refused(129, 128) == "unsupported_shape: num_heads = 129 (allowed: 1 to 128)");
  CHECK(refused(0, 128) == "unsupported_shape: num_heads = 0 (allowed: 1 to 128)");
  CHECK(refused(64, 96) == "unsupported_shape: depth = 96 (allowed: 32, 64, 128)");
}

TEST_CASE("layouts, masks and page sizes that do not go together are refused") {
  const auto refused = [](Layout layout, Mask mask, int page_size) {
    Spec spec;
    spec.layout = layout;
    spec.mask = mask;
    spec.page_size = page_size;
    const Status status = validate(spec);
    return status ? std::string() : status.error().text();
  };
  CHECK(refused(Layout::paged, Mask::full, 64) == "mask full with paged keys (allowed: context, context_rows, ragged, ragged_causal)");
  CHECK(refused(Layout::contiguous, Mask::context, 0) ==
        "mask context with contiguous keys (allowed: full, ranges, ragged, ragged_causal; context lengths go with paged keys)");
  CHECK(refused(Layout::contiguous, Mask::full, 64) == "page_size = 64 with contiguous keys (only the layout 'paged' has pages)");
  for (int page_size : {0, 8, 48, 512}) {
    CHECK(refused(Layout::paged, Mask::context, page_size) ==
          "page_size = " + std::to_string(page_size) + " (allowed: 16, 32, 64, 128, 256)");
  }
}

TEST_CASE("a bf16 fold shows in the text of a spec, and f32 does not") {
  Spec spec;
  CHECK(to_string(spec).ends_with("score_type=f32 fill=none"));
  spec.fold = FoldType::bf16;
  CHECK(to_string(spec).ends_with("score_type=f32 fill=none fold=bf16"));
}

TEST_CASE("heads are padded to the next power of two, at least four") {
  const int expected[][2] = {{1, 4}, {3, 4}, {4, 4}, {5, 8}, {8, 8}, {12, 16}, {33, 64}, {64, 64}, {65, 128}, {128, 128}};
  for (const auto& [heads, padded] : expected) CHECK(padded_heads(heads) == padded);
}

TEST_CASE("names parse back, and an unknown one lists the allowed") {
  for (Mask mask : {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal}) {
    CHECK(parse_mask(mask_name(mask)).value() == mask);
  }
  for (ScoreType type : {ScoreType::f32, ScoreType::bf16}) CHECK(parse_score_type(score_type_name(type)).value() == type);
  for (Fill fill : {Fill::none, Fill::negative_infinity}) CHECK(parse_fill(fill_name(fill)).value() == fill);
  for (FoldType fold : {FoldType::f32, FoldType::bf16}) CHECK(parse_fold(fold_name(fold)).value() == fold);
  for (Arch arch : all_archs) CHECK(parse_arch(arch_name(arch)).value() == arch);
  CHECK(parse_fill("zero").error().text() == "unknown fill 'zero' (allowed: none, -inf)");
  CHECK(parse_fold("f16").error().text() == "unknown fold 'f16' (allowed: f32, bf16)");
  CHECK(parse_arch("sm_100").error().code == ErrorCode::unsupported_arch);
}

TEST_CASE("a device runs the arch of exactly its compute capability") {
  CHECK(arch_of_compute_capability(9, 0).value() == Arch::sm_90a);
  CHECK(arch_of_compute_capability(10, 0).value() == Arch::sm_100a);
  CHECK(arch_of_compute_capability(10, 3).error().code == ErrorCode::unsupported_arch);
  CHECK(arch_of_compute_capability(8, 0).error().code == ErrorCode::unsupported_arch);
}
