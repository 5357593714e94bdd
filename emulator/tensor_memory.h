// One CTA's tensor memory: 128 lanes x 512 columns of 32 bits, its allocations, and what is needed to
// find unordered use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/shared_memory.h"
#include "generator/base/result.h"

namespace mlaindex::emulator {

// A rectangle of cells. Lanes are tracked in groups of 16.
struct TensorRegion {
  std::uint32_t first_lane = 0, lanes = 0;
  std::uint32_t first_column = 0, columns = 0;
};

enum class TensorWriter : std::uint8_t { none, tensor_core, store, copy };

// Warps of both CTAs of a pair use one tensor memory: Actor::warp is the rank times this plus the warp.
inline constexpr std::uint32_t kTensorActorStride = 64;

class TensorMemory {
 public:
  static constexpr std::uint32_t kLanes = 128, kColumns = 512;

  TensorMemory();

  // First fit from column 0. Nothing when there is no room; illegal counts, growth and use after
  // relinquish are errors. Freshly allocated cells are undefined.
  Result<std::optional<std::uint32_t>> allocate(std::uint32_t columns);
  Status deallocate(std::uint32_t address, std::uint32_t columns);
  // Whether anybody still uses columns that were just freed.
  std::optional<Hazard> check_idle(std::uint32_t column, std::uint32_t count) const;
  void relinquish() noexcept { relinquished_ = true; }
  std::uint32_t allocated_columns() const noexcept;
  bool allocated(std::uint32_t column, std::uint32_t count) const noexcept;

  std::uint32_t* row(std::uint32_t lane) noexcept { return &cells_[std::size_t{lane} * kColumns]; }
  bool initialised(std::uint32_t lane, std::uint32_t column) const noexcept {
    return initialised_[std::size_t{lane} * kColumns + column] != 0;
  }
  void set_initialised(std::uint32_t lane, std::uint32_t column, std::uint32_t count) noexcept;

  // Order. A load is outstanding from issue to wait::ld; a write from issue to its completion.
  // `fence_after` is when the warp last executed tcgen05.fence::after_thread_sync.
  std::optional<Hazard> begin_load(const TensorRegion& region, const Actor& who, std::uint64_t fence_after);
  void end_load(const TensorRegion& region, const Actor& who) noexcept;
  // `fence_before` is when each warp of this CTA last executed fence::before_thread_sync (or a commit).
  std::optional<Hazard> begin_write(const TensorRegion& region, TensorWriter writer, const Actor& who,
                                    std::uint64_t fence_after, const std::vector<std::uint64_t>& fence_before);
  void end_write(const TensorRegion& region, TensorWriter writer, const Actor& who) noexcept;
  // The tensor core reads an operand or scale factors here, from issue to completion. Stores into it
  // must be complete, copies of the same thread come in order.
  std::optional<Hazard> begin_operand(const TensorRegion& region, const Actor& who);
  void end_operand(const TensorRegion& region) noexcept;

 private:
  struct Track {
    std::uint16_t loads = 0, writes = 0, operands = 0;  // outstanding
    TensorWriter writer = TensorWriter::none;
    std::uint16_t writer_warp = 0, reader_warp = 0;     // as TensorActor numbers them
    std::uint32_t writer_line = 0, reader_line = 0;
    std::uint64_t write_time = 0, read_time = 0;
  };
  Track& track(std::uint32_t group, std::uint32_t column) noexcept { return tracks_[group * kColumns + column]; }
  template <class F>
  void for_tracks(const TensorRegion& region, F visit);

  std::vector<std::uint32_t> cells_;
  std::vector<std::uint8_t> initialised_;
  std::vector<Track> tracks_;                    // [lane group][column]
  std::array<std::uint16_t, kColumns> owner_{};  // allocation number; 0: free
  std::uint16_t allocations_ = 0;
  std::uint32_t last_size_ = kColumns;
  bool relinquished_ = false;
};

}  // namespace mlaindex::emulator
