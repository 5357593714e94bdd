#include "runtime/launcher.h"

#include "tests/runtime/allocation_counter.h"
#include "tests/runtime/fake_driver_test.h"

namespace mlaindex {
namespace {

// 100 tokens by 1000 keys, with addresses that only the fake driver could take.
DeviceProblem problem_of_addresses() {
  DeviceProblem problem;
  problem.q = 0x10000;
  problem.q_scale = 0x20004;
  problem.k = 0x30000;
  problem.k_scale = 0x40008;
  problem.scores = 0x50004;
  problem.row_start = 0x60004;
  problem.row_end = 0x70004;
  problem.q_scale_stride = 80;
  problem.row_stride = 1024;
  problem.num_tokens = 100;
  problem.num_keys = 1000;
  problem.num_columns = 900;
  problem.num_requests = 3;
  return problem;
}

class LauncherTest : public FakeDriverTest {
 protected:
  Launcher launcher(const Spec& spec, std::string_view plan = "q_resident") {
    fake().compute_capability = arch_limits(spec.arch).sm_number;
    auto created = Launcher::create(context(), fake_kernel(spec, plan));
    REQUIRE(created.ok());
    return std::move(*created);
  }
};

// Everything else in `problem_of_addresses` with one change.
Status launch_changed(Launcher& launcher, void (*change)(DeviceProblem&)) {
  DeviceProblem problem = problem_of_addresses();
  change(problem);
  return launcher.launch(problem, nullptr);
}

}  // namespace

TEST_CASE_METHOD(LauncherTest, "tensor maps are encoded again only when what they describe changes", "[launcher]") {
  Launcher launcher = this->launcher({});
  DeviceProblem problem = problem_of_addresses();
  for (int i = 0; i < 3; ++i) REQUIRE(launcher.launch(problem, nullptr).ok());
  CHECK(fake().launches == 3);
  CHECK(fake().encodes == 2);

  problem.scores += 4096;
  problem.q_scale += 4096;
  problem.row_start += 4096;
  problem.row_stride += 64;
  problem.num_columns -= 8;
  REQUIRE(launcher.launch(problem, nullptr).ok());
  CHECK(fake().encodes == 2);
  CHECK(fake().last_launch.arguments.scores == problem.scores);
  CHECK(fake().last_launch.arguments.row_stride == problem.row_stride);

  int expected = 2;
  const auto launches_with_new_maps = [&] {
    REQUIRE(launcher.launch(problem, nullptr).ok());
    expected += 2;
    CHECK(fake().encodes == expected);
    CHECK(fake().last_launch.map_addresses[0] == problem.q);
    CHECK(fake().last_launch.map_addresses[1] == problem.k);
  };
  problem.q += 4096;
  launches_with_new_maps();
  problem.k += 4096;
  launches_with_new_maps();
  problem.num_tokens = 7;
  launches_with_new_maps();
  CHECK(fake().last_maps[1].dims[2] == 7);
  problem.num_keys = 777;
  launches_with_new_maps();
  CHECK(fake().last_maps[0].dims[1] == 777);
  CHECK(fake().context_depth == 0);
}

#ifndef MLAINDEX_ALLOCATIONS_NOT_COUNTED
TEST_CASE_METHOD(LauncherTest, "a launch allocates nothing, maps encoded or not", "[launcher]") {
  Launcher launcher = this->launcher({.arch = Arch::sm_100a});
  DeviceProblem problem = problem_of_addresses();
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) {
    problem.num_keys = 1000 + i / 50;
    if (!launcher.launch(problem, nullptr).ok()) break;
  }
  CHECK(allocations() == before);
  CHECK(fake().launches == 100);
  CHECK(fake().encodes == 4);

  const std::size_t counted = allocations();
  CHECK_FALSE(std::string(1000, 'x').empty());
  CHECK(allocations() > counted);  // the counter counts
}
#endif

TEST_CASE_METHOD(LauncherTest, "a plan that keeps keys is told how its units are shared out", "[launcher]") {
  Launcher launcher = this->launcher({.arch = Arch::sm_90a, .num_heads = 64}, "k_resident");
  REQUIRE(launcher.launch(problem_of_addresses(), nullptr).ok());
  const fake::Launch& launch = fake().last_launch;
  const LaunchGrid grid = launch_grid(launcher.spec(), launcher.plan(), {100, 1000}, fake().num_sms);
  CHECK(grid.unit_share > 0);
  CHECK(launch.grid[0] == static_cast<unsigned>(grid.x));
  CHECK(launch.arguments.unit_share == grid.unit_share);
  CHECK(launch.arguments.in_sequence == grid.in_sequence);
  CHECK(launch.arguments.log2_pieces == grid.log2_pieces);
}

TEST_CASE_METHOD(LauncherTest, "grid, block and arguments follow the plan and the problem", "[launcher]") {
  for (const Arch arch : all_archs) {
    Launcher launcher = this->launcher({.arch = arch, .num_heads = 64});
    const DeviceProblem problem = problem_of_addresses();
    int stream = 0;
    REQUIRE(launcher.launch(problem, reinterpret_cast<cuda::Stream>(&stream)).ok());
    const fake::Launch& launch = fake().last_launch;
    const Plan& plan = launcher.plan();
    CHECK(launch.stream == &stream);
    const LaunchGrid grid = launch_grid(launcher.spec(), plan, {100, 1000}, fake().num_sms);
    CHECK(launch.grid[0] == static_cast<unsigned>(grid.x));
    CHECK(launch.grid[1] == static_cast<unsigned>(grid.y));
    CHECK(launch.grid[2] == 1);
    CHECK(launch.block == std::array<unsigned, 3>{static_cast<unsigned>(plan.num_threads), 1, 1});
    CHECK(launch.shared_bytes == static_cast<unsigned>(plan.shared_bytes()));
    CHECK(fake().shared_attribute == plan.shared_bytes());
    CHECK(launch.map_addresses[2] == 0);  // k_scale is read without a map
    const KernelArguments& arguments = launch.arguments;
    CHECK(arguments.q_scale == problem.q_scale);
    CHECK(arguments.k_scale == problem.k_scale);
    CHECK(arguments.row_start == problem.row_start);
    CHECK(arguments.row_end == problem.row_end);
    CHECK(arguments.q_scale_stride == 80);
    CHECK(arguments.num_tokens == 100);
    CHECK(arguments.num_keys == 1000);
    CHECK(arguments.num_columns == 900);
    CHECK(arguments.num_requests == 3);
  }
}

TEST_CASE_METHOD(LauncherTest, "nothing to score launches nothing", "[launcher]") {
  Launcher launcher = this->launcher({});
  CHECK(launch_changed(launcher, [](DeviceProblem& p) { p.num_tokens = 0; }).ok());
  CHECK(launch_changed(launcher, [](DeviceProblem& p) { p.num_columns = 0; }).ok());
  CHECK(launch_changed(launcher, [](DeviceProblem& p) { p.num_keys = 0; p.k = p.k_scale = 0; }).ok());
  CHECK(launch_changed(launcher, [](DeviceProblem& p) { p.num_requests = 0; }).ok());
  CHECK(launch_changed(launcher, [](DeviceProblem& p) { p = {}; p.q_scale_stride = 64; }).ok());
  CHECK(fake().launches + fake().encodes + fake().fills == 0);
}

TEST_CASE_METHOD(LauncherTest, "without keys the fill is still done", "[launcher]") {
  for (const ScoreType type : {ScoreType::f32, ScoreType::bf16}) {
    Launcher launcher = this->launcher({.score_type = type, .fill = Fill::negative_infinity});
    CHECK(launch_changed(launcher, [](DeviceProblem& p) { p.num_keys = 0; }).ok());
    const fake::Fill& fill = fake().last_fill;
    const unsigned bytes = type == ScoreType::f32 ? 4 : 2;
    CHECK(fill.pointer == 0x50004);
    CHECK(fill.element_bytes == bytes);
    CHECK(fill.pitch == 1024 * bytes);
    CHECK(fill.width == 900);
    CHECK(fill.height == 100);
    CHECK(fill.value == (type == ScoreType::f32 ? 0xff800000 : 0xff80));
  }
  CHECK(fake().launches == 0);
  CHECK(fake().fills == 2);
}

TEST_CASE_METHOD(LauncherTest, "bad arguments are named and never reach the driver", "[launcher]") {
  Launcher launcher = this->launcher({});
  struct BadProblem {
    void (*change)(DeviceProblem&);
    const char* message;
  };
  const BadProblem bad_problems[] = {
      {[](DeviceProblem& p) { p.num_tokens = -1; }, "num_tokens = -1"},
      {[](DeviceProblem& p) { p.num_keys = std::int64_t{1} << 31; }, "num_keys = 2147483648"},
      {[](DeviceProblem& p) { p.num_columns = -5; }, "num_columns = -5"},
      {[](DeviceProblem& p) { p.num_requests = -2; }, "num_requests = -2"},
      {[](DeviceProblem& p) { p.row_stride = 899; }, "row_stride = 899 (at least num_columns = 900)"},
      {[](DeviceProblem& p) { p.q_scale_stride = 63; }, "q_scale_stride = 63 (at least num_heads = 64)"},
      {[](DeviceProblem& p) { p.q = 0; }, "q is null"},
      {[](DeviceProblem& p) { p.q += 8; }, "q = 0x10008 (16-byte alignment is needed)"},
      {[](DeviceProblem& p) { p.k += 4; }, "k = 0x30004 (16-byte alignment is needed)"},
      {[](DeviceProblem& p) { p.k_scale += 2; }, "k_scale = 0x4000a (4-byte alignment is needed)"},
      {[](DeviceProblem& p) { p.q_scale = 0; }, "q_scale is null"},
      {[](DeviceProblem& p) { p.scores += 1; }, "scores = 0x50005 (4-byte alignment is needed)"},
      {[](DeviceProblem& p) { p.row_start = 0; }, "query_offsets is null"},
      {[](DeviceProblem& p) { p.row_end = 0; }, "key_offsets is null"},
  };
  for (const BadProblem& bad : bad_problems) {
    const Status status = launch_changed(launcher, bad.change);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::invalid_argument);
    CHECK_THAT(status.error().text(), Catch::StartsWith(bad.message));
  }
  CHECK(fake().launches + fake().encodes == 0);
  CHECK(fake().context_depth == 0);

  Launcher unmasked = this->launcher({.mask = Mask::full, .score_type = ScoreType::bf16});
  CHECK(launch_changed(unmasked, [](DeviceProblem& p) { p.row_start = p.row_end = 0; p.scores += 2; }).ok());
}

TEST_CASE_METHOD(LauncherTest, "failures of the driver come back, and the next launch starts over", "[launcher]") {
  Launcher launcher = this->launcher({});
  const DeviceProblem problem = problem_of_addresses();
  fail("cuTensorMapEncodeTiled", cuda::ReturnCode::invalid_value);
  CHECK_THAT(launcher.launch(problem, nullptr).error().text(), Catch::StartsWith("cuTensorMapEncodeTiled: "));
  CHECK(fake().launches == 0);

  fail("cuLaunchKernelEx", cuda::ReturnCode::illegal_address);
  const Status lost = launcher.launch(problem, nullptr);
  REQUIRE_FALSE(lost.ok());
  CHECK(lost.error().code == ErrorCode::cuda_error);
  CHECK_THAT(lost.error().text(), Catch::Contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));

  fail("nothing", cuda::ReturnCode::success);
  CHECK(launcher.launch(problem, nullptr).ok());
  CHECK(fake().launches == 1);
  CHECK(fake().context_depth == 0);
}

TEST_CASE_METHOD(LauncherTest, "launches overlap where the kernel waits by itself, the driver knows it and nobody forbids it",
                 "[launcher]") {
  CompiledKernel waits = fake_kernel({});
  waits.ptx = ".visible .entry k() { griddepcontrol.wait; ret; }";
  CompiledKernel overridden = waits;
  overridden.override_text = "PTX overridden by a file";
  const auto overlaps = [&](const CompiledKernel& kernel, Overlap overlap, int version) {
    fake().compute_capability = 90;
    fake().version = version;
    const auto driver = Driver::load(FAKE_DRIVER);
    REQUIRE(driver.ok());
    auto opened = Context::open(*driver, 0);
    REQUIRE(opened.ok());
    auto created = Launcher::create(*opened, kernel, overlap);
    REQUIRE(created.ok());
    REQUIRE(created->launch(problem_of_addresses(), nullptr).ok());
    return fake().last_launch.overlaps;
  };
  CHECK(overlaps(waits, Overlap::allowed, 13000));
  CHECK(overlaps(waits, Overlap::allowed, 12030));
  CHECK_FALSE(overlaps(waits, Overlap::allowed, 12020));
  CHECK_FALSE(overlaps(waits, Overlap::never, 13000));
  CHECK_FALSE(overlaps(fake_kernel({}), Overlap::allowed, 13000));
  CHECK_FALSE(overlaps(overridden, Overlap::allowed, 13000));
}

TEST_CASE_METHOD(LauncherTest, "a kernel for another generation is refused before the driver sees it",
                 "[loaded_kernel]") {
  const auto created = Launcher::create(context(), fake_kernel({.arch = Arch::sm_100a}));
  REQUIRE_FALSE(created.ok());
  CHECK(created.error().code == ErrorCode::unsupported_arch);
  CHECK_THAT(created.error().message, Catch::Contains("compiled for sm_100a") && Catch::Contains("is sm_90"));
  CHECK(fake().loaded == 0);
}

TEST_CASE_METHOD(LauncherTest, "a bad image fails at load, and nothing leaks", "[loaded_kernel]") {
  for (const char* function :
       {"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction", "cuFuncSetAttribute"}) {
    fail(function, cuda::ReturnCode::invalid_image);
    const auto created = Launcher::create(context(), fake_kernel({}));
    REQUIRE_FALSE(created.ok());
    CHECK(created.error().code == ErrorCode::cuda_error);
    CHECK_THAT(created.error().text(), Catch::Contains("kernel_of_a_test"));
    CHECK(fake().loaded == 0);
    CHECK(fake().retained == 0);
    CHECK(fake().context_depth == 0);
  }
}

TEST_CASE_METHOD(LauncherTest, "a moved launcher unloads once", "[loaded_kernel]") {
  {
    Launcher first = this->launcher({});
    Launcher second = std::move(first);
    CHECK(fake().loaded == 1);
    CHECK(second.launch(problem_of_addresses(), nullptr).ok());
  }
  CHECK(fake().loaded == 0);
  CHECK(fake().retained == 0);
}

}  // namespace mlaindex
