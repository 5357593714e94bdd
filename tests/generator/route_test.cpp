#include "generator/route.h"

#include <catch2/catch.hpp>

using namespace mlaindex;

namespace {

Plan plan_of(int num_heads) {
  Spec spec;
  spec.num_heads = num_heads;
  return route(spec).value();
}

constexpr int h200_sms = 132;

}  // namespace

TEST_CASE("the default plan of an arch is its first") {
  Spec spec;
  spec.arch = Arch::sm_100a;
  CHECK(route(spec)->name == "q_resident");
  spec.num_heads = 200;
  CHECK(route(spec).error().code == ErrorCode::unsupported_shape);
}

TEST_CASE("keys are split when the token blocks underfill the machine, and only then") {
  const Plan plan = plan_of(64);  // 8 tokens a block, 64 keys a tile
  CHECK(key_splits(plan, {8 * h200_sms, 65536}, h200_sms) == 1);
  const int one_block = key_splits(plan, {1, 65536}, h200_sms);
  CHECK(one_block >= h200_sms / 2);
  CHECK(one_block <= 1024);  // never more parts than tiles
  CHECK(key_splits(plan, {1, 64}, h200_sms) == 1);
  CHECK(key_splits(plan, {1, 65}, h200_sms) <= 2);
}

TEST_CASE("nothing to do and absurd sizes give a legal answer") {
  const Plan plan = plan_of(4);
  CHECK(key_splits(plan, {0, 0}, h200_sms) == 1);
  CHECK(key_splits(plan, {1, 0}, h200_sms) == 1);
  CHECK(key_splits(plan, {2147483647, 2147483647}, h200_sms) == 1);
  const int most = key_splits(plan, {1, 2147483647}, 1 << 20);
  CHECK(most >= 1);
  CHECK(most <= 65535);  // the grid's limit
}
