#include <algorithm>

#include <catch2/catch.hpp>

#include "generator/model/resident_shares.h"
#include "generator/model/tile_shares.h"

using namespace mlaindex;
using namespace mlaindex::model;

namespace {

constexpr int num_sms = 132;

Spec contiguous(Mask mask = Mask::ragged_causal, Arch arch = Arch::sm_90a) {
  return {.arch = arch, .num_heads = 64, .mask = mask};
}
Spec paged(int num_heads = 64, Arch arch = Arch::sm_90a) {
  return {.arch = arch, .num_heads = num_heads, .mask = Mask::context, .layout = Layout::paged, .page_size = 64};
}

TileShares shares_of(const Spec& spec, const char* plan_name, const ProblemSize& size) {
  const Result<Plan> plan = make_plan(spec, plan_name);
  REQUIRE(plan.ok());
  const Result<TileShares> shares = tile_shares(spec, *plan, size, num_sms);
  REQUIRE(shares.ok());
  return *shares;
}

}  // namespace

TEST_CASE("tiles and pairs without a mask") {
  // 8 tokens a block and 64 keys a tile: 2 blocks of 4 tiles, each behind a place, 10 places for 8 CTAs.
  const TileShares shares = shares_of(contiguous(Mask::full), "q_resident", {16, 256, 0});
  CHECK(shares.total.tiles == 8);
  CHECK(shares.total.blocks == 2);
  CHECK(shares.pairs == 16 * 256);
  CHECK(shares.ctas == 8);
  CHECK(shares.longest.tiles == 2);
  CHECK(shares.columns == 512);
  CHECK(shares.folded_share == 1);
}

TEST_CASE("a causal mask leaves the keys that the last token of a block sees") {
  const TileShares shares = shares_of(contiguous(), "q_resident", {16, 256, 0});
  CHECK(shares.total.tiles == 8);                // 248 and 256 keys
  CHECK(shares.pairs == 16 * 256 - 15 * 16 / 2);
  // More tokens than keys: the first ones see none.
  const TileShares more_tokens = shares_of(contiguous(), "q_resident", {128, 64, 0});
  CHECK(more_tokens.pairs == 64 * 65 / 2);
  CHECK(more_tokens.total.blocks == 8);
}

TEST_CASE("a large problem is shared out almost equally") {
  const TileShares shares = shares_of(contiguous(), "q_resident", {2048, 65536, 0});
  CHECK(shares.ctas == num_sms);
  const double mean = static_cast<double>(shares.total.tiles) / num_sms;
  CHECK(shares.longest.tiles >= mean);
  CHECK(shares.longest.tiles < 1.01 * mean);
  CHECK(shares.longest.blocks >= 2);
}

TEST_CASE("the blocks of a set of keys that stay go forth and back among its CTAs, so that each gets long and short ones") {
  const ResidentShares shares = resident_shares({1, 2, 3, 4}, 4, std::vector<std::int64_t>{2}, 0);
  CHECK(shares.total.tiles == 10);
  CHECK(shares.longest.tiles == 5);  // 1 + 4 and 2 + 3; dealt out in one direction 2 + 4
  CHECK(shares.longest.blocks == 2);
  CHECK(shares.key_loads == 2);
  const ResidentShares halves = resident_shares({1, 2, 3, 4}, 4, std::vector<std::int64_t>{3}, 1);
  CHECK(halves.total.tiles == 10);
  CHECK(halves.total.blocks == 6);  // four first halves, two second ones
  CHECK(halves.longest.tiles == 4);
}

TEST_CASE("paged columns are those that the tokens of a request need") {
  const TileShares narrow = shares_of(paged(), "paged_narrow", {64, 8192, 64});
  CHECK(narrow.columns == 64);
  CHECK(narrow.total.tiles == 64 * 128);
  CHECK(shares_of(paged(), "paged", {64, 8192, 64}).columns == 128);        // a whole MMA for half of it
  CHECK(shares_of(paged(), "paged", {64, 8192, 64}).folded_share == 0.5);
  CHECK(shares_of(paged(), "paged", {64 * 3, 8192, 64}).columns == 256);
  CHECK(shares_of(paged(), "paged", {64 * 8, 8192, 64}).columns == 512);
  CHECK(shares_of(paged(), "paged", {64 * 9, 8192, 64}).total.blocks == 128);  // two blocks a request
  // sm_100a multiplies no column that it does not fold.
  const TileShares blackwell = shares_of(paged(64, Arch::sm_100a), "paged", {64, 8192, 64});
  CHECK(blackwell.columns == 64);
  CHECK(blackwell.folded_share == 1);
}

TEST_CASE("token j of a request sees the later tokens' keys no more") {
  CHECK(shares_of(paged(), "paged", {2 * 3, 100, 2}).pairs == 2 * (98 + 99 + 100));
}

TEST_CASE("plans with a CTA for each block run in waves") {
  const TileShares shares = shares_of(contiguous(Mask::full, Arch::sm_100a), "seed", {2 * 200, 640, 0});
  CHECK(shares.total.blocks == 200);  // two tokens each
  CHECK(shares.waves == 2);
  CHECK(shares.longest.tiles == 20);
}

TEST_CASE("a CTA that keeps keys takes a part of the token blocks") {
  // 4 tokens a block; 4 tiles of 128 keys stay: 4 blocks against 2 sets of keys, of which each CTA scores one tile.
  const TileShares shares = shares_of(contiguous(Mask::full, Arch::sm_100a), "k_resident", {16, 1024, 0});
  CHECK(shares.total.tiles == 4 * 8);
  CHECK(shares.total.blocks == 4 * 8);
  CHECK(shares.ctas == 32);
  CHECK(shares.key_loads == 32);
  CHECK(shares.longest.tiles == 1);
  CHECK(shares.longest.blocks == 1);
  // More sets of keys than CTAs: each takes a run, which ends where another set does.
  const TileShares many = shares_of(contiguous(Mask::full, Arch::sm_100a), "k_resident", {4, 140 * 512, 0});
  CHECK(many.ctas == 70);
  CHECK(many.key_loads == 140);
  CHECK(many.longest.tiles == 2 * 4);
  CHECK(many.longest.blocks == 2);
}

TEST_CASE("a run of blocks that crosses from one set of keys to the next loads both") {
  // Two sets of 4 tiles, three blocks that see all of both: runs of two blocks.
  const ResidentShares shares = resident_shares({8, 8, 8}, 4, 2, 2, 0);
  CHECK(shares.total.tiles == 3 * 8);
  CHECK(shares.total.blocks == 6);
  CHECK(shares.longest.tiles == 8);
  CHECK(shares.key_loads == 4);
}

TEST_CASE("under a causal mask the CTAs that keep keys get about the same") {
  for (Arch arch : all_archs) {
    const TileShares shares = shares_of(contiguous(Mask::ragged_causal, arch), "k_resident", {4096, 4096, 0});
    const double mean = static_cast<double>(shares.total.tiles) / num_sms;
    CHECK(shares.longest.tiles < 1.25 * mean);
  }
}

TEST_CASE("plans that keep keys and plans that keep queries have the same tiles") {
  for (Mask mask : {Mask::full, Mask::ragged_causal}) {
    const ProblemSize size{1000, 3000, 0};
    const TileShares keys_stay = shares_of(contiguous(mask), "k_resident", size);
    CHECK(keys_stay.pairs == shares_of(contiguous(mask), "q_resident", size).pairs);
    // Tiles of a block of four tokens against those of eight.
    CHECK(keys_stay.total.tiles == Approx(2.0 * static_cast<double>(shares_of(contiguous(mask), "q_resident", size).total.tiles)).epsilon(0.01));
  }
}

TEST_CASE("sizes that are no problem are refused") {
  const Spec spec = paged();
  Plan plan = *make_plan(spec, "paged");
  for (const ProblemSize& size : {ProblemSize{0, 64, 1}, {1, 0, 1}, {1, 64, 0}, {-1, 64, 1}}) {
    const auto shares = tile_shares(spec, plan, size, num_sms);
    REQUIRE_FALSE(shares.ok());
    CHECK(shares.error().code == ErrorCode::invalid_argument);
    CHECK_THAT(shares.error().hint, Catch::Contains("--requests"));
  }
  plan.family = "unheard_of";
  CHECK_THAT(tile_shares(spec, plan, {1, 64, 1}, num_sms).error().message, Catch::Contains("unheard_of"));
}
