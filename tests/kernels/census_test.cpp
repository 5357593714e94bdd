#include "tests/kernels/compiled.h"

using namespace mlaindex;
using Catch::Contains;

namespace {

std::string ptx_of(Arch arch, const std::string& plan_name) {
  Spec spec;
  spec.arch = arch;
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(config_from_environment());
  const Result<ptx::Artifact> kernel = compiled(*compiler, spec, make_plan(spec, plan_name).value());
  if (!kernel) FAIL(kernel.error().text());
  return kernel->ptx;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("sm_100a kernels are made of tcgen05, TMA and mbarriers") {
  for (const std::string& plan : plan_names(Arch::sm_100a)) {
    INFO(plan);
    const std::string ptx = ptx_of(Arch::sm_100a, plan);
    CHECK_THAT(ptx, Contains(".target sm_100a"));
    for (const char* part : {"tcgen05.alloc.", "tcgen05.relinquish_alloc_permit.", "tcgen05.dealloc.", "tcgen05.mma.",
                             "tcgen05.ld.", "tcgen05.wait::ld", "tcgen05.commit.", "cp.async.bulk.tensor.3d.",
                             "cp.async.bulk.tensor.2d.", "mbarrier.init.", "mbarrier.try_wait.parity."}) {
      CHECK_THAT(ptx, Contains(part));
    }
  }
  const std::string ptx = ptx_of(Arch::sm_100a, "q_resident");
  CHECK(count(ptx, "fma.rn.f32x2") == 2 * 64);  // both halves of a tile, two columns an instruction
  CHECK(count(ptx, "max.NaN.f32") == 2 * 8);  // for one pair of 16, to spare the FMA pipe
  CHECK(count(ptx, "tcgen05.ld.sync.aligned.32x32b.x64") == 2 * 2);
  const std::string resident_keys = ptx_of(Arch::sm_100a, "k_resident");
  CHECK(count(resident_keys, "fma.rn.f32x2") == 64);  // one subtile
  CHECK(count(resident_keys, "tcgen05.ld.sync.aligned.32x32b.x64") == 2);
}

TEST_CASE("sm_90a kernels are made of wgmma, TMA and mbarriers") {
  for (const std::string& plan : plan_names(Arch::sm_90a)) {
    INFO(plan);
    const std::string ptx = ptx_of(Arch::sm_90a, plan);
    CHECK_THAT(ptx, Contains(".target sm_90a"));
    CHECK(count(ptx, "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3") == 8);
    for (const char* part : {"wgmma.fence.", "wgmma.commit_group.", "wgmma.wait_group.", "cp.async.bulk.tensor.4d.",
                             "cp.async.bulk.tensor.2d.", "mbarrier.init.", "setmaxnreg.inc.", "setmaxnreg.dec."}) {
      CHECK_THAT(ptx, Contains(part));
    }
  }
}

TEST_CASE("a bf16 fold takes one conversion and one multiply-add for two columns") {
  Spec spec;
  spec.fold = FoldType::bf16;
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(config_from_environment());
  for (Arch arch : all_archs) {
    spec.arch = arch;
    const Result<ptx::Artifact> kernel = compiled(*compiler, spec, make_plan(spec, "q_resident").value());
    if (!kernel) FAIL(kernel.error().text());
    const int pairs = arch == Arch::sm_90a ? 64 : 128;  // a token at two keys; 128 columns of both halves of a tile
    CHECK(count(kernel->ptx, "cvt.rn.relu.bf16x2.f32") == pairs);
    CHECK(count(kernel->ptx, "fma.rn.bf16x2") == pairs);
    CHECK(count(kernel->ptx, "max.NaN.f32") + count(kernel->ptx, "abs.f32") == 0);
  }
}

TEST_CASE("the same spec compiles to the same bytes") {
  CHECK(ptx_of(Arch::sm_90a, "q_resident") == ptx_of(Arch::sm_90a, "q_resident"));
}
