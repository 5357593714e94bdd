// Changes to a kernel's PTX on request, followed by a new assembly.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/ptx/assembler.h"
#include "generator/ptx/module.h"
#include "generator/ptx/pass.h"

namespace mlaindex::ptx {

// What the L2 cache should do with what a TMA load brings.
enum class Eviction { normal, first, last };

struct RewriteOptions {
  std::optional<int> max_registers;          // .maxnreg of every entry; wins over .minnctapersm
  std::vector<std::string> entry_pragmas;    // "enable_smem_spilling": .pragma of every entry
  std::map<int, Eviction> tma_eviction;      // by index of the kernel parameter that holds the map
  bool strip_debug = false;                  // line tables and debug sections
  std::vector<std::string> assembler_options;  // to ptxas, as they are: "--register-usage-level=10"

  bool operator==(const RewriteOptions&) const = default;
  std::string text() const;  // one line, different for different options
};

// The changed module. Errors: invalid_argument for a register count that PTX does not allow, a
// parameter that the kernel does not have, or an eviction that no TMA load of the kernel answers to.
Result<Module> rewritten(const Module& module, const RewriteOptions& options);

// Rewrites the artifact's PTX and replaces its cubin. Must run before the facts pass. Errors: those
// of `rewritten`; no_nvrtc when there is no assembler; compile_failed with its log.
class RewritePass final : public Pass {
 public:
  RewritePass(RewriteOptions options, Result<Assembler> assembler)
      : options_(std::move(options)), assembler_(std::move(assembler)) {}
  std::string_view name() const noexcept override { return "rewrite"; }
  int version() const noexcept override { return 1; }
  std::string settings() const override { return options_.text(); }
  Status run(Artifact& artifact, const PassContext& context) const override;

 private:
  RewriteOptions options_;
  Result<Assembler> assembler_;
};

}  // namespace mlaindex::ptx
