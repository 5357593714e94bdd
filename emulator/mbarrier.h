// The logical state of an mbarrier object.
#pragma once

#include <cstdint>
#include <string>

#include "generator/base/result.h"

namespace mlaindex::emulator {

class Mbarrier {
 public:
  static constexpr std::int32_t kLargestCount = (1 << 20) - 1;

  // All operations refuse, with invalid_argument and the values, what leaves the object's ranges.
  Status init(std::uint32_t count);
  Status expect_tx(std::uint32_t bytes);
  Status complete_tx(std::uint32_t bytes);  // completes the phase if nothing else is pending
  Status arrive(std::uint32_t count);       // likewise
  Status arrive_drop(std::uint32_t count);

  std::uint32_t phase() const noexcept { return phase_; }
  std::int32_t pending() const noexcept { return pending_; }
  std::int32_t expected() const noexcept { return expected_; }
  std::int32_t transaction_bytes() const noexcept { return tx_; }
  // The parity form of a wait: true iff the phase of that parity is the one before the current one.
  bool completed(std::uint32_t parity) const noexcept { return (phase_ & 1) != (parity & 1); }
  bool at_rest() const noexcept { return pending_ == expected_ && tx_ == 0; }

  std::string describe() const;

 private:
  void complete_phase_if_done() noexcept;
  std::uint32_t phase_ = 0;
  std::int32_t expected_ = 0, pending_ = 0, tx_ = 0;
};

}  // namespace mlaindex::emulator
