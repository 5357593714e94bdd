// cp.async.bulk: what loads, stores and their decoding share.
#pragma once

#include "emulator/decoder.h"
#include "emulator/execution.h"
#include "emulator/memory_access.h"
#include "emulator/tma.h"

namespace mlaindex::emulator {

struct CopySettings {
  std::uint32_t rank;   // of a tensor copy
  bool gather, multicast, add;
  bool cta_pair;        // .cta_group::2: the barrier may be the peer's
};

struct GroupSettings {
  std::uint32_t allowed;   // groups that may stay pending
  bool reads_only;         // .read
};

// Operands of the checks below; false after a fatal fault.
bool read_map(Execution& x, const AddressOperand& address, unsigned lane, TensorMapParams& map);
bool linear_size(Execution& x, std::size_t operand, unsigned lane, std::uint32_t& bytes);
bool global_range(Execution& x, std::uint64_t address, unsigned lane, std::uint32_t bytes, bool write);
Coordinates coordinates(const Execution& x, std::size_t first, std::uint32_t count, unsigned lane);

// Handlers. Addresses: destination, source, mbarrier of a load; map or destination, source of a store.
Step bulk_tensor_load(Execution& x);
Step bulk_load_global(Execution& x);
Step bulk_load_shared(Execution& x);
Step bulk_tensor_store(Execution& x);
Step bulk_store(Execution& x);
Step bulk_commit_group(Execution& x);
Step bulk_wait_group(Execution& x);

}  // namespace mlaindex::emulator
