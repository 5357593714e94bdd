#include "emulator/fault.h"

#include <algorithm>
#include <cstdio>

namespace mlaindex::emulator {

const char* fault_kind_name(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::deadlock: return "deadlock";
    case FaultKind::unknown_instruction: return "unknown_instruction";
    case FaultKind::out_of_bounds: return "out_of_bounds";
    case FaultKind::misaligned: return "misaligned";
    case FaultKind::uninitialised_read: return "uninitialised_read";
    case FaultKind::proxy_hazard: return "proxy_hazard";
    case FaultKind::slot_overwritten: return "slot_overwritten";
    case FaultKind::result_before_wait: return "result_before_wait";
    case FaultKind::missing_fence: return "missing_fence";
    case FaultKind::byte_count: return "byte_count";
    case FaultKind::barrier_misuse: return "barrier_misuse";
    case FaultKind::aligned_divergence: return "aligned_divergence";
    case FaultKind::illegal_operand: return "illegal_operand";
    case FaultKind::register_pool: return "register_pool";
    case FaultKind::tensor_memory_leak: return "tensor_memory_leak";
    case FaultKind::unfinished_work: return "unfinished_work";
    case FaultKind::launch_overlap: return "launch_overlap";
    case FaultKind::trap: return "trap";
    case FaultKind::step_limit: return "step_limit";
  }
  return "unknown";
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llX", static_cast<unsigned long long>(value));
  return text;
}

std::string Fault::text() const {
  std::string out = fault_kind_name(kind);
  if (line != 0) out += " at line " + std::to_string(line);
  out += ", cta (" + std::to_string(cta[0]) + "," + std::to_string(cta[1]) + "," + std::to_string(cta[2]) +
         ") warp " + std::to_string(warp);
  if (!role.empty()) out += " (" + role + ")";
  if (!instruction.empty()) out += ", " + instruction;
  out += ": " + message;
  if (count > 1) out += " [" + std::to_string(count) + " times]";
  return out;
}

bool FaultLog::add(Fault fault) {
  fatal_ = fatal_ || fault.fatal;
  const auto same = [&](const Fault& f) {
    return f.kind == fault.kind && f.line == fault.line && f.instruction == fault.instruction;
  };
  if (const auto it = std::find_if(faults_.begin(), faults_.end(), same); it != faults_.end()) {
    it->count += fault.count;
    it->fatal = it->fatal || fault.fatal;
    return false;
  }
  faults_.push_back(std::move(fault));
  return true;
}

void FaultLog::merge(const FaultLog& other) {
  for (const Fault& fault : other.faults_) add(fault);
}

}  // namespace mlaindex::emulator
