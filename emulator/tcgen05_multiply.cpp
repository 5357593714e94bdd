// What a tcgen05.mma does when it completes.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "emulator/cluster.h"
#include "emulator/tcgen05_mma.h"

namespace mlaindex::emulator {
namespace {

// Where row m of D begins: CTA of the group, lane, and whether the columns are split over two lanes.
struct RowPlace {
  std::uint32_t cta, lane;
  bool split;
};

RowPlace place_of(const MmaWork& w, std::uint32_t m) {
  if (w.settings.cta_group == 1)
    return w.instruction.m == 64 ? RowPlace{0, 32 * (m / 16) + m % 16 + w.d_lane, false} : RowPlace{0, m, false};
  if (w.instruction.m == 256) return {m / 128, m % 128, false};
  return {m / 64, m % 64, true};
}

void problem(const MmaWork& w, FaultKind kind, std::string message) {
  w.warp->cta.report(kind, false, w.warp, std::move(message), w.who.line);
}

bool read_a(const MmaWork& w, MmaOperand& a) {
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

void read_b(const MmaWork& w, MmaOperand& b) {
  const std::uint32_t rows = w.instruction.n / static_cast<std::uint32_t>(w.parts.size());
  b.reset(w.instruction.n, w.instruction.k, MmaOperand::Order::k_major);
  std::string where;
  for (std::uint32_t p = 0; p < w.parts.size(); ++p)
    if (!read_operand(w.parts[p].cta->shared, w.b, w.instruction.b, 0, rows, b, p * rows, where))
      problem(w, FaultKind::uninitialised_read, "B: " + where);
}

// Scale factors: byte `id` of the word at lane row % 32, column base + row / 32; one per 32 elements.
void apply_scales(const MmaWork& w, MmaOperand& operand, const TensorRegion& region, std::uint32_t id, const char* name) {
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

void load_row(const MmaWork& w, const RowPlace& place, float* d, bool& written) {
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

void store_row(const MmaWork& w, const RowPlace& place, const float* d) {
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

void finish(const MmaWork& w) {
  Actor done = w.who;
  done.now = w.warp->cta.cluster.now;
  for (const MmaPart& p : w.parts) {
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

}  // namespace

void multiply(const MmaWork& w) {
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
  float d[kMmaRows][kMmaColumns];
  for (std::uint32_t m = 0; m < w.instruction.m; m += kMmaRows) {
    for (std::uint32_t r = 0; r < kMmaRows && w.accumulate; ++r) load_row(w, place_of(w, m + r), d[r], written);
    multiply_rows(a, m, b, d, w.accumulate, model, narrow);
    for (std::uint32_t r = 0; r < kMmaRows; ++r) store_row(w, place_of(w, m + r), d[r]);
  }
  if (!written) problem(w, FaultKind::uninitialised_read, "D is accumulated into but was never written");
  finish(w);
}

}  // namespace mlaindex::emulator
