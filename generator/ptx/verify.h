// Does a kernel keep the contract of this library's kernels? Everything that can be seen without
// running it; the emulator finds the rest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/ptx/module.h"
#include "generator/ptx/pass.h"

namespace mlaindex::ptx {

// A breach of the contract.
struct Finding {
  std::string rule;         // "tensor_memory", "descriptor", ...
  SourceLocation location;  // in the PTX text
  std::string message;      // what was found and what is allowed
  std::string instruction;  // as printed; empty when the finding is about the whole entry

  std::string text() const;  // "line 12: descriptor: ...: tcgen05.mma ...;"
};

struct VerifyContext {
  int launch_registers = 0;  // per thread, from the cubin; 0: not known
  std::map<std::uint32_t, std::uint64_t> tensor_map_box_bytes;  // as in PassContext
};

// Findings of one entry of `module`, in the order of the text within each rule.
std::vector<Finding> verify(const Module& module, const Function& entry, const VerifyContext& context);

// How many instructions of each class that matters an entry has: "tcgen05.mma", "TMA load", ...
// Of the instructions for which `counted` holds, by index; empty: all.
std::map<std::string, int> census(const Function& entry, const std::vector<bool>& counted = {});

// Verifies every entry of the artifact's PTX. Runs after the facts pass. Errors: rejected_by_pass
// with the findings, invalid_file when the PTX does not parse.
class VerifyPass final : public Pass {
 public:
  std::string_view name() const noexcept override { return "verify"; }
  int version() const noexcept override { return 5; }
  Status run(Artifact& artifact, const PassContext& context) const override;
};

}  // namespace mlaindex::ptx
