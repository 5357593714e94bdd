// wgmma (sm_90a): four warps of a warpgroup multiply a 64-row tile. Each warp computes its own 16 rows.
#include <algorithm>
#include <bit>
#include <charconv>

#include "emulator/lane_ops.h"
#include "emulator/matrix_descriptor.h"
#include "emulator/memory_access.h"
#include "emulator/mma_operand.h"

namespace mlaindex::emulator {
namespace {

constexpr std::uint32_t kRowsOfWarp = 16;

struct WgmmaSettings {
  NumberFormat a, b;
  std::uint32_t n, k;
  bool a_in_registers, negate_a, negate_b;
};

// Operands of the decoded instruction: D registers, then A registers or A descriptor, B descriptor, p.
std::size_t d_registers(const WgmmaSettings& s) { return s.n / 2; }

Step fence(Execution& x) {
  if (!x.gathered(kAllLanes)) return x.gather(kAllLanes);
  x.warp.wgmma_fence = x.now();
  return Step::next;
}

Step commit_group(Execution& x) {
  if (!x.gathered(kAllLanes)) return x.gather(kAllLanes);
  x.warp.wgmma_groups.push_back(std::move(x.warp.wgmma_open));
  x.warp.wgmma_open.clear();
  return Step::next;
}

Step wait_group(Execution& x) {
  if (!x.gathered(kAllLanes)) return x.gather(kAllLanes);
  const auto allowed = x.in.settings<std::uint32_t>();
  auto& groups = x.warp.wgmma_groups;
  for (std::size_t i = 0; i + allowed < groups.size(); ++i)
    for (const PendingRegisters& p : groups[i])
      if (x.cluster().async.pending(p.operation)) return x.block(WaitKind::wgmma_groups, allowed);
  while (groups.size() > allowed) {
    // A later group may still owe the same accumulator.
    for (const PendingRegisters& p : groups.front())
      for (const std::int32_t slot : p.slots) x.warp.initialised(slot) = kAllLanes;
    groups.pop_front();
  }
  for (const auto& group : groups)
    for (const PendingRegisters& p : group)
      for (const std::int32_t slot : p.slots) x.warp.initialised(slot) = 0;
  return Step::next;
}

// Row and column of register v of lane t within the warp's rows.
constexpr std::uint32_t row_of(std::uint32_t t, std::uint32_t v) { return t / 4 + 8 * ((v >> 1) & 1); }
constexpr std::uint32_t column_of(std::uint32_t t, std::uint32_t v) { return 8 * (v >> 2) + 2 * (t & 3) + (v & 1); }

// One descriptor for the whole warp.
bool uniform_descriptor(Execution& x, const Operand& operand, MatrixDescriptor& out) {
  const auto* bits = x.source<std::uint64_t>(operand);
  for (unsigned l = 1; l < kWarpSize; ++l)
    if (bits[l] != bits[0]) {
      x.fault(FaultKind::aligned_divergence, "the matrix descriptor differs between lanes of the warp");
      return false;
    }
  const Result<MatrixDescriptor> d = decode_wgmma_descriptor(bits[0]);
  if (!d.ok()) {
    x.fault(FaultKind::illegal_operand, d.error().text());
    return false;
  }
  out = *d;
  return true;
}

// A in registers, 8-bit formats: register g, byte b of lane t is row t/4 + 8*(g&1), k = 4*(t&3) + b + 16*(g>>1).
// 16-bit formats: register g, half b is the same row, k = 2*(t&3) + b + 8*(g>>1).
void read_a_registers(const Execution& x, const WgmmaSettings& s, std::size_t first, MmaOperand& a) {
  a.reset(kRowsOfWarp, s.k, MmaOperand::Order::row_major);
  const std::uint32_t per_register = s.k == 32 ? 4 : 2, bits = 32 / per_register;
  for (std::uint32_t g = 0; g < 4; ++g) {
    const auto* words = x.source<std::uint32_t>(first + g);
    for (std::uint32_t t = 0; t < kWarpSize; ++t)
      for (std::uint32_t b = 0; b < per_register; ++b)
        a.set(t / 4 + 8 * (g & 1), per_register * (t & 3) + b + 4 * per_register * (g >> 1),
              decode(s.a, (words[t] >> (bits * b)) & ((1u << bits) - 1)));
  }
}

struct Work {
  Warp* warp;
  std::uint32_t line;
  WgmmaSettings s;
  MatrixDescriptor a, b;
  std::shared_ptr<MmaOperand> a_registers;
  SharedSpan a_span, b_span;
  std::vector<std::uint32_t> d_offsets;  // of the D registers in the register file
  bool accumulate;
};

void multiply(const Work& w) {
  thread_local MmaOperand a, b;
  SharedMemory& shared = w.warp->cta.shared;
  const std::uint32_t first_row = (w.warp->index % 4) * kRowsOfWarp;
  std::string problem;
  if (!w.a_registers) a.reset(kRowsOfWarp, w.s.k, MmaOperand::Order::row_major);
  b.reset(w.s.n, w.s.k, MmaOperand::Order::k_major);
  if (!w.a_registers && !read_operand(shared, w.a, w.s.a, first_row, kRowsOfWarp, a, 0, problem))
    w.warp->cta.report(FaultKind::uninitialised_read, false, w.warp, "A of wgmma: " + problem, w.line);
  if (!read_operand(shared, w.b, w.s.b, 0, w.s.n, b, 0, problem))
    w.warp->cta.report(FaultKind::uninitialised_read, false, w.warp, "B of wgmma: " + problem, w.line);
  if (!w.a_registers) shared.end_async_read(w.a_span.first, w.a_span.bytes);
  shared.end_async_read(w.b_span.first, w.b_span.bytes);
  MmaOperand& left = w.a_registers ? *w.a_registers : a;
  if (w.s.negate_a) left.negate();
  if (w.s.negate_b) b.negate();

  const bool fp8 = w.s.k == 32;
  const AccumulationModel model = w.warp->cta.cluster.launch.accumulation(fp8, false);
  float d[kRowsOfWarp][kMmaColumns];
  std::byte* file = w.warp->file();
  for (std::uint32_t v = 0; v < w.d_offsets.size(); ++v) {
    const auto* lanes = reinterpret_cast<const float*>(file + w.d_offsets[v]);
    for (std::uint32_t t = 0; t < kWarpSize; ++t) d[row_of(t, v)][column_of(t, v)] = lanes[t];
  }
  for (std::uint32_t row = 0; row < kRowsOfWarp; row += kMmaRows) multiply_rows(left, row, b, d + row, w.accumulate, model, fp8);
  for (std::uint32_t v = 0; v < w.d_offsets.size(); ++v) {
    auto* lanes = reinterpret_cast<float*>(file + w.d_offsets[v]);
    for (std::uint32_t t = 0; t < kWarpSize; ++t) lanes[t] = d[row_of(t, v)][column_of(t, v)];
  }
}

// Accumulators must be owed by earlier wgmmas only, or be fenced since anything else wrote them.
void check_registers(Execution& x, std::size_t count, bool accumulate, std::size_t a_first, std::size_t a_count) {
  const auto owed = [&](std::int32_t slot) {
    const auto holds = [slot](const PendingRegisters& p) { return std::find(p.slots.begin(), p.slots.end(), slot) != p.slots.end(); };
    if (std::any_of(x.warp.wgmma_open.begin(), x.warp.wgmma_open.end(), holds)) return true;
    for (const auto& group : x.warp.wgmma_groups)
      if (std::any_of(group.begin(), group.end(), holds)) return true;
    return false;
  };
  for (std::size_t v = 0; v < count; ++v) {
    const Operand& o = x.in.operands[v];
    if (owed(o.slot)) return;  // in order after the wgmma that writes it
    if (accumulate && x.warp.initialised(o.slot) != kAllLanes) x.warp.report_unready(o, ~x.warp.initialised(o.slot));
    if (x.warp.written_at(o.slot) > x.warp.wgmma_fence)
      return x.hazard(FaultKind::missing_fence, "an accumulator register was written since the last wgmma.fence");
  }
  for (std::size_t i = a_first; i < a_first + a_count; ++i)
    if (x.in.operands[i].slot >= 0 && x.warp.written_at(x.in.operands[i].slot) > x.warp.wgmma_fence)
      return x.hazard(FaultKind::missing_fence, "a register of A was written since the last wgmma.fence");
}

Step mma_async(Execution& x) {
  if (!x.gathered(kAllLanes)) return x.gather(kAllLanes);
  const auto s = x.in.settings<WgmmaSettings>();
  const std::size_t d_count = d_registers(s), a_count = s.a_in_registers ? 4 : 1;
  const LaneMask p = x.predicate(x.in.operands[d_count + a_count + 1]);
  if (p != 0 && p != kAllLanes) return x.fault(FaultKind::aligned_divergence, "scale-d differs between lanes");
  if (x.warp.wgmma_fence == 0) x.hazard(FaultKind::missing_fence, "a wgmma before the first wgmma.fence");

  Work w{.warp = &x.warp, .line = x.in.line, .s = s, .a = {}, .b = {}, .a_registers = nullptr, .a_span = {}, .b_span = {},
         .d_offsets = {}, .accumulate = p != 0};
  check_registers(x, d_count, w.accumulate, d_count, s.a_in_registers ? 4 : 0);
  if (s.a_in_registers) {
    w.a_registers = std::make_shared<MmaOperand>();
    read_a_registers(x, s, d_count, *w.a_registers);
  } else {
    if (!uniform_descriptor(x, x.in.operands[d_count], w.a)) return Step::fatal;
    w.a_span = span_of(w.a, (x.warp.index % 4) * kRowsOfWarp, kRowsOfWarp, x.cta().shared);
  }
  if (!uniform_descriptor(x, x.in.operands[d_count + a_count], w.b)) return Step::fatal;
  w.b_span = span_of(w.b, 0, s.n, x.cta().shared);
  for (const SharedSpan* span : {&w.a_span, &w.b_span}) {
    if (span == &w.a_span && s.a_in_registers) continue;
    if (!span->inside)
      return x.fault(FaultKind::out_of_bounds, "a wgmma operand reaches shared " + hex(span->first) + " to " +
                                                   hex(span->first + span->bytes) + ", outside the CTA");
    x.hazard(x.cta().shared.begin_async_read(span->first, span->bytes, x.actor()));
  }
  PendingRegisters pending;
  for (std::size_t v = 0; v < d_count; ++v) {
    const Operand& o = x.in.operands[v];
    w.d_offsets.push_back(o.offset);
    pending.slots.push_back(o.slot);
    x.warp.initialised(o.slot) = 0;
  }
  AsyncOperation op = x.operation("wgmma");
  if (x.warp.last_wgmma != 0) op.after = {x.warp.last_wgmma};
  op.complete = [w = std::move(w)] { multiply(w); };
  pending.operation = x.cluster().async.add(std::move(op));
  x.warp.last_wgmma = pending.operation;
  x.warp.wgmma_open.push_back(std::move(pending));
  return Step::next;
}

std::optional<NumberFormat> format_of(std::string_view name) {
  if (name == "e4m3") return NumberFormat::e4m3;
  if (name == "e5m2") return NumberFormat::e5m2;
  if (name == "f16") return NumberFormat::f16;
  if (name == "bf16") return NumberFormat::bf16;
  return std::nullopt;
}

// m64nNkK.f32.A.B {d..}, a, b, p, 1, 1{, 0, 0};
void decode_mma(InstructionDecoder& d) {
  const auto shape = d.take_prefix("m64n");
  if (!shape) return d.fail("the shape is not modelled");
  WgmmaSettings s{};
  const std::string_view digits = shape->substr(4);
  const std::size_t k_at = digits.find('k');
  if (k_at == std::string_view::npos) return;
  std::from_chars(digits.data(), digits.data() + k_at, s.n);
  std::from_chars(digits.data() + k_at + 1, digits.data() + digits.size(), s.k);
  if (!d.take("f32")) return d.fail("an f32 result is modelled");
  if (d.modifiers().size() != 2) return d.fail("two operand formats are needed");
  const auto a = format_of(d.modifiers()[0]), b = format_of(d.modifiers()[1]);
  if (!a || !b) return d.fail("these operand formats are not modelled");
  s.a = *a;
  s.b = *b;
  while (!d.modifiers().empty()) (void)d.take(d.modifiers().front());
  const bool fp8 = *a <= NumberFormat::e5m2;
  if (s.k != (fp8 ? 32u : 16u) || s.n < 8 || s.n > 256 || s.n % 8 != 0) return d.fail("the shape is not allowed for these formats");
  const auto results = d.elements(0), left = d.elements(1);
  if (results.size() != d_registers(s)) return d.fail("the D list must have N/2 registers");
  s.a_in_registers = left.size() == 4;
  for (const ptx::Operand* r : results) d.out().operands.push_back(d.value(*r, 4, true));
  for (const ptx::Operand* r : left) d.out().operands.push_back(d.value(*r, s.a_in_registers ? 4 : 8));
  d.add(2, 8);
  d.out().operands.push_back(d.predicate(3));
  const auto scale_a = d.integer(4), scale_b = d.integer(5);
  if (!scale_a || !scale_b || std::abs(*scale_a) != 1 || std::abs(*scale_b) != 1) return d.fail("the scales must be 1 or -1");
  if (d.integer(6).value_or(0) != 0 || d.integer(7).value_or(0) != 0) return d.fail("transposed operands are not modelled");
  s.negate_a = *scale_a < 0;
  s.negate_b = *scale_b < 0;
  d.out().set(s);
  d.handler(mma_async);
}

}  // namespace

bool decode_wgmma(InstructionDecoder& d) {
  if (d.name() != "wgmma") return false;
  d.ignore({"sync", "aligned"});
  if (d.take("fence")) {
    d.handler(fence);
  } else if (d.take("commit_group")) {
    d.handler(commit_group);
  } else if (d.take("wait_group")) {
    const auto allowed = d.integer(0);
    if (!allowed || *allowed < 0) { d.fail("the group count must be an immediate"); return true; }
    d.out().set(static_cast<std::uint32_t>(*allowed));
    d.handler(wait_group);
  } else if (d.take("mma_async")) {
    decode_mma(d);
  }
  return true;
}

}  // namespace mlaindex::emulator
