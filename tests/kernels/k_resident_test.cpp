// Kernels whose keys stay: shares of CTAs, keys of several tiles one after the other, keys that nobody sees.
#include <vector>

#include <catch2/catch.hpp>

#include "generator/base/format.h"
#include "tests/kernels/emulated_case.h"
#include "tests/parallel.h"
#include "tests/sample.h"

using namespace mlaindex;

namespace {

struct Run {
  Arch arch;
  tools::CaseRequest request;
  Form form;
  EmulatorSettings settings;
  // Of the mask `ranges`: what every token sees instead of its own range.
  int first_visible = 0, end_visible = -1;
};

std::string trouble_with(KernelStore& store, const Run& run) {
  auto tensors = tools::make_case(run.request);
  if (tensors && run.end_visible >= 0) {
    for (std::int64_t token = 0; token < run.request.num_tokens; ++token) {
      tensors->tensors.at("row_start").data.as<std::int32_t>()[token] = run.first_visible;
      tensors->tensors.at("row_end").data.as<std::int32_t>()[token] = run.end_visible;
    }
  }
  return trouble(store, run.arch, "k_resident", std::move(tensors), run.form, run.settings);
}

void check_all(std::vector<Run> runs) {
  keep_sample(runs);
  KernelStore store(memory_only(), Log());
  std::vector<std::string> problems(runs.size());
  in_parallel(runs.size(), [&](std::size_t i) { problems[i] = trouble_with(store, runs[i]); });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [arch, request, form, settings, first_visible, end_visible] = runs[i];
    INFO(fmt::format("{}, {} SMs, {} heads, mask {}, schedule {}, visible {} to {}", arch_name(arch), settings.num_sms,
                     request.num_heads, mask_name(request.mask), settings.seed, first_visible, end_visible));
    CHECK(problems[i] == "");
  }
}

}  // namespace

TEST_CASE("k_resident: keys of several tiles are right, whether CTAs have several of them or tokens a part each") {
  std::vector<Run> runs;
  for (Arch arch : all_archs) {
    unsigned turn = 0;
    for (int num_sms : {1, 2, 3, 8, 20, 60}) {
      for (int heads : {1, 4, 12, 32, 64, 128}) {
        const tools::CaseRequest request{.num_tokens = 61, .num_keys = 1300, .num_requests = 3, .num_heads = heads, .depth = 32,
                                         .mask = masks[turn % 4], .seed = turn + 1};
        const Form form{turn % 3 == 0 ? ScoreType::bf16 : ScoreType::f32, turn % 5 == 0 ? Fill::negative_infinity : Fill::none,
                        turn % 7 == 0 ? FoldType::bf16 : FoldType::f32};
        runs.push_back({arch, request, form, {.seed = turn, .num_sms = num_sms, .threads = 1}});
        ++turn;
      }
      ++turn;
    }
  }
  check_all(std::move(runs));
}

TEST_CASE("k_resident: keys are loaded anew behind all that reads those before") {
  // One CTA for all tiles, and blocks of one subtile and of all: copies and MMAs complete in any order.
  std::vector<Run> runs;
  for (Arch arch : all_archs) {
    for (std::uint64_t schedule = 0; schedule < 12; ++schedule) {
      const tools::CaseRequest request{.num_tokens = 30, .num_keys = 1700, .num_requests = 4, .num_heads = 64, .depth = 32,
                                       .mask = schedule % 2 == 0 ? Mask::ragged_causal : Mask::ranges, .seed = schedule + 1,
                                       .exact = true};
      runs.push_back({arch, request, forms[0], {.seed = schedule, .num_sms = 1, .threads = 1}});
    }
  }
  check_all(std::move(runs));
}

TEST_CASE("k_resident: tiles of which no token sees a key are passed over") {
  std::vector<Run> runs;
  for (Arch arch : all_archs) {
    for (int num_sms : {1, 2, 20}) {
      for (std::uint64_t schedule : {0, 1, 2}) {
        const tools::CaseRequest request{.num_tokens = 9, .num_keys = 1700, .num_heads = 64, .depth = 32, .mask = Mask::ranges,
                                         .seed = schedule + 1};
        const EmulatorSettings settings{.seed = schedule, .num_sms = num_sms, .threads = 1};
        runs.push_back({arch, request, forms[2], settings, 1030, 1040});
        runs.push_back({arch, request, forms[2], settings, 500, 515});
        runs.push_back({arch, request, forms[2], settings, 7, 7});
      }
    }
  }
  check_all(std::move(runs));
}
