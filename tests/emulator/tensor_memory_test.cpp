// Tensor memory: allocation, the shapes of tcgen05.ld and st, cp, and work of a CTA pair.
#include "tests/emulator/ptx_program.h"

#include "emulator/number_format.h"
#include "emulator/tensor_memory.h"

using namespace mlaindex;
using namespace mlaindex::emulator;

TEST_CASE("Columns are allocated first fit, freed whole, and never grow") {
  TensorMemory tensor;
  CHECK(tensor.allocate(128).value() == std::optional<std::uint32_t>(0));
  CHECK(tensor.allocate(64).value() == std::optional<std::uint32_t>(128));
  CHECK_FALSE(tensor.allocate(128).ok());  // growth
  CHECK_FALSE(tensor.allocate(48).ok());
  CHECK_FALSE(tensor.allocate(16).ok());
  CHECK(tensor.allocated(100, 28));
  CHECK_FALSE(tensor.allocated(100, 29));  // spans two allocations
  CHECK_FALSE(tensor.deallocate(0, 64).ok());
  CHECK(tensor.deallocate(0, 128).ok());
  CHECK_FALSE(tensor.deallocate(0, 128).ok());
  CHECK(tensor.allocated_columns() == 64);
  tensor.relinquish();
  CHECK_FALSE(tensor.allocate(32).ok());
}

namespace {

// Every warp writes its lanes through 32x32b, cell (lane, column) = 1000 * lane + column, then reads
// them back through `shape` and stores register r of thread t to out[t * registers + r] from warp 1.
std::vector<std::uint32_t> read_through(const std::string& shape, unsigned registers, const std::string& extra = "") {
  PtxProgram program;
  program.threads = 128;
  std::string list, values, writes;
  for (unsigned r = 0; r < 16; ++r) {
    values += (r ? ", %r" : "%r") + std::to_string(100 + r);
    writes += "add.u32 %r" + std::to_string(100 + r) + ", %r9, " + std::to_string(r) + ";";
  }
  for (unsigned r = 0; r < registers; ++r) list += (r ? ", %r" : "%r") + std::to_string(200 + r);
  program.body =
      "mov.u32 %r2, %tid.x; setp.lt.u32 %p5, %r2, 32; @!%p5 bra NA; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32; NA:"
      " bar.sync 0; ld.shared.u32 %r20, [smem]; mul.lo.u32 %r9, %r2, 1000;" + writes +
      " tcgen05.st.sync.aligned.32x32b.x16.b32 [%r20], {" + values + "}; tcgen05.wait::st.sync.aligned;"
      " tcgen05.ld.sync.aligned." + shape + ".b32 {" + list + "}, [%r20]" + extra + "; tcgen05.wait::ld.sync.aligned;"
      " shr.u32 %r3, %r2, 5; setp.ne.u32 %p6, %r3, 1; @%p6 bra SKIP; and.b32 %r4, %r2, 31; mul.lo.u32 %r5, %r4, " + std::to_string(4 * registers) +
      "; cvt.u64.u32 %rd5, %r5; add.s64 %rd6, %rd0, %rd5;";
  for (unsigned r = 0; r < registers; ++r)
    program.body += "st.global.u32 [%rd6+" + std::to_string(4 * r) + "], %r" + std::to_string(200 + r) + ";";
  program.body += "SKIP: bar.sync 0; @!%p5 bra ND; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 32; ND:";
  program.options.seed = 1;
  program.run_clean();
  return program.out;
}

std::uint32_t cell(std::uint32_t lane, std::uint32_t column) { return 1000 * (32 + lane) + column; }  // of warp 1

}  // namespace

TEST_CASE("Each shape of tcgen05.ld sees its cells") {
  const auto a = read_through("16x64b.x4", 4);
  const auto b = read_through("16x128b.x2", 4);
  const auto c = read_through("16x256b.x2", 8);
  const auto d = read_through("32x32b.x8", 8);
  for (std::uint32_t t = 0; t < 32; ++t) {
    for (std::uint32_t r = 0; r < 4; ++r) {
      CHECK(a[t * 4 + r] == cell(8 * (t & 1) + (t >> 2), 2 * r + ((t >> 1) & 1)));
      CHECK(b[t * 4 + r] == cell((t >> 2) + 8 * (r & 1), 4 * (r >> 1) + (t & 3)));
    }
    for (std::uint32_t r = 0; r < 8; ++r) {
      CHECK(c[t * 8 + r] == cell((t >> 2) + 8 * ((r >> 1) & 1), 8 * (r >> 2) + 2 * (t & 3) + (r & 1)));
      CHECK(d[t * 8 + r] == cell(t, r));
    }
  }
}

TEST_CASE("A CTA pair multiplies with cta_group::2") {
  // M = 256: CTA r holds rows 128 r.. of A and of D, and columns 8 r.. of B.
  static std::uint8_t raw[(256 + 16) * 32 + 128];
  auto* a = raw + (128 - reinterpret_cast<std::uintptr_t>(raw) % 128) % 128;
  auto* b = a + 256 * 32;
  for (int i = 0; i < 256 * 32; ++i) a[i] = f32_to_e4m3(static_cast<float>((i * 5 + i / 32) % 7) - 3);
  for (int i = 0; i < 16 * 32; ++i) b[i] = f32_to_e4m3(static_cast<float>((i * 3 + i / 32) % 5) - 2);
  TensorMapParams map_a;
  map_a.rank = 2;
  map_a.strides = {32};
  map_a.swizzle = TensorMapSwizzle::b32;
  map_a.address = reinterpret_cast<std::uintptr_t>(a);
  map_a.dims = {32, 256};
  map_a.box = {32, 128};
  TensorMapParams map_b = map_a;
  map_b.address = reinterpret_cast<std::uintptr_t>(b);
  map_b.dims = {32, 16};
  map_b.box = {32, 8};
  for (const std::uint64_t seed : {0, 1, 2}) {
    PtxProgram program;
    program.out.resize(256 * 16);
    program.threads = 128;
    program.ctas = 2;
    program.cluster = 2;
    program.options.seed = seed;
    program.maps = {map_a, map_b};
    program.inputs = {{raw, sizeof raw}};
    program.body =
        "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; mov.u32 %r40, %cluster_ctarank; mov.u32 %r10, smem; add.u32 %r11, %r10, 4096; add.u32 %r12, %r10, 8192;"
        " add.u32 %r13, %r10, 8200; mov.b64 %rd1, map0; cvta.param.u64 %rd2, %rd1; mov.b64 %rd3, map1; cvta.param.u64 %rd4, %rd3;"
        " @%p1 mbarrier.init.shared::cta.b64 [%r12], 1; @%p1 mbarrier.init.shared::cta.b64 [%r13], 1; fence.mbarrier_init.release.cluster;"
        " setp.lt.u32 %p5, %r2, 32; @!%p5 bra NA; tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [smem+8208], 32; NA: bar.sync 0;"
        " ld.shared.u32 %r20, [smem+8208]; shl.b32 %r41, %r40, 7; shl.b32 %r42, %r40, 3;"
        " @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 4352;"
        " @%p1 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {0, %r41}], [%r12];"
        " @%p1 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r11], [%rd4, {0, %r42}], [%r12];"
        " WL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r12], 0; @!%p2 bra WL; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
        " and.b32 %r30, %r10, 0x3FFFF; shr.u32 %r22, %r30, 4; cvt.u64.u32 %rd5, %r22; or.b64 %rd6, %rd5, 0xC000401000000000;"
        " and.b32 %r31, %r11, 0x3FFFF; shr.u32 %r23, %r31, 4; cvt.u64.u32 %rd7, %r23; or.b64 %rd8, %rd7, 0xC000401000000000;"
        " mov.u32 %r21, 0x10040010; setp.eq.and.u32 %p7, %r40, 0, %p1; mov.u16 %rs1, 3;"
        " @%p7 tcgen05.mma.cta_group::2.kind::f8f6f4 [%r20], %rd6, %rd8, %r21, 0;"
        " @%p7 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r13], %rs1;"
        " WM: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r13], 0; @!%p3 bra WM; tcgen05.fence::after_thread_sync;"
        " tcgen05.ld.sync.aligned.32x32b.x16.b32 {%r100, %r101, %r102, %r103, %r104, %r105, %r106, %r107, %r108, %r109, %r110, %r111, %r112, %r113, %r114, %r115}, [%r20];"
        " tcgen05.wait::ld.sync.aligned; add.u32 %r50, %r41, %r2; mul.wide.u32 %rd10, %r50, 64; add.s64 %rd11, %rd0, %rd10;"
        " st.global.v4.u32 [%rd11], {%r100, %r101, %r102, %r103}; st.global.v4.u32 [%rd11+16], {%r104, %r105, %r106, %r107};"
        " st.global.v4.u32 [%rd11+32], {%r108, %r109, %r110, %r111}; st.global.v4.u32 [%rd11+48], {%r112, %r113, %r114, %r115};"
        " barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; @!%p5 bra ND; tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r20, 32; ND:";
    program.run_clean();
    const Decoded* table = decode_table(NumberFormat::e4m3);
    for (int m = 0; m < 256; m += 37)
      for (int n = 0; n < 16; ++n) {
        float want = 0;
        for (int k = 0; k < 32; ++k) want += table[a[m * 32 + k]].value * table[b[n * 32 + k]].value;
        CHECK(program.out_float(static_cast<std::size_t>(m * 16 + n)) == want);
      }
  }
}
