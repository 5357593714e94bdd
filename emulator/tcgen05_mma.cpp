// tcgen05.mma: D in tensor memory, B in shared memory, A in either.
#include <algorithm>

#include "emulator/tcgen05.h"
#include "emulator/tcgen05_mma.h"

namespace mlaindex::emulator {
namespace {

// Operands of the decoded instruction, in this order; addresses: D, {A}, {SFA, SFB}.
enum Index : std::size_t { kA, kB, kDescriptor, kEnable, kMask };

bool shared_descriptor(Execution& x, std::size_t operand, MatrixDescriptor& out) {
  const std::uint64_t bits = x.source<std::uint64_t>(operand)[x.lowest_lane()];
  const Result<MatrixDescriptor> d = decode_tcgen05_descriptor(bits);
  if (!d.ok()) {
    x.fault(FaultKind::illegal_operand, d.error().text());
    return false;
  }
  out = *d;
  return true;
}

bool check_span(Execution& x, const SharedSpan& span, const char* name) {
  if (span.inside) return true;
  x.fault(FaultKind::out_of_bounds, std::string(name) + " reaches shared " + hex(span.first) + " to " +
                                        hex(span.first + span.bytes) + ", outside the CTA");
  return false;
}

bool check_columns(Execution& x, const Cta& cta, const TensorRegion& r, const char* name) {
  if (cta.tensor.allocated(r.first_column, r.columns)) return true;
  x.fault(FaultKind::out_of_bounds, std::string(name) + " in tensor memory columns " + std::to_string(r.first_column) + " to " +
                                        std::to_string(r.first_column + r.columns - 1) + " is not in one allocation");
  return false;
}

bool place_d(Execution& x, MmaWork& w) {
  const std::uint64_t address = x.address(x.in.addresses[0], x.lowest_lane());
  w.d_column = static_cast<std::uint32_t>(address & 0xFFFF);
  w.d_lane = static_cast<std::uint32_t>(address >> 16) & 0xFFFF;
  const bool half = w.settings.cta_group == 1 && w.instruction.m == 64;
  if (w.d_lane != 0 && !(half && w.d_lane == 16)) {
    x.fault(FaultKind::illegal_operand, "D at lane " + std::to_string(w.d_lane) + (half ? "; allowed: 0, 16" : "; allowed: 0"));
    return false;
  }
  const bool split = w.settings.cta_group == 2 && w.instruction.m == 128;
  for (MmaPart& p : w.parts) {
    p.d = {0, 128, w.d_column, split ? w.instruction.n / 2 : w.instruction.n};
    if (!check_columns(x, *p.cta, p.d, "D")) return false;
  }
  return true;
}

bool place_scales(Execution& x, MmaWork& w) {
  const std::size_t first = w.settings.a_in_tensor_memory ? 2 : 1;
  const unsigned lane = x.lowest_lane();
  TensorRegion* regions[] = {&w.scale_a, &w.scale_b};
  const std::uint32_t rows[] = {w.instruction.m, w.instruction.n};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint64_t address = x.address(x.in.addresses[first + i], lane);
    *regions[i] = {0, 128, static_cast<std::uint32_t>(address & 0xFFFF), (rows[i] + 31) / 32};
    if (!check_columns(x, x.cta(), *regions[i], i == 0 ? "SFA" : "SFB")) return false;
    x.hazard(x.cta().tensor.begin_operand(*regions[i], w.who));
  }
  return true;
}

// Checks and marks everything the operation reads and writes until it completes.
bool begin(Execution& x, MmaWork& w) {
  const auto parts = static_cast<std::uint32_t>(w.parts.size());
  for (MmaPart& p : w.parts) {
    Actor who = x.actor();
    if (p.cta != &x.cta()) who.proxy_fence = who.now;  // the peer's writers are ordered by its own signals
    p.b = span_of(w.b, 0, w.instruction.n / parts, p.cta->shared);
    if (!check_span(x, p.b, "B")) return false;
    if (w.settings.a_in_tensor_memory) {
      p.a_region = {0, 128, w.a_column, 8};
      if (!check_columns(x, *p.cta, p.a_region, "A")) return false;
      x.hazard(p.cta->tensor.begin_operand(p.a_region, w.who));
    } else {
      p.a = span_of(w.a, 0, w.instruction.m / parts, p.cta->shared);
      if (!check_span(x, p.a, "A")) return false;
      x.hazard(p.cta->shared.begin_async_read(p.a.first, p.a.bytes, who));
    }
    x.hazard(p.cta->shared.begin_async_read(p.b.first, p.b.bytes, who));
    x.hazard(p.cta->tensor.begin_write(p.d, TensorWriter::tensor_core, w.who, x.warp.fence_after, p.cta->fence_before));
  }
  return !w.settings.block_scaled || place_scales(x, w);
}

Step mma(Execution& x) {
  if (!single_lane(x)) return Step::fatal;
  const unsigned lane = x.lowest_lane();
  for (const AddressOperand& a : x.in.addresses) x.require_written(a);
  MmaWork w;
  w.settings = x.in.settings<MmaSettings>();
  w.warp = &x.warp;
  w.who = tensor_actor(x);
  const std::uint32_t bits = x.source<std::uint32_t>(kDescriptor)[lane];
  const auto instruction = decode_instruction_descriptor(bits, w.settings.kind, w.settings.cta_group);
  if (!instruction.ok()) return x.fault(FaultKind::illegal_operand, instruction.error().text());
  w.instruction = *instruction;
  const bool plain_bytes = w.settings.kind != MmaKind::f8f6f4 && w.settings.kind != MmaKind::mxf8f6f4;
  if (!plain_bytes && (w.instruction.a > NumberFormat::e5m2 || w.instruction.b > NumberFormat::e5m2))
    return x.fault(FaultKind::illegal_operand, "6- and 4-bit formats in 8-bit containers are not modelled");
  if (w.settings.block_scaled && w.settings.cta_group == 2)
    return x.fault(FaultKind::illegal_operand, "block scales with cta_group::2 are not modelled");
  for (Cta* cta : group_ctas(x, w.settings.cta_group)) w.parts.push_back({.cta = cta, .a = {}, .b = {}, .d = {}, .a_region = {}});
  if (w.parts.empty()) return Step::fatal;
  if (!w.settings.a_in_tensor_memory && !shared_descriptor(x, kA, w.a)) return Step::fatal;
  if (w.settings.a_in_tensor_memory) w.a_column = static_cast<std::uint32_t>(x.address(x.in.addresses[1], lane) & 0xFFFF);
  if (!shared_descriptor(x, kB, w.b)) return Step::fatal;
  w.accumulate = (x.predicate(x.in.operands[kEnable]) >> lane) & 1;
  for (std::size_t i = 0; i < w.settings.mask_words; ++i) w.disabled[i] = x.source<std::uint32_t>(kMask + i)[lane];
  if (!place_d(x, w) || !begin(x, w)) return Step::fatal;

  AsyncOperation op = x.operation("MMA");
  std::erase_if(x.warp.tensor_operations, [&](std::uint64_t id) { return !x.cluster().async.pending(id); });
  op.after = x.warp.tensor_operations;
  op.complete = [work = std::move(w)] { multiply(work); };
  x.warp.tensor_operations.push_back(x.cluster().async.add(std::move(op)));
  return Step::next;
}

bool take_kind(InstructionDecoder& d, MmaSettings& s) {
  if (d.take("kind::f8f6f4")) s.kind = MmaKind::f8f6f4;
  else if (d.take("kind::f16")) s.kind = MmaKind::f16;
  else if (d.take("kind::mxf8f6f4")) s.kind = MmaKind::mxf8f6f4;
  else if (d.take("kind::mxf4")) s.kind = MmaKind::mxf4;
  else return false;
  s.block_scaled = s.kind == MmaKind::mxf8f6f4 || s.kind == MmaKind::mxf4;
  if (s.block_scaled != d.take("block_scale")) return false;
  if (s.kind == MmaKind::mxf8f6f4) (void)d.take_any({"scale_vec::1X", "block32"});
  if (s.kind == MmaKind::mxf4) (void)d.take_any({"scale_vec::2X", "block32"});
  return true;
}

}  // namespace

void decode_tcgen05_mma(InstructionDecoder& d) {
  MmaSettings s{};
  s.cta_group = static_cast<std::uint8_t>(take_cta_group(d));
  if (!take_kind(d, s)) return d.fail("kinds f8f6f4, f16, mxf8f6f4 and mxf4 are modelled");
  d.ignore({"collector::a::fill", "collector::a::use", "collector::a::lastuse", "collector::a::discard"});
  // [d], a, b, idesc, {[sfa], [sfb]}, {mask}, p, {scale}
  auto& out = d.out();
  out.addresses.push_back(d.address(0));
  s.a_in_tensor_memory = d.tensor_address(1) != nullptr;
  if (s.a_in_tensor_memory) {
    out.addresses.push_back(d.address(1));
    out.operands.push_back({.none = true});
  } else {
    d.add(1, 8);
  }
  d.add(2, 8);
  d.add(3, 4);
  std::size_t at = 4;
  if (s.block_scaled) {
    out.addresses.push_back(d.address(at++));
    out.addresses.push_back(d.address(at++));
  }
  std::vector<const ptx::Operand*> mask;
  if (at < d.num_operands() && d.source().operands[at].as<ptx::OperandList>() != nullptr) mask = d.elements(at++);
  if (!mask.empty() && (s.block_scaled || mask.size() != (s.cta_group == 1 ? 4u : 8u)))
    return d.fail("a lane mask of " + std::to_string(mask.size()) + " words");
  if (!mask.empty() && s.cta_group == 2) return d.fail("the order of a cta_group::2 lane mask is not settled by any source");
  out.operands.push_back(d.predicate(at++));
  for (const ptx::Operand* word : mask) out.operands.push_back(d.value(*word, 4));
  s.mask_words = static_cast<std::uint8_t>(mask.size());
  if (at < d.num_operands()) {
    const auto scale = d.integer(at++);
    if (!scale || *scale < 0 || *scale > 15 || s.kind != MmaKind::f16) return d.fail("the input scale must be 0 to 15, of kind::f16");
    s.input_scale = static_cast<std::uint8_t>(*scale);
  }
  if (at != d.num_operands()) return d.fail("operands are left over");
  out.set(s);
  d.handler(mma);
}

}  // namespace mlaindex::emulator
