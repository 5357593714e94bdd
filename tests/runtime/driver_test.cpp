#include "tests/runtime/fake_driver_test.h"

namespace mlaindex {

TEST_CASE("a missing, foreign, old or incomplete driver is no_driver, with what to do", "[driver]") {
  const auto missing = Driver::load("/nonexistent/libcuda.so.1");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == ErrorCode::no_driver);
  CHECK_THAT(missing.error().text(),
             Catch::Contains("/nonexistent/libcuda.so.1") && Catch::Contains("MLAINDEX_JIT_CUDA_DRIVER"));

  const auto old = Driver::load(FAKE_DRIVER_OLD);
  REQUIRE_FALSE(old.ok());
  CHECK(old.error().code == ErrorCode::no_driver);
  CHECK_THAT(old.error().text(), Catch::Contains("CUDA 11.4") && Catch::Contains("12.0"));

  const auto incomplete = Driver::load(FAKE_DRIVER_INCOMPLETE);
  REQUIRE_FALSE(incomplete.ok());
  CHECK(incomplete.error().code == ErrorCode::no_driver);
  CHECK_THAT(incomplete.error().text(), Catch::Contains("lacks cuTensorMapEncodeTiled"));

  const auto foreign = Driver::load("libc.so.6");
  REQUIRE_FALSE(foreign.ok());
  CHECK(foreign.error().code == ErrorCode::no_driver);
  CHECK_THAT(foreign.error().text(), Catch::Contains("cuDriverGetVersion"));
}

TEST_CASE_METHOD(FakeDriverTest, "a driver without a GPU is no_device", "[driver]") {
  fail("cuInit", cuda::ReturnCode::no_device);
  const auto loaded = Driver::load(FAKE_DRIVER);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == ErrorCode::no_device);
  CHECK_THAT(loaded.error().hint, Catch::Contains("nvidia-smi"));
}

TEST_CASE_METHOD(FakeDriverTest, "errors carry the driver's name, number and text", "[driver]") {
  CHECK(driver()->version_text() == "13.0");
  const Error sticky = driver()->error(cuda::ReturnCode::illegal_address, "launching");
  CHECK(sticky.code == ErrorCode::cuda_error);
  CHECK(sticky.message == "launching: CUDA_ERROR_ILLEGAL_ADDRESS (700): text of the fake");
  CHECK_THAT(sticky.hint, Catch::Contains("restart the process"));
  CHECK(driver()->error(cuda::ReturnCode::out_of_memory, "x").code == ErrorCode::out_of_memory);
  CHECK_THAT(driver()->error(static_cast<cuda::ReturnCode>(12345), "x").message,
             Catch::Contains("unknown error (12345)"));
}

TEST_CASE_METHOD(FakeDriverTest, "the primary context is held as long as it is used", "[context]") {
  fake().compute_capability = 100;
  {
    const auto opened = context();
    CHECK(fake().retained == 1);
    CHECK(opened->properties().name == "Fake GPU");
    CHECK(opened->properties().compute_capability_major == 10);
    CHECK(opened->properties().num_sms == 132);
    {
      const ContextScope scope(*opened);
      CHECK(scope.status().ok());
      CHECK(fake().context_depth == 1);
    }
    CHECK(fake().context_depth == 0);
    fail("cuCtxPushCurrent", cuda::ReturnCode::deinitialized);
    {
      const ContextScope scope(*opened);
      CHECK_FALSE(scope.status().ok());
    }
    CHECK(fake().context_depth == 0);  // nothing was pushed, so nothing was popped
  }
  CHECK(fake().retained == 0);
}

TEST_CASE_METHOD(FakeDriverTest, "a GPU that does not exist is no_device", "[context]") {
  fake().num_devices = 2;
  CHECK(Context::open(driver(), 1).ok());
  for (const int ordinal : {-1, 2}) {
    const auto opened = Context::open(driver(), ordinal);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code == ErrorCode::no_device);
    CHECK_THAT(opened.error().text(), Catch::Contains("2 usable GPUs"));
  }
}

}  // namespace mlaindex
