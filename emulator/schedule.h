// Every choice a run makes, drawn from its seed: which warp runs, for how long, and when each
// asynchronous operation completes.
#pragma once

#include <cstdint>

namespace mlaindex::emulator {

// SplitMix64: one word of state, every seed is a good one.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

// When an asynchronous operation takes effect.
enum class Timing : std::uint8_t {
  eager,    // at issue: the earliest legal moment
  delayed,  // some scheduling steps later
  lazy,     // when nothing else can run: the latest legal moment
};

// The character of one run. Seed 0 is all eager, seed 1 all lazy; the others mix, each in its own
// proportions.
class Schedule {
 public:
  Schedule(std::uint64_t seed, std::uint64_t cluster) noexcept
      : random_(seed * 0x2545F4914F6CDD1Du + cluster), seed_(seed) {
    Random character(seed ^ 0xA0761D6478BD642Fu);
    eager_percent_ = seed == 0 ? 100 : seed == 1 ? 0 : character.below(60);
    lazy_percent_ = seed == 0 ? 0 : seed == 1 ? 100 : character.below(60);
    longest_delay_ = 1 + character.below(200);
    longest_slice_ = seed <= 1 ? 64 : 1 + character.below(192);
    by_priority_ = seed > 1 && character.below(2) == 0;
  }

  Random& random() noexcept { return random_; }
  Timing timing() noexcept {
    const std::uint32_t draw = random_.below(100);
    if (draw < eager_percent_) return Timing::eager;
    return draw < eager_percent_ + lazy_percent_ ? Timing::lazy : Timing::delayed;
  }
  std::uint32_t delay() noexcept { return 1 + random_.below(longest_delay_); }
  // Instructions a warp runs before the next choice.
  std::uint32_t slice() noexcept { return seed_ == 0 ? longest_slice_ : 1 + random_.below(longest_slice_); }
  // Whether a try_wait that cannot succeed yet returns false instead of suspending the thread.
  bool spurious_timeout() noexcept { return seed_ > 1 && random_.below(16) == 0; }
  // Half of the mixed runs starve some warps: the runnable warp of the highest priority runs, and
  // priorities change now and then. That finds waits whose absence fair schedules hide.
  bool by_priority() const noexcept { return by_priority_; }
  bool fair_turn() noexcept { return random_.below(32) == 0; }
  bool priority_change() noexcept { return random_.below(200) == 0; }
  // Lanes of a warp need not stay together: now and then some fall behind for `steps`
  // instructions, or until nothing else can run.
  bool lanes_fall_behind() noexcept { return seed_ > 1 && random_.below(100) == 0; }
  std::uint64_t lag() noexcept { return random_.below(2) == 0 ? ~std::uint64_t{0} : 1 + random_.below(2000); }

 private:
  Random random_;
  std::uint64_t seed_;
  std::uint32_t eager_percent_, lazy_percent_, longest_delay_, longest_slice_;
  bool by_priority_;
};

}  // namespace mlaindex::emulator
