#include "emulator/tensor_memory.h"

#include <algorithm>
#include <bit>

namespace mlaindex::emulator {
namespace {

Error refused(std::string message, std::string hint) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(hint)};
}

std::string at_line(std::uint32_t warp, std::uint32_t line) {
  return "warp " + std::to_string(warp % kTensorActorStride) + " at line " + std::to_string(line);
}

std::string at_column(std::uint32_t column) { return "tensor memory column " + std::to_string(column); }

}  // namespace

TensorMemory::TensorMemory()
    : cells_(std::size_t{kLanes} * kColumns, 0xDEADBEEF),
      initialised_(std::size_t{kLanes} * kColumns),
      tracks_(std::size_t{kLanes / 16} * kColumns) {}

Result<std::optional<std::uint32_t>> TensorMemory::allocate(std::uint32_t columns) {
  if (columns < 32 || columns > kColumns || !std::has_single_bit(columns))
    return refused("allocating " + std::to_string(columns) + " columns", "allowed: powers of two, 32 to 512");
  if (relinquished_)
    return refused("an allocation after relinquish_alloc_permit", "allocate everything first");
  if (columns > last_size_)
    return refused("allocating " + std::to_string(columns) + " columns after " + std::to_string(last_size_),
                   "sizes must not grow from one allocation to the next");
  std::uint32_t run = 0;
  for (std::uint32_t column = 0; column < kColumns; ++column) {
    run = owner_[column] == 0 ? run + 1 : 0;
    if (run < columns) continue;
    const std::uint32_t first = column + 1 - columns;
    ++allocations_;
    std::fill_n(owner_.begin() + first, columns, allocations_);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      std::fill_n(initialised_.begin() + std::size_t{lane} * kColumns + first, columns, 0);
    last_size_ = columns;
    return std::optional<std::uint32_t>(first);
  }
  return std::optional<std::uint32_t>();
}

Status TensorMemory::deallocate(std::uint32_t address, std::uint32_t columns) {
  const std::uint32_t first = address & 0xFFFF;
  if (address >> 16 != 0 || first + columns > kColumns || columns == 0)
    return refused("deallocating " + std::to_string(columns) + " columns at address " + std::to_string(address),
                   "pass the address that the allocation stored and its size");
  const std::uint16_t owner = owner_[first];
  const auto mine = [owner](std::uint16_t o) { return o == owner; };
  const bool whole = owner != 0 && std::all_of(owner_.begin() + first, owner_.begin() + first + columns, mine) &&
                     std::count(owner_.begin(), owner_.end(), owner) == static_cast<std::ptrdiff_t>(columns);
  if (!whole)
    return refused("deallocating " + std::to_string(columns) + " columns from column " + std::to_string(first) +
                       ", which is no allocation",
                   "free exactly what was allocated, once");
  std::fill_n(owner_.begin() + first, columns, std::uint16_t{0});
  return {};
}

std::optional<Hazard> TensorMemory::check_idle(std::uint32_t column, std::uint32_t count) const {
  for (std::uint32_t group = 0; group < kLanes / 16; ++group)
    for (std::uint32_t c = column; c < column + count; ++c) {
      const Track& t = tracks_[group * kColumns + c];
      if (t.loads != 0 || t.writes != 0 || t.operands != 0)
        return Hazard{FaultKind::slot_overwritten, at_column(c) + " freed while an operation on it is pending"};
    }
  return std::nullopt;
}

std::uint32_t TensorMemory::allocated_columns() const noexcept {
  return kColumns - static_cast<std::uint32_t>(std::count(owner_.begin(), owner_.end(), std::uint16_t{0}));
}

bool TensorMemory::allocated(std::uint32_t column, std::uint32_t count) const noexcept {
  if (column + count > kColumns || count == 0) return false;
  const std::uint16_t owner = owner_[column];
  return owner != 0 && std::all_of(owner_.begin() + column, owner_.begin() + column + count,
                                   [owner](std::uint16_t o) { return o == owner; });
}

void TensorMemory::set_initialised(std::uint32_t lane, std::uint32_t column, std::uint32_t count) noexcept {
  std::fill_n(initialised_.begin() + std::size_t{lane} * kColumns + column, count, std::uint8_t{1});
}

template <class F>
void TensorMemory::for_tracks(const TensorRegion& r, F visit) {
  for (std::uint32_t group = r.first_lane / 16; group * 16 < r.first_lane + r.lanes; ++group)
    for (std::uint32_t column = r.first_column; column < r.first_column + r.columns; ++column)
      visit(track(group, column), column);
}

std::optional<Hazard> TensorMemory::begin_load(const TensorRegion& region, const Actor&,
                                               std::uint64_t fence_after) {
  std::optional<Hazard> hazard;
  for_tracks(region, [&](Track& t, std::uint32_t column) {
    ++t.loads;
    if (hazard) return;
    if (t.writes != 0)
      hazard = {FaultKind::result_before_wait, at_column(column) + " read while the operation of " +
                                                   at_line(t.writer_warp, t.writer_line) + " is pending"};
    else if (t.writer == TensorWriter::tensor_core && fence_after <= t.write_time)
      hazard = {FaultKind::missing_fence, at_column(column) + " was written by the tensor core for " +
                                              at_line(t.writer_warp, t.writer_line) +
                                              "; no tcgen05.fence::after_thread_sync since it completed"};
  });
  return hazard;
}

void TensorMemory::end_load(const TensorRegion& region, const Actor& who) noexcept {
  for_tracks(region, [&](Track& t, std::uint32_t) {
    --t.loads;
    t.read_time = who.now;
    t.reader_warp = static_cast<std::uint16_t>(who.warp);
    t.reader_line = who.line;
  });
}

std::optional<Hazard> TensorMemory::begin_write(const TensorRegion& region, TensorWriter writer, const Actor& who,
                                                std::uint64_t fence_after,
                                                const std::vector<std::uint64_t>& fence_before) {
  std::optional<Hazard> hazard;
  for_tracks(region, [&](Track& t, std::uint32_t column) {
    // The mma and cp of one thread stay in order; nothing else does.
    const auto of_tensor_pipe = [](TensorWriter w) { return w == TensorWriter::tensor_core || w == TensorWriter::copy; };
    const bool in_order = of_tensor_pipe(writer) && of_tensor_pipe(t.writer) && t.writer_warp == who.warp;
    if (!hazard) {
      // A cp waits for the earlier mma of its thread: production kernels refill scale factors that way.
      if (t.operands != 0 && !(writer == TensorWriter::copy && t.reader_warp == who.warp))
        hazard = {FaultKind::slot_overwritten, at_column(column) + " overwritten while an mma of " +
                                                   at_line(t.reader_warp, t.reader_line) + " still reads it"};
      else if (t.loads != 0)
        hazard = {FaultKind::slot_overwritten, at_column(column) + " overwritten while a tcgen05.ld has not been waited for"};
      else if (t.writes != 0 && !in_order)
        hazard = {FaultKind::slot_overwritten, at_column(column) + " overwritten while the operation of " +
                                                   at_line(t.writer_warp, t.writer_line) + " is pending"};
      else if (t.read_time > t.write_time && t.reader_warp != who.warp &&
               (fence_before[t.reader_warp % kTensorActorStride] <= t.read_time || fence_after <= t.read_time))
        hazard = {FaultKind::missing_fence,
                  at_column(column) + " was read by " + at_line(t.reader_warp, t.reader_line) + "; " +
                      (fence_before[t.reader_warp % kTensorActorStride] <= t.read_time
                           ? "it executed no tcgen05.fence::before_thread_sync since"
                           : "the writer executed no tcgen05.fence::after_thread_sync since")};
      else if (t.writer == TensorWriter::tensor_core && !in_order && t.writes == 0 && fence_after <= t.write_time)
        hazard = {FaultKind::missing_fence, at_column(column) + " was written by the tensor core for " +
                                                at_line(t.writer_warp, t.writer_line) +
                                                "; no tcgen05.fence::after_thread_sync since it completed"};
    }
    ++t.writes;
    t.writer = writer;
    t.writer_warp = static_cast<std::uint16_t>(who.warp);
    t.writer_line = who.line;
  });
  return hazard;
}

void TensorMemory::end_write(const TensorRegion& region, TensorWriter writer, const Actor& who) noexcept {
  for_tracks(region, [&](Track& t, std::uint32_t) {
    --t.writes;
    t.writer = writer;
    t.write_time = who.now;
  });
}

std::optional<Hazard> TensorMemory::begin_operand(const TensorRegion& region, const Actor& who) {
  std::optional<Hazard> hazard;
  for_tracks(region, [&](Track& t, std::uint32_t column) {
    const bool in_order = t.writer != TensorWriter::store && t.writer_warp == who.warp;
    if (t.writes != 0 && !in_order && !hazard)
      hazard = {FaultKind::result_before_wait, at_column(column) + " used as an operand while the operation of " +
                                                   at_line(t.writer_warp, t.writer_line) + " is pending"};
    ++t.operands;
    t.reader_warp = static_cast<std::uint16_t>(who.warp);
    t.reader_line = who.line;
  });
  return hazard;
}

void TensorMemory::end_operand(const TensorRegion& region) noexcept {
  for_tracks(region, [](Track& t, std::uint32_t) { --t.operands; });
}

}  // namespace mlaindex::emulator
