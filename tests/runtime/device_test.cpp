#include "runtime/device.h"

#include <cstring>

#include "runtime/check.h"
#include "runtime/cuda_device.h"
#include "runtime/uploaded_problem.h"
#include "tests/runtime/fake_driver_test.h"
#include "tests/runtime/problem_builder.h"

namespace mlaindex {
namespace {

Config config_with_driver(const char* path) {
  Config config;
  config.cuda_driver_path = path;
  return config;
}

KernelStore store_in_memory() { return KernelStore(Config{}, Log(LogLevel::off)); }

// Only its name counts.
class NamedDevice : public Device {
 public:
  explicit NamedDevice(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  Result<ScoreRun> score(const ScoreProblem&, ScoreBuffer, const RunOptions&) override { return ScoreRun{}; }

 private:
  std::string name_;
};

Result<std::unique_ptr<Device>> fake_emulator(KernelStore&, Arch arch) {
  return std::unique_ptr<Device>(std::make_unique<NamedDevice>("emulator of " + std::string(arch_name(arch))));
}

Result<std::unique_ptr<Device>> broken_emulator(KernelStore&, Arch) {
  return Error{ErrorCode::internal, "it does not start", ""};
}

}  // namespace

TEST_CASE("devices are opened by name", "[device]") {
  KernelStore store = store_in_memory();
  const Config config = config_with_driver("/nonexistent/libcuda.so.1");
  const auto cpu = open_device({.name = "cpu"}, store, config);
  REQUIRE(cpu.ok());
  CHECK(cpu->device->name() == "cpu (f64 reference)");
  CHECK(cpu->note.empty());

  const auto emulator =
      open_device({.name = "emulator", .arch = Arch::sm_100a, .emulator = fake_emulator}, store, config);
  REQUIRE(emulator.ok());
  CHECK(emulator->device->name() == "emulator of sm_100a");
  CHECK(open_device({.name = "emulator"}, store, config).error().code == ErrorCode::no_device);
  CHECK(open_device({.name = "cuda:0"}, store, config).error().code == ErrorCode::no_driver);
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", ""}) {
    const auto opened = open_device({.name = name}, store, config);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code == ErrorCode::invalid_argument);
    CHECK(opened.error().hint == "allowed: auto, cuda:N, emulator, cpu");
  }
}

TEST_CASE("auto takes the next best device and says why", "[device]") {
  KernelStore store = store_in_memory();
  const Config config = config_with_driver("/nonexistent/libcuda.so.1");
  const auto emulator = open_device({.emulator = fake_emulator}, store, config);
  REQUIRE(emulator.ok());
  CHECK(emulator->device->name() == "emulator of sm_100a");
  CHECK_THAT(emulator->note, Catch::Contains("/nonexistent/libcuda.so.1"));
  const auto cpu = open_device({.emulator = broken_emulator}, store, config);
  REQUIRE(cpu.ok());
  CHECK(cpu->device->name() == "cpu (f64 reference)");
  CHECK_THAT(cpu->note, Catch::Contains("no cuda:0") && Catch::Contains("it does not start"));
}

TEST_CASE_METHOD(FakeDriverTest, "a GPU is taken when there is one of the wanted arch", "[device]") {
  KernelStore store = store_in_memory();
  const Config config = config_with_driver(FAKE_DRIVER);
  {
    const auto any = open_device({}, store, config);
    REQUIRE(any.ok());
    CHECK(any->device->name() == "cuda:0 (Fake GPU, sm_90a)");
    CHECK(any->note.empty());
  }
  CHECK(open_device({.name = "cuda:0", .arch = Arch::sm_100a}, store, config).error().code ==
        ErrorCode::unsupported_arch);
  CHECK(open_device({.name = "cuda:1"}, store, config).error().code == ErrorCode::no_device);
  fake().compute_capability = 89;
  const auto older = open_device({.name = "cuda:0"}, store, config);
  REQUIRE_FALSE(older.ok());
  CHECK(older.error().code == ErrorCode::unsupported_arch);
  CHECK_THAT(older.error().message, Catch::Contains("8.9"));
  CHECK(fake().retained == 0);
}

TEST_CASE("the CPU device scores by the reference", "[device]") {
  KernelStore store = store_in_memory();
  auto opened = open_device({.name = "cpu"}, store, Config{});
  REQUIRE(opened.ok());
  const OwnedProblem owned = random_problem({}, 4);
  std::vector<std::byte> scores(score_buffer_bytes(owned.problem), std::byte{0x77});
  const auto run = opened->device->score(owned.problem, scores, {});
  REQUIRE(run.ok());
  CHECK_FALSE(run->kernel.has_value());
  CheckOptions options;
  options.accumulation = run->accumulation;
  options.bitwise = true;
  options.poison = std::byte{0x77};
  const auto report = check_scores(owned.problem, scores, options);
  REQUIRE(report.ok());
  CHECK(report->passed());
}

TEST_CASE_METHOD(FakeDriverTest, "an uploaded problem keeps its data, its alignment and its guard zones",
                 "[uploaded_problem]") {
  OwnedProblem owned = random_problem({}, 4);
  owned.problem.mask = Mask::ragged;
  owned.query_offsets = {0, 5};
  owned.key_offsets = {0, 37};
  owned.connect();
  std::vector<std::byte> scores(score_buffer_bytes(owned.problem), std::byte{0x31});
  {
    auto uploaded = UploadedProblem::create(context(), owned.problem, scores, true);
    REQUIRE(uploaded.ok());
    const DeviceProblem& device = uploaded->device();
    CHECK(std::memcmp(reinterpret_cast<const void*>(device.k), owned.k.data(), owned.k.size()) == 0);
    CHECK(*reinterpret_cast<const std::int32_t*>(device.row_end + 4) == 37);
    CHECK(device.q % 256 == 0);
    CHECK(device.num_requests == 1);
    CHECK(device.row_stride == owned.problem.row_stride);
    std::memset(reinterpret_cast<void*>(device.scores), 0x32, scores.size());
    REQUIRE(uploaded->download_scores(scores).ok());
    CHECK(scores.back() == std::byte{0x32});
    CHECK(uploaded->check_guard_zones().ok());

    for (const cuda::DevicePointer outside :
         {device.scores - 1, device.scores + scores.size(), device.q_scale - 60000}) {
      auto* byte = reinterpret_cast<unsigned char*>(outside);
      const unsigned char before = *byte;
      *byte = 0;
      const Status status = uploaded->check_guard_zones();
      REQUIRE_FALSE(status.ok());
      CHECK_THAT(status.error().message, Catch::Contains(outside == device.q_scale - 60000 ? "q_scale" : "scores"));
      *byte = before;
    }
  }
  CHECK(fake().allocated == 0);
  CHECK(fake().retained == 0);
}

TEST_CASE_METHOD(FakeDriverTest, "memory that cannot be had is out_of_memory", "[uploaded_problem]") {
  fail("cuMemAlloc", cuda::ReturnCode::out_of_memory);
  const OwnedProblem owned = random_problem({}, 4);
  std::vector<std::byte> scores(score_buffer_bytes(owned.problem));
  const auto uploaded = UploadedProblem::create(context(), owned.problem, scores, false);
  REQUIRE_FALSE(uploaded.ok());
  CHECK(uploaded.error().code == ErrorCode::out_of_memory);
  CHECK_THAT(uploaded.error().message, Catch::Contains("bytes for q"));
}

}  // namespace mlaindex
