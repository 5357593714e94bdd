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

}  // namespace mlaindex
