// Bulk copies beyond the plain tile load: stores and their groups, linear copies, multicast.
#include "tests/emulator/ptx_program.h"

using namespace mlaindex;
using namespace mlaindex::emulator;

namespace {

TensorMapParams words_map(const void* data, std::uint64_t width, std::uint64_t height, std::uint32_t box_height) {
  TensorMapParams map;
  map.address = reinterpret_cast<std::uintptr_t>(data);
  map.rank = 2;
  map.dims = {width, height};
  map.strides = {128};
  map.box = {32, box_height};
  map.type = TensorMapType::u32;
  map.swizzle = TensorMapSwizzle::b128;
  return map;
}

const std::string kInit =
    "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; mov.u32 %r10, smem; add.u32 %r11, %r10, 8192; mov.b64 %rd1, map0; cvta.param.u64 %rd2, %rd1;"
    " @%p1 mbarrier.init.shared::cta.b64 [%r11], 1; fence.mbarrier_init.release.cluster; bar.sync 0;\n";

}  // namespace

TEST_CASE("A tensor store unswizzles, clips at the tensor's edge and is waited for by group") {
  // Two rows of 32 words; the map ends after 20 columns and 3 rows, so row 3 and columns 20.. stay.
  const std::string store =
      kInit +
      "shl.b32 %r3, %r2, 2; add.u32 %r4, %r10, %r3; add.u32 %r5, %r2, 100; st.shared.u32 [%r4], %r5;"
      // Row 1 lies 128 bytes further; its 16-byte cells are swapped in pairs by the swizzle.
      " xor.b32 %r6, %r3, 16; add.u32 %r7, %r10, %r6; add.u32 %r8, %r2, 200; st.shared.u32 [%r7+128], %r8; FENCE bar.sync 0;"
      " @!%p1 bra END; cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {0, 2}], [%r10]; cp.async.bulk.commit_group;"
      " cp.async.bulk.wait_group.read 0; WAIT END:";
  const auto with = [&](const std::string& fence, const std::string& wait) {
    std::string body = store;
    body.replace(body.find("FENCE"), 5, fence);
    body.replace(body.find("WAIT"), 4, wait);
    return body;
  };
  for (const std::uint64_t seed : {0, 1, 4}) {
    PtxProgram program;
    program.out.assign(1024, 7);
    // The map's own address must be 16-byte aligned: use the first aligned word of `out`.
    const auto base = reinterpret_cast<std::uintptr_t>(program.out.data());
    const std::size_t skip = (16 - base % 16) % 16 / 4;
    program.maps = {words_map(program.out.data() + skip, 20, 3, 2)};
    program.options.seed = seed;
    program.body = with("fence.proxy.async.shared::cta;", "cp.async.bulk.wait_group 0;");
    program.run_clean();
    CHECK(program.out[skip + 2 * 32] == 100);
    CHECK(program.out[skip + 2 * 32 + 19] == 119);
    CHECK(program.out[skip + 2 * 32 + 20] == 7);
    CHECK(program.out[skip + 3 * 32] == 7);
    program.body = with("", "cp.async.bulk.wait_group 0;");
    CHECK(found(program.run(), FaultKind::proxy_hazard));
  }
  PtxProgram unfinished;
  unfinished.maps = {words_map(unfinished.out.data() + (16 - reinterpret_cast<std::uintptr_t>(unfinished.out.data()) % 16) % 16 / 4, 20, 3, 2)};
  unfinished.options.seed = 1;
  unfinished.body = with("fence.proxy.async.shared::cta;", "");
  CHECK(found(unfinished.run(), FaultKind::unfinished_work));
}

namespace {

// Rows of 16 bytes under the 64-byte swizzle: one span apart, and their cells move with address bits 7-8.
TensorMapParams short_rows_map(const void* data) {
  TensorMapParams map = words_map(data, 4, 4, 4);
  map.strides = {16};
  map.box = {4, 4};
  map.swizzle = TensorMapSwizzle::b64;
  return map;
}

constexpr std::uint32_t kShortRowOffsets[] = {144, 208, 288, 352};  // of a box at 128

// Loads the box to an offset and waits.
std::string load_short_rows(std::uint32_t offset) {
  return kInit + "add.u32 %r13, %r10, " + std::to_string(offset) +
         "; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 64;"
         " @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r13], [%rd2, {0, 0}], [%r11];"
         " W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0; @!%p2 bra W;";
}

}  // namespace

TEST_CASE("Box rows shorter than the swizzle span lie one span apart") {
  alignas(128) static std::uint32_t data[16];
  for (std::uint32_t i = 0; i < 16; ++i) data[i] = 100 + i;
  for (const std::uint64_t seed : {0, 1, 5}) {
    PtxProgram program;
    program.options.seed = seed;
    program.maps = {short_rows_map(data)};
    program.inputs = {{data, sizeof data}};
    for (std::uint32_t row = 0; row < 4; ++row) {
      program.body = load_short_rows(128) + "ld.shared.u32 %r1, [smem+" + std::to_string(kShortRowOffsets[row] + 4) + "];" + kStoreResult;
      program.run_clean();
      CHECK(program.out[0] == 101 + 4 * row);
    }
    program.body = load_short_rows(128) + "ld.shared.u32 %r1, [smem+128];";  // between the rows
    CHECK(found(program.run(), FaultKind::uninitialised_read));
    program.body = load_short_rows(16384 - 128);  // the box takes 256 bytes
    CHECK(found(program.run(), FaultKind::out_of_bounds));
  }
}

TEST_CASE("Starts, fills and stores that an H200 refuses or nobody measured are faults") {
  alignas(128) static std::uint32_t data[16];
  PtxProgram load;
  load.inputs = {{data, sizeof data}};
  const auto with = [&](const TensorMapParams& map, const std::string& start) {
    load.maps = {map};
    load.body = load_short_rows(128);
    load.body.replace(load.body.find("{0, 0}"), 6, start);
    return load.run();
  };
  CHECK(with(short_rows_map(data), "{-4, -1}").clean());
  for (const char* start : {"{1, 0}", "{2, 0}", "{-3, 0}", "{5, 1}"}) {
    const RunReport report = with(short_rows_map(data), start);
    REQUIRE(found(report, FaultKind::illegal_operand));
    CHECK(report.faults[0].message.find("a multiple of 16 bytes is needed") != std::string::npos);
  }
  TensorMapParams nan = short_rows_map(data);
  nan.type = TensorMapType::f32;
  nan.fill = TensorMapFill::nan;
  load.maps = {nan};
  load.body = load_short_rows(128) + "ld.shared.u32 %r1, [smem+144];" + kStoreResult;
  load.body.replace(load.body.find("{0, 0}"), 6, "{4, 0}");
  load.run_clean();
  CHECK(load.out[0] == 0x7ff77ff7);
  nan.type = TensorMapType::tf32;
  CHECK(found(with(nan, "{4, 0}"), FaultKind::illegal_operand));

  PtxProgram store;
  const auto base = reinterpret_cast<std::uintptr_t>(store.out.data());
  const auto skip = static_cast<std::size_t>((16 - base % 16) % 16 / 4);
  const auto stores = [&](TensorMapParams map, const std::string& start) {
    map.address += 4 * skip;
    store.maps = {map};
    store.body = kInit + "@%p1 st.shared.v4.u32 [%r10], {%r2, %r10, %r10, %r10}; fence.proxy.async.shared::cta; bar.sync 0; @!%p1 bra END;"
                 " cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, " + start +
                 "], [%r10]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END:";
    return store.run();
  };
  TensorMapParams row = words_map(store.out.data(), 6, 2, 1);
  row.box = {4, 1};
  row.swizzle = TensorMapSwizzle::none;
  CHECK(stores(row, "{0, 0}").clean());
  for (const char* start : {"{-4, 0}", "{0, -1}", "{2, 0}"}) CHECK(found(stores(row, start), FaultKind::illegal_operand));
  CHECK(found(stores(short_rows_map(store.out.data()), "{0, 0}"), FaultKind::illegal_operand));
  // Two words of this piece lie inside the tensor: all four are written.
  store.out.assign(1024, 7);
  REQUIRE(stores(row, "{4, 0}").clean());
  CHECK(store.out[skip + 3] == 7);
  for (std::size_t word = 4; word < 8; ++word) CHECK(store.out[skip + word] != 7);
  CHECK(store.out[skip + 8] == 7);
}

TEST_CASE("Linear bulk copies move bytes both ways") {
  alignas(16) static std::uint32_t data[64];
  for (std::uint32_t i = 0; i < 64; ++i) data[i] = 1000 + i;
  PtxProgram program;
  program.maps = {words_map(data, 32, 2, 1)};
  program.inputs = {{data, sizeof data}};
  const auto base = reinterpret_cast<std::uintptr_t>(program.out.data());
  const auto skip = static_cast<std::size_t>((16 - base % 16) % 16 / 4);
  const std::string source = std::to_string(reinterpret_cast<std::uintptr_t>(data));
  const std::string body =
      kInit + "@!%p1 bra END; mov.u64 %rd5, " + source +
      "; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 256;"
      " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd5], 256, [%r11];"
      " W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0; @!%p2 bra W; add.s64 %rd6, %rd0, " + std::to_string(4 * skip) +
      "; cp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r10], SIZE; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END:";
  program.body = body;
  program.body.replace(program.body.find("SIZE"), 4, "256");
  program.run_clean();
  CHECK(program.out[skip] == 1000);
  CHECK(program.out[skip + 63] == 1063);
  program.body = body;
  program.body.replace(program.body.find("SIZE"), 4, "20");
  CHECK(found(program.run(), FaultKind::illegal_operand));
}

TEST_CASE("A multicast load reaches every CTA of the mask and its barrier") {
  alignas(128) static std::uint32_t data[64];
  for (std::uint32_t i = 0; i < 64; ++i) data[i] = 5 * i;
  for (const std::uint64_t seed : {0, 1, 6}) {
    PtxProgram program;
    program.ctas = 2;
    program.cluster = 2;
    program.options.seed = seed;
    program.maps = {words_map(data, 32, 2, 2)};
    program.inputs = {{data, sizeof data}};
    program.body = kInit +
        "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 256; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
        " mov.u32 %r20, %cluster_ctarank; setp.eq.and.u32 %p3, %r20, 0, %p1; mov.u16 %rs1, 3;"
        " @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r10], [%rd2, {0, 0}], [%r11], %rs1;"
        " W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0; @!%p2 bra W; ld.shared.u32 %r1, [%r10+4];"
        " mul.wide.u32 %rd60, %r20, 4; add.s64 %rd61, %rd0, %rd60; @%p1 st.global.u32 [%rd61], %r1;"
        " barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    program.run_clean();
    CHECK(program.out[0] == 5);
    CHECK(program.out[1] == 5);
  }
}

TEST_CASE("A running CTA takes over the clusters that have not started") {
  PtxProgram program;
  program.ctas = 6;
  program.threads = 32;
  program.body =
      "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; mov.u32 %r10, smem; add.u32 %r11, %r10, 64; mov.u32 %r12, %ctaid.x; mov.u32 %r13, 0;"
      " @%p1 mbarrier.init.shared::cta.b64 [%r11], 1; fence.mbarrier_init.release.cluster; bar.sync 0;"
      " LOOP: mul.wide.u32 %rd60, %r12, 4; add.s64 %rd61, %rd0, %rd60; add.u32 %r14, %r12, 10; @%p1 st.global.u32 [%rd61], %r14;"
      " @%p1 fence.proxy.async.shared::cta; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 16;"
      " @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r10], [%r11];"
      " W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], %r13; @!%p2 bra W; xor.b32 %r13, %r13, 1;"
      " { .reg .b128 response; ld.shared.b128 response, [%r10]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, response;"
      " @!%p4 bra DONE; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r12, response; }"
      " fence.proxy.async.shared::cta; bar.warp.sync -1; bra LOOP; DONE:";
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    program.options.seed = seed;
    program.out.assign(1024, 0);
    program.run_clean();
    for (std::uint32_t i = 0; i < 6; ++i) CHECK(program.out[i] == i + 10);
  }
}
