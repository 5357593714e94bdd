#include "generator/resident_schedule.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <catch2/catch.hpp>

using namespace mlaindex;

namespace {

constexpr std::int64_t slots = 132;

Plan plan_of(Arch arch, int num_heads) { return make_plan({.arch = arch, .num_heads = num_heads}, "k_resident").value(); }

ResidentSchedule schedule_of(int num_heads, const ProblemSize& size, bool causal = true) {
  return resident_schedule(plan_of(Arch::sm_90a, num_heads), causal, size, slots);
}

std::int64_t sum(const std::vector<std::int64_t>& parts) { return std::accumulate(parts.begin(), parts.end(), std::int64_t{0}); }

}  // namespace

// On sm_90a 256 keys stay; a token block is 4 tokens of 64 or 32 heads, 32 tokens of 4.
TEST_CASE("few units are cut into pieces, so that each CTA has one") {
  const ResidentSchedule subtiles = schedule_of(4, {64, 256});
  CHECK(subtiles.log2_pieces == 2);
  CHECK(subtiles.ctas == 2 * 4);
  const ResidentSchedule halves = schedule_of(64, {64, 1024});
  CHECK(halves.log2_pieces == 1);
  CHECK(halves.ctas == 16 * 4 * 2);
  const ResidentSchedule one = schedule_of(4, {64, 64});
  CHECK(one.log2_pieces == 0);  // smaller pieces would have no key
  CHECK(one.ctas == 2);
  const ResidentSchedule diagonal = schedule_of(64, {280, 280});
  CHECK(diagonal.log2_pieces == 1);
  CHECK(diagonal.ctas == 70 + 38 + 6);  // tokens 128 and 256 are the first that see the second half and the second tile
  CHECK_FALSE(diagonal.in_sequence);
  const ResidentSchedule pairs = schedule_of(64, {256, 512}, false);
  CHECK(pairs.log2_pieces == 1);
  CHECK(pairs.ctas == 64 * 2);  // of 256 halves
}

TEST_CASE("whole tiles get as many CTAs as they need for the same number of blocks each, and no CTA is without work") {
  const ResidentSchedule schedule = schedule_of(64, {1000, 1024}, false);
  CHECK(schedule.log2_pieces == 0);
  CHECK_FALSE(schedule.in_sequence);
  CHECK(schedule.ctas == 4 * 32);  // 33 for each tile would not save one of the 8 blocks that a CTA has
  CHECK(parts_of_tiles(plan_of(Arch::sm_90a, 64), false, {1000, 1024}, schedule) == std::vector<std::int64_t>(4, 32));
}

TEST_CASE("keys that fewer tokens see get fewer CTAs") {
  const ProblemSize size{1024, 1024};
  const ResidentSchedule schedule = schedule_of(64, size);
  const std::vector<std::int64_t> parts = parts_of_tiles(plan_of(Arch::sm_90a, 64), true, size, schedule);
  CHECK(parts == std::vector<std::int64_t>{52, 39, 26, 13});  // 5 of 256, 192, 128 and 64 blocks for each
  CHECK(schedule.ctas == sum(parts));
}

TEST_CASE("CTAs take runs of all tiles' units where tiles of their own would leave some without work") {
  const ResidentSchedule uneven = schedule_of(64, {40, 79 * 256});
  CHECK(uneven.in_sequence);
  CHECK(uneven.units_of_cta == 6);  // of 790; a CTA for each tile would have 10
  CHECK(uneven.unit_share() == 6);
  CHECK(uneven.ctas == 132);
  const ResidentSchedule many = schedule_of(64, {4, 140 * 256});
  CHECK(many.in_sequence);
  CHECK(many.units_of_cta == 2);
  CHECK(many.ctas == 70);
  // Of 256 blocks 8 for each: a run ends where a tile does.
  const ResidentSchedule even = schedule_of(64, {1024, 1024}, false);
  CHECK(even.in_sequence);
  CHECK(even.ctas == 4 * 32);
}

TEST_CASE("a schedule has as many CTAs as its tiles have, within the slots, for any size") {
  constexpr int many = 2147483647;
  for (Arch arch : all_archs) {
    for (int heads : {1, 12, 64, 128}) {
      const Plan plan = plan_of(arch, heads);
      for (int tokens : {1, 3, 64, 257, 1024, 5000, many}) {
        for (int keys : {1, 64, 255, 256, 513, 4000, 8192, 8193, 16384, 40000, many}) {
          for (bool causal : {false, true}) {
            for (std::int64_t count : {1, 2, 7, 132, 148}) {
              const ProblemSize size{tokens, keys};
              const ResidentSchedule schedule = resident_schedule(plan, causal, size, count);
              INFO(arch_name(arch) << ", " << heads << " heads, " << tokens << " x " << keys << ", causal " << causal << ", slots " << count);
              CHECK(schedule.ctas >= 1);
              CHECK(schedule.ctas <= count);
              CHECK(schedule.units_of_cta >= 1);
              if (schedule.in_sequence) {
                if (tokens == many || keys == many) continue;  // no GPU holds the scores
                const std::int64_t tile_keys = std::int64_t{plan.tile_keys} * plan.key_stages;
                const std::int64_t tiles = (keys + tile_keys - 1) / tile_keys;
                const std::int64_t units = tiles * ((tokens - 1) / plan.tokens_per_block + 1) << schedule.log2_pieces;
                CHECK(std::int64_t{schedule.ctas} * schedule.units_of_cta >= units);
                CHECK(std::int64_t{schedule.ctas - 1} * schedule.units_of_cta < units);  // every CTA has some
              } else {
                const std::vector<std::int64_t> parts = parts_of_tiles(plan, causal, size, schedule);
                CHECK(sum(parts) == schedule.ctas);
                CHECK(std::ranges::all_of(parts, [](std::int64_t n) { return n >= 1; }));
                CHECK(std::ranges::is_sorted(parts, std::ranges::greater{}));
              }
            }
          }
        }
      }
    }
  }
}
