// What a run found wrong, and where.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mlaindex::emulator {

enum class FaultKind : std::uint8_t {
  deadlock,              // nobody can go on; the message says who waits for what
  unknown_instruction,   // an instruction or modifier that is not modelled
  out_of_bounds,         // global, shared, local, parameter or tensor memory
  misaligned,
  uninitialised_read,
  proxy_hazard,          // generic and asynchronous accesses of shared memory without a proxy fence
  slot_overwritten,      // memory written while an asynchronous operation still reads it
  result_before_wait,    // a result used, or memory read, before the operation was waited for
  missing_fence,         // tcgen05 or wgmma fence missing between ordered users
  byte_count,            // transaction bytes of an mbarrier that do not add up
  barrier_misuse,        // arrivals that do not fit, uninitialised or overwritten barriers
  aligned_divergence,    // an .aligned or .sync instruction without all its lanes
  illegal_operand,       // descriptor, shape, address or count outside what the instruction allows
  register_pool,         // setmaxnreg against the registers the CTA owns
  tensor_memory_leak,
  unfinished_work,       // the CTA ended with asynchronous work outstanding
  launch_overlap,        // something that goes wrong only where launches overlap: see docs/emulator.md
  trap,
  step_limit,
};

const char* fault_kind_name(FaultKind kind) noexcept;

struct Fault {
  FaultKind kind = FaultKind::deadlock;
  bool fatal = false;          // the run stopped here
  std::uint32_t line = 0;      // of the PTX text; 0 when no instruction is to blame
  std::array<std::uint32_t, 3> cta{};
  std::uint32_t warp = 0;
  std::string role;            // name of the warp's role, if the launch gave one
  std::string instruction;     // opcode
  std::string message;         // values included
  std::uint64_t count = 1;     // occurrences of this kind at this line

  std::string text() const;    // one line for a person
};

// "0x3F0", for messages.
std::string hex(std::uint64_t value);

// Keeps the first occurrence of each (kind, line, opcode) and counts the others.
class FaultLog {
 public:
  bool add(Fault fault);  // whether it is the first
  void merge(const FaultLog& other);
  bool fatal() const noexcept { return fatal_; }
  const std::vector<Fault>& faults() const noexcept { return faults_; }

 private:
  std::vector<Fault> faults_;
  bool fatal_ = false;
};

}  // namespace mlaindex::emulator
