#include "emulator/async_queue.h"

#include <algorithm>

namespace mlaindex::emulator {
namespace {

// A lazy operation completes in the end even while some thread spins on plain memory.
constexpr std::uint64_t kLongestLaziness = 20000;

}  // namespace

std::uint64_t AsyncQueue::add(AsyncOperation operation) {
  operation.id = next_id_++;
  operation.issued = now_;
  std::erase_if(operation.after, [this](std::uint64_t id) { return !pending(id); });
  Entry entry{std::move(operation), schedule_.timing(), ticks_};
  if (entry.timing == Timing::delayed) entry.due = ticks_ + schedule_.delay();
  if (entry.timing == Timing::lazy) entry.due = ticks_ + kLongestLaziness;
  const std::uint64_t id = entry.operation.id;
  entries_.push_back(std::move(entry));
  if (entries_.back().timing == Timing::eager) complete_due();
  return id;
}

bool AsyncQueue::pending(std::uint64_t id) const noexcept {
  return std::any_of(entries_.begin(), entries_.end(), [id](const Entry& e) { return e.operation.id == id; });
}

bool AsyncQueue::any_pending(const std::vector<std::uint64_t>& ids) const noexcept {
  return std::any_of(ids.begin(), ids.end(), [this](std::uint64_t id) { return pending(id); });
}

bool AsyncQueue::may_complete(const Entry& entry) const noexcept { return !any_pending(entry.operation.after); }

void AsyncQueue::complete_at(std::size_t index) {
  AsyncOperation operation = std::move(entries_[index].operation);
  operation.complete();
  // Completing may have added operations; this one is still in the list so that they follow it.
  std::erase_if(entries_, [&](const Entry& e) { return e.operation.id == operation.id; });
  ++changes_;
  if (observer_) observer_(operation, now_);
}

void AsyncQueue::complete_due() {
  if (completing_) return;
  completing_ = true;
  for (std::size_t i = 0; i < entries_.size();) {
    if (entries_[i].due <= ticks_ && may_complete(entries_[i])) {
      complete_at(i);
      i = 0;  // others may have waited for it
    } else {
      ++i;
    }
  }
  completing_ = false;
}

void AsyncQueue::tick() {
  ++ticks_;
  if (!entries_.empty()) complete_due();
}

bool AsyncQueue::force_one() {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (may_complete(entries_[i])) candidates.push_back(i);
  if (candidates.empty()) return false;
  complete_at(candidates[schedule_.random().below(static_cast<std::uint32_t>(candidates.size()))]);
  return true;
}

void AsyncQueue::force(std::uint64_t id) {
  for (;;) {
    const auto it = std::find_if(entries_.begin(), entries_.end(), [id](const Entry& e) { return e.operation.id == id; });
    if (it == entries_.end()) return;
    const std::vector<std::uint64_t> after = it->operation.after;
    for (const std::uint64_t before : after) force(before);
    const auto again = std::find_if(entries_.begin(), entries_.end(), [id](const Entry& e) { return e.operation.id == id; });
    if (again != entries_.end()) complete_at(static_cast<std::size_t>(again - entries_.begin()));
  }
}

}  // namespace mlaindex::emulator
