// tcgen05.mma: D in tensor memory, B in shared memory, A in either.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "emulator/instruction_descriptor.h"
#include "emulator/lane_ops.h"
#include "emulator/mma_operand.h"
#include "emulator/tcgen05.h"

namespace mlaindex::emulator {
namespace {

struct MmaSettings {
  MmaKind kind;
  std::uint8_t cta_group;
  std::uint8_t mask_words;    // of the lane mask: 0, 4 or 8
  std::uint8_t input_scale;   // D input is multiplied by 2^-n
  bool a_in_tensor_memory, block_scaled;
};

// Operands of the decoded instruction, in this order; addresses: D, {A}, {SFA, SFB}.
enum Index : std::size_t { kA, kB, kDescriptor, kEnable, kMask };

// One CTA's part: its rows of A and D, its columns of B.
struct Part {
  Cta* cta = nullptr;
  SharedSpan a, b;
  TensorRegion d, a_region;
};

struct Work {
  std::vector<Part> parts;
  MmaSettings settings;
  InstructionDescriptor instruction;
  MatrixDescriptor a, b;
  std::uint32_t d_column = 0, d_lane = 0, a_column = 0;
  TensorRegion scale_a, scale_b;
  std::array<std::uint32_t, 8> disabled{};
  bool accumulate = false;
  Warp* warp = nullptr;
  Actor who;
};

// Where row m of D begins: CTA of the group, lane, and whether the columns are split over two lanes.
struct RowPlace {
  std::uint32_t cta, lane;
  bool split;
};

RowPlace place_of(const Work& w, std::uint32_t m) {
  if (w.settings.cta_group == 1)
    return w.instruction.m == 64 ? RowPlace{0, 32 * (m / 16) + m % 16 + w.d_lane, false} : RowPlace{0, m, false};
  if (w.instruction.m == 256) return {m / 128, m % 128, false};
  return {m / 64, m % 64, true};
}

void problem(const Work& w, FaultKind kind, std::string message) {
  w.warp->cta.report(kind, false, w.warp, std::move(message), w.who.line);
}

bool read_a(const Work& w, MmaOperand& a) {
  const std::uint32_t rows = w.instruction.m / static_cast<std::uint32_t>(w.parts.size());
  a.reset(w.instruction.m, w.instruction.k, MmaOperand::Order::row_major);
  std::string where;
  bool written = true;
  for (std::uint32_t p = 0; p < w.parts.size(); ++p) {
    if (!w.settings.a_in_tensor_memory) {
      written &= read_operand(w.parts[p].cta->shared, w.a, w.instruction.a, 0, rows, a, p * rows, where);
      continue;
    }
    TensorMemory& tensor = w.parts[p].cta->tensor;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::uint32_t lane = place_of(w, p * rows + row).lane;
      for (std::uint32_t c = 0; c < 8; ++c)
        if (!tensor.initialised(lane, w.a_column + c)) {
          written = false;
          where = "tensor memory lane " + std::to_string(lane) + " column " + std::to_string(w.a_column + c) + " was never written";
        }
      std::uint8_t bytes[32];
      std::memcpy(bytes, tensor.row(lane) + w.a_column, sizeof bytes);
      set_row(a, p * rows + row, w.instruction.a, bytes);
    }
  }
  if (!written) problem(w, FaultKind::uninitialised_read, "A: " + where);
  return written;
}

void read_b(const Work& w, MmaOperand& b) {
  const std::uint32_t rows = w.instruction.n / static_cast<std::uint32_t>(w.parts.size());
  b.reset(w.instruction.n, w.instruction.k, MmaOperand::Order::k_major);
  std::string where;
  for (std::uint32_t p = 0; p < w.parts.size(); ++p)
    if (!read_operand(w.parts[p].cta->shared, w.b, w.instruction.b, 0, rows, b, p * rows, where))
      problem(w, FaultKind::uninitialised_read, "B: " + where);
}

// Scale factors: byte `id` of the word at lane row % 32, column base + row / 32; one per 32 elements.
void apply_scales(const Work& w, MmaOperand& operand, const TensorRegion& region, std::uint32_t id, const char* name) {
  TensorMemory& tensor = w.parts[0].cta->tensor;
  const std::uint32_t groups = w.instruction.k / 32;
  for (std::uint32_t row = 0; row < operand.rows(); ++row) {
    const std::uint32_t lane = row % 32, column = region.first_column + row / 32;
    std::uint32_t word = tensor.row(lane)[column];
    bool same = true, written = true;
    for (std::uint32_t q = 0; q < 4; ++q) {
      same = same && tensor.row(lane + 32 * q)[column] == word;
      written = written && tensor.initialised(lane + 32 * q, column);
    }
    if (!written || !same)
      return problem(w, FaultKind::uninitialised_read, std::string(name) + " of row " + std::to_string(row) +
                                                           (written ? " differs between the four lane quarters" : " was never written"));
    for (std::uint32_t g = 0; g < groups; ++g) {
      const std::uint32_t scale = (word >> (8 * (id + g))) & 0xFF;
      if (scale == 0xFF) operand.set(row, 32 * g, {std::numeric_limits<float>::quiet_NaN(), 127});
      else operand.scale(row, 32 * g, 32, static_cast<int>(scale) - 127);
    }
  }
}

void load_row(const Work& w, const RowPlace& place, float* d, bool& written) {
  TensorMemory& tensor = w.parts[place.cta].cta->tensor;
  const std::uint32_t halves = place.split ? 2 : 1, count = w.instruction.n / halves;
  for (std::uint32_t h = 0; h < halves; ++h) {
    const std::uint32_t lane = place.lane + 64 * h;
    const std::uint32_t* row = tensor.row(lane) + w.d_column;
    for (std::uint32_t n = 0; n < count; ++n) {
      written = written && tensor.initialised(lane, w.d_column + n);
      d[h * count + n] = w.instruction.d_is_f16 ? f16_to_f32(static_cast<std::uint16_t>(row[n])) : std::bit_cast<float>(row[n]);
    }
  }
  if (w.settings.input_scale != 0)
    for (std::uint32_t n = 0; n < w.instruction.n; ++n) d[n] = std::ldexp(d[n], -int{w.settings.input_scale});
}

void store_row(const Work& w, const RowPlace& place, const float* d) {
  TensorMemory& tensor = w.parts[place.cta].cta->tensor;
  const std::uint32_t halves = place.split ? 2 : 1, count = w.instruction.n / halves;
  for (std::uint32_t h = 0; h < halves; ++h) {
    const std::uint32_t lane = place.lane + 64 * h;
    const std::uint32_t bit = 128 * place.cta + lane;
    if ((w.disabled[bit / 32] >> (bit % 32)) & 1) continue;
    std::uint32_t* row = tensor.row(lane) + w.d_column;
    for (std::uint32_t n = 0; n < count; ++n)
      row[n] = w.instruction.d_is_f16 ? f32_to_f16(d[h * count + n]) : std::bit_cast<std::uint32_t>(d[h * count + n]);
    tensor.set_initialised(lane, w.d_column, count);
  }
}

void finish(const Work& w) {
  Actor done = w.who;
  done.now = w.warp->cta.cluster.now;
  for (const Part& p : w.parts) {
    if (w.settings.a_in_tensor_memory) p.cta->tensor.end_operand(p.a_region);
    else p.cta->shared.end_async_read(p.a.first, p.a.bytes);
    p.cta->shared.end_async_read(p.b.first, p.b.bytes);
    p.cta->tensor.end_write(p.d, TensorWriter::tensor_core, done);
  }
  if (w.settings.block_scaled) {
    w.parts[0].cta->tensor.end_operand(w.scale_a);
    w.parts[0].cta->tensor.end_operand(w.scale_b);
  }
}

void multiply(const Work& w) {
  thread_local MmaOperand a, b;
  read_a(w, a);
  read_b(w, b);
  if (w.instruction.negate_a) a.negate();
  if (w.instruction.negate_b) b.negate();
  if (w.settings.block_scaled) {
    apply_scales(w, a, w.scale_a, w.instruction.scale_a_id, "SFA");
    apply_scales(w, b, w.scale_b, w.instruction.scale_b_id, "SFB");
  }
  const MmaKind kind = w.settings.kind;
  const AccumulationModel model = w.warp->cta.cluster.launch.accumulation(kind != MmaKind::f16, kind == MmaKind::mxf4);
  const bool narrow = kind == MmaKind::f8f6f4;
  bool written = true;
  float d[256];
  for (std::uint32_t m = 0; m < w.instruction.m; ++m) {
    const RowPlace place = place_of(w, m);
    if (w.accumulate) load_row(w, place, d, written);
    multiply_row(a, m, b, d, w.accumulate, model, narrow);
    store_row(w, place, d);
  }
  if (!written) problem(w, FaultKind::uninitialised_read, "D is accumulated into but was never written");
  finish(w);
}

// ---- issue ----

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

bool place_d(Execution& x, Work& w) {
  const std::uint64_t address = x.address(x.in.addresses[0], x.lowest_lane());
  w.d_column = static_cast<std::uint32_t>(address & 0xFFFF);
  w.d_lane = static_cast<std::uint32_t>(address >> 16) & 0xFFFF;
  const bool half = w.settings.cta_group == 1 && w.instruction.m == 64;
  if (w.d_lane != 0 && !(half && w.d_lane == 16)) {
    x.fault(FaultKind::illegal_operand, "D at lane " + std::to_string(w.d_lane) + (half ? "; allowed: 0, 16" : "; allowed: 0"));
    return false;
  }
  const bool split = w.settings.cta_group == 2 && w.instruction.m == 128;
  for (Part& p : w.parts) {
    p.d = {0, 128, w.d_column, split ? w.instruction.n / 2 : w.instruction.n};
    if (!check_columns(x, *p.cta, p.d, "D")) return false;
  }
  return true;
}

bool place_scales(Execution& x, Work& w) {
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
bool begin(Execution& x, Work& w) {
  const auto parts = static_cast<std::uint32_t>(w.parts.size());
  for (Part& p : w.parts) {
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
  Work w;
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

  AsyncOperation op = tensor_operation(x, "MMA");
  std::erase_if(x.warp.tensor_operations, [&](const auto& o) { return !x.cluster().async.pending(o.id); });
  for (const auto& earlier : x.warp.tensor_operations) op.after.push_back(earlier.id);
  op.complete = [work = std::move(w)] { multiply(work); };
  x.warp.tensor_operations.push_back({x.cluster().async.add(std::move(op)), TensorWriter::tensor_core});
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
