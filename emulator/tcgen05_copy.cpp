// tcgen05.cp: rows of shared memory into tensor memory.
#include <algorithm>

#include "emulator/lane_ops.h"
#include "emulator/matrix_descriptor.h"
#include "emulator/tcgen05.h"

namespace mlaindex::emulator {
namespace {

// How source rows spread over lanes.
enum class Spread : std::uint8_t { lanes128, lanes4, warpx2_02_13, warpx2_01_23, warpx4 };

struct CopySettings {
  Spread spread;
  std::uint8_t cta_group, cells;   // 16-byte cells of a row
  std::uint8_t rows;
};

struct Work {
  std::vector<Cta*> ctas;
  CopySettings s;
  MatrixDescriptor source;
  std::uint32_t first, bytes;      // span in shared memory
  TensorRegion region;
  Warp* warp;
  Actor who;
};

// The lanes that source row `row` goes to.
std::vector<std::uint32_t> lanes_of(Spread spread, std::uint32_t row) {
  switch (spread) {
    case Spread::lanes128: return {row};
    case Spread::lanes4: return {32 * row};
    case Spread::warpx2_02_13: return {row, row + 64};
    case Spread::warpx2_01_23: return row < 32 ? std::vector{row, row + 32} : std::vector{row + 32, row + 64};
    case Spread::warpx4: return {row, row + 32, row + 64, row + 96};
  }
  return {};
}

void copy(const Work& w) {
  for (Cta* cta : w.ctas) {
    for (std::uint32_t row = 0; row < w.s.rows; ++row)
      for (std::uint32_t cell = 0; cell < w.s.cells; ++cell) {
        const std::uint32_t at = byte_address(w.source, row, cell * 16);
        if (!cta->shared.initialised(at, 16))
          w.warp->cta.report(FaultKind::uninitialised_read, false, w.warp,
                             "tcgen05.cp row " + std::to_string(row) + " at shared " + hex(at) + " was never written", w.who.line);
        for (const std::uint32_t lane : lanes_of(w.s.spread, row)) {
          std::memcpy(cta->tensor.row(lane) + w.region.first_column + 4 * cell, cta->shared.at(at), 16);
          cta->tensor.set_initialised(lane, w.region.first_column + 4 * cell, 4);
        }
      }
    cta->shared.end_async_read(w.first, w.bytes);
    Actor done = w.who;
    done.now = w.warp->cta.cluster.now;
    cta->tensor.end_write(w.region, TensorWriter::copy, done);
  }
}

Step issue(Execution& x) {
  if (!single_lane(x)) return Step::fatal;
  const unsigned lane = x.lowest_lane();
  x.require_written(x.in.addresses[0]);
  Work w;
  w.s = x.in.settings<CopySettings>();
  w.warp = &x.warp;
  w.who = tensor_actor(x);
  w.ctas = group_ctas(x, w.s.cta_group);
  if (w.ctas.empty()) return Step::fatal;
  const auto descriptor = decode_tcgen05_descriptor(x.source<std::uint64_t>(0)[lane]);
  if (!descriptor.ok()) return x.fault(FaultKind::illegal_operand, descriptor.error().text());
  w.source = *descriptor;
  const std::uint64_t address = x.address(x.in.addresses[0], lane);
  if (address >> 16 != 0) return x.fault(FaultKind::illegal_operand, "tcgen05.cp to lane " + std::to_string(address >> 16) + "; 0 is needed");
  w.region = {0, 128, static_cast<std::uint32_t>(address), w.s.cells * 4u};
  std::uint32_t first = ~0u, last = 0;
  for (std::uint32_t row = 0; row < w.s.rows; ++row)
    for (std::uint32_t cell = 0; cell < w.s.cells; ++cell) {
      const std::uint32_t at = byte_address(w.source, row, cell * 16);
      first = std::min(first, at);
      last = std::max(last, at + 16);
    }
  w.first = first;
  w.bytes = last - first;
  for (Cta* cta : w.ctas) {
    if (!cta->tensor.allocated(w.region.first_column, w.region.columns))
      return x.fault(FaultKind::out_of_bounds, "tcgen05.cp to columns from " + std::to_string(w.region.first_column) +
                                                   ", not in one allocation");
    if (!cta->shared.contains(first, w.bytes))
      return x.fault(FaultKind::out_of_bounds, "tcgen05.cp from shared " + hex(first) + " to " + hex(last) + ", outside the CTA");
    Actor who = x.actor();
    if (cta != &x.cta()) who.proxy_fence = who.now;
    x.hazard(cta->shared.begin_async_read(first, w.bytes, who));
    x.hazard(cta->tensor.begin_write(w.region, TensorWriter::copy, w.who, x.warp.fence_after, cta->fence_before));
  }
  AsyncOperation op = x.operation("tcgen05.cp");
  std::erase_if(x.warp.tensor_operations, [&](std::uint64_t id) { return !x.cluster().async.pending(id); });
  op.after = x.warp.tensor_operations;
  op.complete = [work = std::move(w)] { copy(work); };
  x.warp.tensor_operations.push_back(x.cluster().async.add(std::move(op)));
  return Step::next;
}

}  // namespace

void decode_tcgen05_copy(InstructionDecoder& d) {
  CopySettings s{};
  s.cta_group = static_cast<std::uint8_t>(take_cta_group(d));
  if (d.take("128x256b")) s = {Spread::lanes128, s.cta_group, 2, 128};
  else if (d.take("128x128b")) s = {Spread::lanes128, s.cta_group, 1, 128};
  else if (d.take("4x256b")) s = {Spread::lanes4, s.cta_group, 2, 4};
  else if (d.take("32x128b") && d.take("warpx4")) s = {Spread::warpx4, s.cta_group, 1, 32};
  else if (d.take("64x128b")) {
    if (d.take("warpx2::02_13")) s = {Spread::warpx2_02_13, s.cta_group, 1, 64};
    else if (d.take("warpx2::01_23")) s = {Spread::warpx2_01_23, s.cta_group, 1, 64};
    else return;
  } else {
    return d.fail("the shape is not modelled");
  }
  d.out().addresses.push_back(d.address(0));
  d.add(1, 8);
  d.out().set(s);
  d.handler(issue);
}

}  // namespace mlaindex::emulator
