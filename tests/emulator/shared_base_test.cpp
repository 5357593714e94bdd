// Where shared memory begins, and kernels that lean on more alignment than they declare.
#include "tests/emulator/ptx_program.h"

using namespace mlaindex;
using namespace mlaindex::emulator;

namespace {

alignas(128) std::uint32_t tile[8 * 32];

// Loads a tile of 8 rows of 128 bytes by TMA under the 128-byte swizzle; thread t reads cell 3, the one of 16
// bytes, of row t / 4 and stores its word t % 4. The swizzle moves cells by absolute address bits 7-9, which
// %r20 holds: of the address, or, where the kernel takes its array to be aligned to 1024 bytes, of the offset.
PtxProgram swizzled_reader(int declared_alignment, bool by_address) {
  for (std::uint32_t i = 0; i < 8 * 32; ++i) tile[i] = i;
  TensorMapParams map;
  map.address = reinterpret_cast<std::uintptr_t>(tile);
  map.rank = 2;
  map.dims = {32, 8};
  map.strides = {128};
  map.box = {32, 8};
  map.type = TensorMapType::u32;
  map.swizzle = TensorMapSwizzle::b128;
  PtxProgram program;
  program.shared = ".extern .shared .align " + std::to_string(declared_alignment) + " .b8 smem[];";
  program.dynamic_shared_bytes = 2048;
  program.maps = {map};
  program.inputs = {{tile, sizeof tile}};
  program.body =
      "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; mov.b64 %rd1, map0; cvta.param.u64 %rd2, %rd1; mov.u32 %r10, smem;"
      " @%p1 mbarrier.init.shared::cta.b64 [%r10+1024], 1; fence.mbarrier_init.release.cluster; bar.warp.sync -1;"
      " @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10+1024], 1024;"
      " @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {0, 0}], [%r10+1024];"
      " W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r10+1024], 0; @!%p2 bra W;"
      " shr.u32 %r3, %r2, 2; shl.b32 %r4, %r3, 7; add.u32 %r5, %r10, %r4; and.b32 %r6, %r2, 3; shl.b32 %r6, %r6, 2;"
      " mov.u32 %r20, " + std::string(by_address ? "%r5" : "%r4") + "; shr.u32 %r20, %r20, 3; and.b32 %r20, %r20, 112;"
      " xor.b32 %r20, %r20, 48; add.u32 %r5, %r5, %r20; add.u32 %r5, %r5, %r6; ld.shared.u32 %r1, [%r5];" +
      std::string(kStoreResult);
  return program;
}

bool reads_right(PtxProgram program, std::uint32_t base) {
  program.options.shared_base = base;
  program.run_clean();
  for (std::uint32_t t = 0; t < 32; ++t)
    if (program.out[t] != t / 4 * 32 + 3 * 4 + t % 4) return false;
  return true;
}

}  // namespace

TEST_CASE("A kernel that leans on the alignment it declares is right wherever shared memory begins") {
  for (const std::uint32_t base : {0x400u, 0x410u, 0x480u, 0x600u}) {
    CHECK(reads_right(swizzled_reader(1024, false), base));  // its array begins at 0x400 or 0x800
    CHECK(reads_right(swizzled_reader(128, true), base));
  }
}

TEST_CASE("A kernel that leans on more alignment than it declares is found at another start of shared memory") {
  CHECK(reads_right(swizzled_reader(128, false), 0x400));
  CHECK_FALSE(reads_right(swizzled_reader(128, false), 0x480));
  CHECK(reads_right(swizzled_reader(512, false), 0x400));
  CHECK_FALSE(reads_right(swizzled_reader(512, false), 0x480));  // at 0x600
}

TEST_CASE("The array begins at its declared alignment, behind static data") {
  PtxProgram program;
  program.dynamic_shared_bytes = 64;
  program.body = std::string("mov.u32 %r2, few; st.shared.u8 [%r2], 0; mov.u32 %r1, smem;") + kStoreResult;
  struct Place {
    std::uint32_t base, alignment, start;
  };
  for (const Place& place : {Place{0x400, 16, 0x410}, {0x400, 128, 0x480}, {0x400, 1024, 0x800}, {0x480, 16, 0x490},
                             {0x480, 128, 0x500}, {0x480, 1024, 0x800}, {0x800, 1024, 0xC00}}) {
    program.shared = ".shared .align 4 .b8 few[12];\n.extern .shared .align " + std::to_string(place.alignment) + " .b8 smem[];";
    program.options.shared_base = place.base;
    program.run_clean();
    CHECK(program.out[0] == place.start);
  }
}

TEST_CASE("An array that its alignment pushes over the end of shared memory is refused with the numbers") {
  PtxProgram program;
  program.body = "mov.u32 %r1, smem;";
  program.shared = ".extern .shared .align 1024 .b8 smem[];";
  const auto module = ptx::parse(program.text(), "test.ptx");
  REQUIRE(module.ok());
  GlobalMemory memory;
  LaunchSpec launch;
  launch.module = &*module;
  launch.memory = &memory;
  launch.entry = "k";
  launch.params.resize(8);
  launch.dynamic_shared_bytes = 232448;
  launch.block.x = 32;
  CHECK(emulator::run(launch).ok());
  launch.options.shared_base = 0x480;
  const auto refused = emulator::run(launch);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "launch: 233344 bytes of shared memory: 232448 dynamic ones, which the declared "
                                   "alignment puts at 0x800, behind what begins at 0x480");
}
