// Asynchronous operations between issue and completion.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "emulator/schedule.h"

namespace mlaindex::emulator {

struct AsyncOperation {
  std::uint64_t id = 0;                // given by the queue
  std::vector<std::uint64_t> after;    // operations that must complete first
  std::function<void()> complete;
  const char* engine = "";             // "TMA load", "MMA": a row of the trace
  std::uint32_t cta = 0, warp = 0, line = 0;
  std::uint64_t issued = 0;
};

class AsyncQueue {
 public:
  // Called with every completed operation, for traces.
  using Observer = std::function<void(const AsyncOperation&, std::uint64_t now)>;

  AsyncQueue(Schedule& schedule, const std::uint64_t& now, std::uint64_t& changes)
      : schedule_(schedule), now_(now), changes_(changes) {}
  void observe(Observer observer) { observer_ = std::move(observer); }

  // May complete the operation at once. Returns its id.
  std::uint64_t add(AsyncOperation operation);
  bool pending(std::uint64_t id) const noexcept;
  bool any_pending(const std::vector<std::uint64_t>& ids) const noexcept;
  std::size_t size() const noexcept { return entries_.size(); }
  // Calls visit(operation) for every one that has not completed, by issue.
  template <class Visit>
  void for_pending(const Visit& visit) const {
    for (const Entry& entry : entries_) visit(entry.operation);
  }
  const AsyncOperation* first() const noexcept { return entries_.empty() ? nullptr : &entries_.front().operation; }

  // One scheduling step: completes what is due.
  void tick();
  // Nothing else can run: completes one operation that may complete. False if there is none.
  bool force_one();
  // Completes `id` and whatever it depends on, now.
  void force(std::uint64_t id);

 private:
  struct Entry {
    AsyncOperation operation;
    Timing timing;
    std::uint64_t due;
  };
  bool may_complete(const Entry& entry) const noexcept;
  void complete_at(std::size_t index);
  void complete_due();

  Schedule& schedule_;
  const std::uint64_t& now_;
  std::uint64_t& changes_;
  Observer observer_;
  std::vector<Entry> entries_;  // by issue
  std::uint64_t next_id_ = 1;
  std::uint64_t ticks_ = 0;
  bool completing_ = false;
};

}  // namespace mlaindex::emulator
