// A statement about the hardware, and how it is put to the test.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/hardware/facts/experiment.h"

namespace mlaindex::hardware {

// What an examination saw, in its order.
class Findings {
 public:
  void note(std::string text) { lines_.push_back("     " + std::move(text)); }
  // Returns `passed`. The text says what was expected and what was seen.
  bool check(bool passed, std::string text) {
    failures_ += passed ? 0 : 1;
    lines_.push_back((passed ? "PASS " : "FAIL ") + std::move(text));
    return passed;
  }
  // Whether an experiment gave a result. One that was not run for an earlier one's fault is no failure of its own.
  template <class T>
  bool ran(const std::string& label, const Result<T>& result) {
    if (result) return check(true, label + ": ran");
    if (!was_not_run(result.error())) return check(false, label + ": " + result.error().text());
    lines_.push_back("skip " + label + ": " + result.error().message);
    ++not_run_;
    return false;
  }
  int failures() const noexcept { return failures_; }
  int not_run() const noexcept { return not_run_; }
  const std::vector<std::string>& lines() const noexcept { return lines_; }

 private:
  std::vector<std::string> lines_;
  int failures_ = 0, not_run_ = 0;
};

enum class Emulator {
  agrees,   // must give what the statement says, and the GPU's bytes
  refuses,  // must refuse every experiment: nobody knew better when it was written
  silent,   // is not asked: the statement is about what nobody may rely on
};

struct Fact {
  const char* name;  // of --only
  const char* statement;
  void (*examine)(Machine& machine, Findings& findings);
  Emulator emulator = Emulator::agrees;
  bool may_fault = false;  // on a GPU each experiment gets a process, since a fault ends what its process may do
};

std::span<const Fact> warp_and_cluster_facts() noexcept;
std::span<const Fact> shared_memory_facts() noexcept;
std::span<const Fact> copy_facts() noexcept;
std::span<const Fact> swizzle_facts() noexcept;
std::span<const Fact> descriptor_facts() noexcept;
std::span<const Fact> accumulation_facts() noexcept;

}  // namespace mlaindex::hardware
