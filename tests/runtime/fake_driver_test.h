// The stand-in for libcuda, loaded through the library's own loader and reset for each test.
#pragma once

#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "runtime/context.h"
#include "runtime/kernel_store.h"
#include "tests/runtime/fixtures/fake_driver.h"

namespace mlaindex {

class FakeDriverTest {
 public:
  FakeDriverTest() {
    const auto library = DynamicLibrary::open(FAKE_DRIVER);
    REQUIRE(library.ok());
    state_ = library->function<fake::DriverState*()>("fake_driver_state")();
    *state_ = {};
    auto loaded = Driver::load(FAKE_DRIVER);
    REQUIRE(loaded.ok());
    driver_ = *loaded;
  }

 protected:
  fake::DriverState& fake() { return *state_; }
  std::shared_ptr<const Driver> driver() { return driver_; }

  std::shared_ptr<const Context> context() {
    auto opened = Context::open(driver_, 0);
    REQUIRE(opened.ok());
    return *opened;
  }

  void fail(const char* function, cuda::ReturnCode code) {
    state_->failing = function;
    state_->failure = static_cast<int>(code);
  }

 private:
  std::shared_ptr<const Driver> driver_;
  fake::DriverState* state_ = nullptr;
};

// A kernel of the spec's default plan, with bytes in place of a cubin.
inline CompiledKernel fake_kernel(const Spec& spec, std::string_view plan_name = "q_resident") {
  CompiledKernel kernel;
  kernel.spec = spec;
  auto plan = make_plan(spec, plan_name);
  REQUIRE(plan.ok());
  kernel.plan = *plan;
  kernel.kernel_name = "kernel_of_a_test";
  kernel.key = to_string(spec);
  kernel.cubin = "cubin";
  return kernel;
}

}  // namespace mlaindex
