#include "emulator/mbarrier.h"

namespace mlaindex::emulator {
namespace {

Error refused(std::string message, std::string hint) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(hint)};
}

}  // namespace

Status Mbarrier::init(std::uint32_t count) {
  if (count < 1 || count > static_cast<std::uint32_t>(kLargestCount))
    return refused("mbarrier.init with count " + std::to_string(count), "allowed: 1 to 2^20 - 1");
  phase_ = 0;
  expected_ = pending_ = static_cast<std::int32_t>(count);
  tx_ = 0;
  return {};
}

Status Mbarrier::expect_tx(std::uint32_t bytes) {
  if (bytes > static_cast<std::uint32_t>(kLargestCount) ||
      tx_ + static_cast<std::int32_t>(bytes) > kLargestCount)
    return refused("expecting " + std::to_string(bytes) + " more bytes on " + describe(),
                   "the transaction count is at most 2^20 - 1");
  tx_ += static_cast<std::int32_t>(bytes);
  return {};
}

Status Mbarrier::complete_tx(std::uint32_t bytes) {
  if (bytes > static_cast<std::uint32_t>(kLargestCount) ||
      tx_ - static_cast<std::int32_t>(bytes) < -kLargestCount)
    return refused("completing " + std::to_string(bytes) + " bytes on " + describe(),
                   "the transaction count is at least -(2^20 - 1)");
  tx_ -= static_cast<std::int32_t>(bytes);
  complete_phase_if_done();
  return {};
}

Status Mbarrier::arrive(std::uint32_t count) {
  if (count < 1 || static_cast<std::int64_t>(count) > pending_)
    return refused(std::to_string(count) + " arrivals on " + describe(),
                   "a phase takes no more arrivals than it has pending");
  pending_ -= static_cast<std::int32_t>(count);
  complete_phase_if_done();
  return {};
}

Status Mbarrier::arrive_drop(std::uint32_t count) {
  if (static_cast<std::int64_t>(count) > expected_)
    return refused("dropping " + std::to_string(count) + " arrivals on " + describe(),
                   "at most the expected count");
  expected_ -= static_cast<std::int32_t>(count);
  return arrive(count);
}

void Mbarrier::complete_phase_if_done() noexcept {
  if (pending_ != 0 || tx_ != 0) return;
  ++phase_;
  pending_ = expected_;
}

std::string Mbarrier::describe() const {
  return "mbarrier in phase " + std::to_string(phase_) + " with " + std::to_string(pending_) + " of " +
         std::to_string(expected_) + " arrivals pending and " + std::to_string(tx_) +
         " transaction bytes outstanding";
}

}  // namespace mlaindex::emulator
