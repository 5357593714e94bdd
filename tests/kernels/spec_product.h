// The product of everything that a spec can be, for every plan.
#pragma once

#include <string>
#include <vector>

#include "generator/plan.h"
#include "generator/spec.h"

namespace mlaindex {

struct SpecOfPlan {
  Spec spec;
  std::string plan;
};

inline std::vector<SpecOfPlan> spec_product() {
  std::vector<SpecOfPlan> items;
  for (Arch arch : all_archs)
    for (const std::string& plan : plan_names(arch))
      for (int heads : {1, 4, 8, 12, 16, 32, 64, 128})
        for (int depth : {32, 64, 128})
          for (Mask mask : {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal})
            for (ScoreType type : {ScoreType::f32, ScoreType::bf16})
              for (Fill fill : {Fill::none, Fill::negative_infinity})
                items.push_back({{arch, heads, depth, mask, type, fill}, plan});
  return items;
}

// Every seventh: 7 divides none of the extents, so that every plan meets all values of each.
inline std::vector<SpecOfPlan> short_spec_product() {
  std::vector<SpecOfPlan> items;
  unsigned turn = 0;
  for (SpecOfPlan& item : spec_product())
    if (turn++ % 7 == 0) items.push_back(std::move(item));
  return items;
}

// Every head count and depth with a bf16 fold, masks and outputs in turn, for every plan that has one.
inline std::vector<SpecOfPlan> bf16_fold_specs() {
  constexpr Mask masks_in_turn[] = {Mask::full, Mask::ranges, Mask::ragged, Mask::ragged_causal};
  std::vector<SpecOfPlan> items;
  for (Arch arch : all_archs)
    for (const std::string& plan : plan_names(arch)) {
      unsigned turn = 0;
      for (int heads : {1, 4, 8, 12, 16, 32, 64, 128})
        for (int depth : {32, 64, 128}) {
          const Spec spec{.arch = arch, .num_heads = heads, .depth = depth, .mask = masks_in_turn[turn % 4],
                          .score_type = turn / 2 % 2 == 0 ? ScoreType::f32 : ScoreType::bf16,
                          .fill = turn % 3 == 0 ? Fill::negative_infinity : Fill::none, .fold = FoldType::bf16};
          ++turn;
          if (make_plan(spec, plan)) items.push_back({spec, plan});
        }
    }
  return items;
}

// The same of paged keys, depths and page sizes in turn as well.
inline std::vector<SpecOfPlan> paged_bf16_fold_specs() {
  constexpr Mask masks_in_turn[] = {Mask::context, Mask::context_rows, Mask::ragged, Mask::ragged_causal};
  std::vector<SpecOfPlan> items;
  for (Arch arch : all_archs)
    for (const std::string& plan : plan_names(arch, Layout::paged)) {
      unsigned turn = 0;
      for (int heads : {1, 4, 8, 12, 16, 32, 64, 128}) {
        const Spec spec{.arch = arch, .num_heads = heads, .depth = 32 << turn % 3, .mask = masks_in_turn[turn % 4],
                        .score_type = turn / 2 % 2 == 0 ? ScoreType::f32 : ScoreType::bf16,
                        .fill = turn % 3 == 0 ? Fill::negative_infinity : Fill::none, .layout = Layout::paged,
                        .page_size = 16 << turn % 5, .fold = FoldType::bf16};
        ++turn;
        if (make_plan(spec, plan)) items.push_back({spec, plan});
      }
    }
  return items;
}

}  // namespace mlaindex
