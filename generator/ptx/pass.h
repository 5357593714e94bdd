// A pass over what the compiler made of one kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/barrier_group.h"
#include "generator/base/digest.h"
#include "generator/base/result.h"
#include "generator/ptx/cubin_facts.h"

namespace mlaindex::ptx {

// A line of a pass's report, for people.
struct Note {
  std::string pass;
  std::string subject;  // "registers", "mbarrier", "descriptor", ...
  std::string text;
};

// Neighbouring warps that do the same work.
struct WarpSet {
  std::string role;
  std::uint32_t first_warp = 0;
  std::uint32_t num_warps = 0;
};

// The kernel on its way through the pipeline. Passes check it, add facts or rewrite it.
struct Artifact {
  std::string ptx;    // text; empty when the compiler gave none
  std::string cubin;
  CubinFacts facts;   // of `cubin`, by the facts pass
  Digest code_digest{};  // of the normalised PTX, by the normalise pass
  std::vector<Note> notes;
};

// What the kernel is allowed to be: the budgets of its plan and of its launch.
struct PassContext {
  std::string entry;                 // symbol of the only entry point
  int sm_number = 0;                 // 90, 100
  int max_registers_per_thread = 0;  // at launch, before setmaxnreg
  int dynamic_shared_bytes = 0;      // what the launch will ask for
  int max_shared_bytes = 0;          // static and dynamic together
  bool allow_spills = false;
  // Bytes of the box of the tensor map in each kernel parameter, by index; empty: not checked.
  std::map<std::uint32_t, std::uint64_t> tensor_map_box_bytes;

  // For reports. Nothing is judged by these.
  bool describe = false;  // what the passes found, and not only what they refuse
  std::vector<WarpSet> roles;
  std::vector<BarrierGroup> barriers;
};

class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::string_view name() const noexcept = 0;
  // Raised whenever the pass judges or changes kernels differently: it is part of the cache key.
  virtual int version() const noexcept = 0;
  // What else decides the outcome, for a pass that can be configured; part of the key, too.
  virtual std::string settings() const { return {}; }
  // Errors: rejected_by_pass when the kernel is refused; invalid_file when it cannot be read.
  virtual Status run(Artifact& artifact, const PassContext& context) const = 0;
};

}  // namespace mlaindex::ptx
