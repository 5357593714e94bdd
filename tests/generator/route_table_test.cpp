#include "generator/route_table.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "generator/plan.h"
#include "generator/route.h"
#include "generator/templates.h"

using namespace mlaindex;
using Catch::Contains;

namespace {

const std::string header = "mlaindex-routes 1\narch sm_90a\nmeasured NVIDIA H200\n";

Spec paged_spec(int num_heads = 64, int depth = 128) {
  return {.arch = Arch::sm_90a, .num_heads = num_heads, .depth = depth, .mask = Mask::context, .layout = Layout::paged,
          .page_size = 64};
}

RouteTable table_of(const std::string& rows) { return parse_route_table(header + rows, "test").value(); }

std::string error_of(const std::string& text) {
  const Result<RouteTable> table = parse_route_table(text, "my.routes");
  return table ? "none" : table.error().text();
}

}  // namespace

TEST_CASE("a route table is read back as it is printed") {
  const RouteTable table{Arch::sm_90a, true, "NVIDIA H200",
                         {{Layout::contiguous, 64, 128, {1, 2048, 65536}, {{"q_resident", 1726}}},
                          {Layout::paged, 8, 32, {256, 3, 1}, {{"paged_narrow", 3.4215}, {"paged", 1e-3}, {"paged_deep", 12345.5}}}}};
  const Result<RouteTable> read = parse_route_table(to_string(table), "test");
  if (!read) FAIL(read.error().text());
  CHECK(*read == table);
  const RouteTable empty{Arch::sm_100a, false, "B200", {}};
  CHECK(to_string(empty) == "mlaindex-routes 1\narch sm_100a\npredicted B200\n");
  CHECK(parse_route_table(to_string(empty), "test").value() == empty);
}

TEST_CASE("blank lines, comments and line ends of every kind are no rows") {
  CHECK(table_of("\n  \n# a comment\npaged 64 128 1 1 8192 paged=3.9 # another\n\t\n").rows.size() == 1);
  CHECK(table_of("paged 64 128 1 1 8192 paged=3.9\r\n").rows.front().times.front() == PlanTime{"paged", 3.9});
  CHECK(table_of("paged 64 128 1 1 8192 paged=3.9").rows.size() == 1);  // without a line end
}

TEST_CASE("a wrong route table is refused with the line, what it says and what is allowed") {
  const std::pair<std::string, const char*> wrong[] = {
      {"", "expected 'mlaindex-routes 1'"},
      {"mlaindex-routes 2\narch sm_90a\n", "my.routes:1: the first line, in 'mlaindex-routes 2'"},
      {"mlaindex-routes 1\n", "expected 'arch sm_90a'"},
      {"mlaindex-routes 1\narch sm_80\n", "unknown arch 'sm_80'"},
      {"mlaindex-routes 1\narch sm_90a\nH200\n", "expected 'measured GPU' or 'predicted GPU'"},
      {header + "flat 64 128 1 1 8192 paged=1\n", "my.routes:4: unknown layout 'flat'"},
      {header + "paged 64 128 1 1 8192\n", "PLAN=MICROSECONDS once or more"},
      {header + "\npaged 64 128 one 1 8192 paged=1\n", "my.routes:5: 'one'"},
      {header + "paged 64 128 1 0 8192 paged=1\n", "'0', in 'paged 64 128 1 0 8192 paged=1' (allowed: whole numbers"},
      {header + "paged 64 128 1 1 99999999999 paged=1\n", "'99999999999'"},
      {header + "paged 48 128 1 1 8192 paged=1\n", "48 heads"},
      {header + "paged 256 128 1 1 8192 paged=1\n", "256 heads"},
      {header + "paged 64 96 1 1 8192 paged=1\n", "depth 96"},
      {header + "contiguous 64 128 2 1 8192 q_resident=1\n", "2 requests with contiguous keys"},
      {header + "paged 64 128 1 1 8192 q_resident=1\n", "no plan 'q_resident' for sm_90a and paged keys"},
      {header + "paged 64 128 1 1 8192 paged=1 paged=2\n", "plan 'paged' twice"},
      {header + "paged 64 128 1 1 8192 paged\n", "expected PLAN=MICROSECONDS"},
      {header + "paged 64 128 1 1 8192 paged=fast\n", "'paged=fast'"},
      {header + "paged 64 128 1 1 8192 paged=0\n", "above 0"},
      {header + "paged 64 128 1 1 8192 paged=-1\n", "above 0"},
      {header + "paged 64 128 1 1 8192 paged=nan\n", "above 0"},
      {header + "paged 64 128 1 1 8192 paged=inf\n", "above 0"},
  };
  for (const auto& [text, message] : wrong) CHECK_THAT(error_of(text), Contains(message));
  CHECK_THAT(error_of("mlaindex-routes 1\narch sm_100a\nmeasured B200\ncontiguous 64 128 1 1 64 seed=1\n"),
             Contains("no plan 'seed'") && Contains("allowed: q_resident"));  // the yardstick is never chosen
}

TEST_CASE("the nearest row: by heads, then depth, then steps of tokens, requests and keys") {
  const RouteTable table = table_of(
      "contiguous 64 128 1 1 8192 q_resident=1\n"
      "paged 64 128  1 1 1024 paged=1\n"
      "paged 64 128  1 1 65536 paged=2\n"
      "paged 64 128 64 4 65536 paged=3\n"
      "paged 64 128 64 8 65536 paged=4\n"
      "paged 64 32   1 1 1024 paged=5\n"
      "paged 8 128   1 1 1024 paged=6\n");
  const auto nearest = [&](const Spec& spec, RoutePoint point) { return near_rows(table, spec, point).at(0).row->times[0].microseconds; };
  CHECK(nearest(paged_spec(), {1, 1, 1}) == 1);
  CHECK(nearest(paged_spec(), {1, 1, 8191}) == 1);
  CHECK(nearest(paged_spec(), {1, 1, 8192}) == 1);  // halfway: the first
  CHECK(nearest(paged_spec(), {1, 1, 8193}) == 2);
  CHECK(nearest(paged_spec(), {2147483647, 4, 2147483647}) == 3);
  CHECK(nearest(paged_spec(), {64, 4, 65536}) == 3);
  CHECK(nearest(paged_spec(), {64, 5, 65536}) == 3);
  CHECK(nearest(paged_spec(), {1, 5, 1024}) == 3);     // tokens come before requests and keys
  CHECK(nearest(paged_spec(), {64, 6, 65536}) == 4);
  CHECK(nearest(paged_spec(), {64, 100, 65536}) == 4);
  CHECK(nearest(paged_spec(64, 64), {1, 1, 1024}) == 1);  // depth 128 and 32 are as near: the first
  CHECK(nearest(paged_spec(64, 32), {64, 8, 65536}) == 5);
  CHECK(nearest(paged_spec(12), {64, 8, 65536}) == 6);  // padded to 16
  CHECK(nearest(paged_spec(33), {1, 1, 1024}) == 1);
  Spec contiguous;
  CHECK(near_rows(table, contiguous, {1, 1, 1}).at(0).row->layout == Layout::contiguous);
  CHECK(near_rows(table, contiguous, {1, 1, 1}).size() == 1);  // there is no other
  CHECK(near_rows(table_of(""), contiguous, {1, 1, 1}).empty());
  CHECK(near_rows(table, paged_spec(64, 32), {64, 8, 65536}).size() == 1);  // no other of depth 32
}

TEST_CASE("two rows count, the nearer one more, and one at the point itself alone") {
  const RouteTable table = table_of(
      "paged 64 128 1 1 1024 paged=1\n"
      "paged 64 128 1 1 4096 paged=2\n"
      "paged 64 128 1 1 65536 paged=3\n");
  const std::vector<NearRow> between = near_rows(table, paged_spec(), {1, 1, 2048});
  REQUIRE(between.size() == 2);
  CHECK(between[0].row == &table.rows[0]);
  CHECK(between[1].row == &table.rows[1]);
  CHECK(between[0].weight == between[1].weight);
  const std::vector<NearRow> above = near_rows(table, paged_spec(), {1, 1, 8192});
  REQUIRE(above.size() == 2);
  CHECK(above[0].row == &table.rows[1]);
  CHECK(above[1].row == &table.rows[0]);  // as near as the third, and before it: log2 of 8
  CHECK(above[0].weight == Approx(1 / (1.05 * 1.05)));
  CHECK(above[1].weight == Approx(1 / (3.05 * 3.05)));
  const std::vector<NearRow> at = near_rows(table, paged_spec(), {1, 1, 4096});
  REQUIRE(at.size() == 1);
  CHECK(at[0].row == &table.rows[1]);
}

TEST_CASE("contiguous keys: how full tiles of resident keys are counts twice") {
  const RouteTable table = table_of(
      "contiguous 64 128 1 64 512 q_resident=1\n"
      "contiguous 64 128 1 64 600 q_resident=2\n");
  CHECK(near_rows(table, Spec{}, {1, 64, 520}).at(0).row == &table.rows[1]);
  CHECK(near_rows(table, Spec{}, {1, 64, 768}).at(0).row == &table.rows[0]);
  // 600 keys take three tiles, 520 of 768 places: log2(600 / 520) and twice log2(600 / 520).
  const double distance = 3 * std::log2(600.0 / 520);
  CHECK(near_rows(table, Spec{}, {1, 64, 520}).at(0).weight == Approx(1 / ((distance + 0.05) * (distance + 0.05))));
}

TEST_CASE("the plan with the least geometric mean of both rows is chosen; a row that lacks one does not count") {
  const std::string near = "contiguous 64 128 1 64 1024 q_resident=10 k_resident=9\n";
  const auto choice = [&](const std::string& other, int num_keys) {
    const RouteTable table = table_of(near + "contiguous 64 128 1 64 4096 " + other + "\n");
    Spec spec;
    spec.mask = Mask::full;
    return choose_route(spec, {64, num_keys, 0}, table).value().plan.name;
  };
  CHECK(choice("q_resident=10 k_resident=10", 2048) == "k_resident");
  CHECK(choice("q_resident=10 k_resident=12", 2048) == "q_resident");  // both count the same: 0.9 x 1.2 is above 1
  CHECK(choice("q_resident=10 k_resident=12", 1280) == "k_resident");  // the first row is nearer
  CHECK(choice("q_resident=10", 1280) == "k_resident");  // by the first row alone
}

TEST_CASE("a route is the fastest plan of the nearest row that takes the spec, and says why") {
  const RouteTable table = table_of(
      "paged 64 128 1 1 8192 paged=3.9 paged_narrow=3.42 paged_deep=3.8\n"
      "paged 64 128 64 2 8192 paged=26 paged_deep=25.4\n"
      "contiguous 64 128 1 1 8192 q_resident=4\n");
  const Route narrow = choose_route(paged_spec(), {1, 8192, 1}, table).value();
  CHECK(narrow.plan.name == "paged_narrow");
  REQUIRE(narrow.rows.size() == 1);
  CHECK(narrow.rows[0].row == &table.rows[0]);
  CHECK(explain_route(narrow, table) ==
        "paged_narrow: measured 3.42 us against 3.9 us of paged and 3.8 us of paged_deep at 1 request x 1 token x 8192 keys, "
        "64 heads, depth 128 (NVIDIA H200)");
  const Route deep = choose_route(paged_spec(128), {1, 16384, 1}, table).value();
  CHECK(explain_route(deep, table) ==
        "paged_deep: measured 3.8 us against 3.9 us of paged at 1 request x 1 token x 8192 keys, 25.4 us against 26 us of "
        "paged at 64 requests x 2 tokens x 8192 keys, 64 heads, depth 128 (NVIDIA H200)");
  CHECK(choose_route(paged_spec(), {1, 16384, 1}, table)->rows.size() == 1);  // the other row has no paged_narrow
  CHECK(choose_route(paged_spec(), {128, 8192, 64}, table)->plan.name == "paged_deep");
  CHECK(choose_route(paged_spec(128), {1, 8192, 1}, table)->plan.name == "paged_deep");  // narrow takes 64 heads
  const Route unknown = choose_route(paged_spec(), {}, table).value();
  CHECK(unknown.plan.name == "paged");
  CHECK_THAT(explain_route(unknown, table), Contains("no size is known"));
  CHECK(choose_route(paged_spec(), {1, 8192, 0}, table)->basis == RouteBasis::unknown_size);
  CHECK(choose_route(paged_spec(), {1, 8192, 1}, table_of(""))->basis == RouteBasis::rule);
  Spec b200 = paged_spec();
  b200.arch = Arch::sm_100a;
  const Route only = choose_route(b200, {1, 8192, 1}, shipped_route_table(Arch::sm_100a)).value();
  CHECK(explain_route(only, shipped_route_table(Arch::sm_100a)) == "paged: there is no other");
  Spec bad = paged_spec(200);
  CHECK(choose_route(bad, {1, 8192, 1}, table).error().code == ErrorCode::unsupported_shape);
}

TEST_CASE("a plan that shares out the tokens of one request is chosen for one request") {
  const RouteTable table = table_of("contiguous 64 128 1 8192 256 q_resident=36 k_resident=30\n");
  const auto choice = [&](Mask mask, int num_requests) {
    Spec spec;
    spec.mask = mask;
    return choose_route(spec, {8192, 256, num_requests}, table).value();
  };
  CHECK(choice(Mask::full, 0).plan.name == "k_resident");
  CHECK(choice(Mask::ragged_causal, 1).plan.name == "k_resident");
  CHECK(choice(Mask::ragged_causal, 2).plan.name == "q_resident");
  CHECK(choice(Mask::ragged, 2).basis == RouteBasis::only_plan);
  CHECK(choice(Mask::ranges, 0).plan.name == "q_resident");  // ranges do not tell how many requests there are
}

TEST_CASE("a row whose plans all refuse the spec leaves the rule") {
  const RouteTable table = table_of("paged 64 128 1 1 8192 paged_narrow=3.42\n");
  CHECK(choose_route(paged_spec(128), {1, 8192, 1}, table)->basis == RouteBasis::rule);
  CHECK(choose_route(paged_spec(128), {1, 8192, 1}, table)->plan.name == "paged");
}

TEST_CASE("where a problem lies: tokens of a request rounded up; contiguous batches as one request of the mean keys") {
  CHECK(route_point(Layout::paged, {10, 4096, 4}) == RoutePoint{4, 3, 4096});
  CHECK(route_point(Layout::contiguous, {2048, 65536, 8}) == RoutePoint{1, 2048, 8192});
  CHECK(route_point(Layout::contiguous, {2048, 65536, 0}) == RoutePoint{1, 2048, 65536});
  CHECK(route_point(Layout::contiguous, {1, 3, 8}).keys == 1);
  CHECK(describe(Layout::paged, {1, 2, 1}) == "1 request x 2 tokens x 1 key");
  CHECK(describe(Layout::contiguous, {1, 1, 9}) == "1 token x 9 keys");
}

TEST_CASE("the shipped route tables are read, one for each arch, and print as themselves") {
  for (Arch arch : all_archs) {
    const RouteTable& table = shipped_route_table(arch);
    CHECK(table.arch == arch);
    CHECK_FALSE(table.gpu.empty());  // it was found and read
    CHECK(parse_route_table(to_string(table), "printed").value() == table);
  }
  CHECK(all_route_tables().size() == all_archs.size());
  for (const Template& file : all_route_tables()) {
    const Result<RouteTable> table = parse_route_table(file.text, file.path);
    if (!table) FAIL(table.error().text());
  }
}

TEST_CASE("the shipped times of sm_100a are predicted, and take no plan that is hardly faster than the default one") {
  const RouteTable& table = shipped_route_table(Arch::sm_100a);
  CHECK_FALSE(table.measured);
  CHECK_FALSE(table.rows.empty());
  for (const RouteRow& row : table.rows) {
    INFO(row.padded_heads << " heads, " << describe(row.layout, row.point));
    REQUIRE(row.times.front().plan == "q_resident");
    const double of_default = row.times.front().microseconds;
    for (const PlanTime& time : row.times) CHECK((time.microseconds >= of_default || time.microseconds < 0.95 * of_default));
  }
  const Spec spec{.arch = Arch::sm_100a, .mask = Mask::full};
  const Route few_keys = choose_route(spec, {8192, 256, 0}, table).value();
  CHECK_THAT(explain_route(few_keys, table), Contains(": predicted ") && Contains("(NVIDIA B200)"));
  CHECK(choose_route(spec, {2048, 65536, 0}, table)->plan.name == "q_resident");
}
