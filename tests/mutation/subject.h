// A compiled kernel, the small problems it is run on, and the judgement of a changed copy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generator/base/result.h"
#include "generator/ptx/module.h"
#include "generator/ptx/verify.h"
#include "runtime/kernel_store.h"
#include "tools/case_file.h"

namespace mlaindex::mutation {

// What each of the two examiners says of a module; empty: nothing.
struct Judgement {
  std::string verify;    // the first finding of the verify pass
  std::string emulator;  // the first fault, or the first wrong score, and its schedule

  bool caught() const noexcept { return !verify.empty() || !emulator.empty(); }
};

class Subject {
 public:
  // The plan's kernel for 64 heads of depth 128 and ranges of visible keys, with -inf elsewhere, as
  // the kernel store makes it. Paged: pages of 64 keys, a context length a request.
  static Result<Subject> make(KernelStore& store, Arch arch, const std::string& plan_name,
                              Layout layout = Layout::contiguous);

  std::string name() const;  // "sm_100a/q_resident"
  const ptx::Module& module() const noexcept { return *module_; }
  const Plan& plan() const noexcept { return kernel_->plan; }

  // Runs the verify pass, and the module under `schedules` seeds until something is found. The first
  // problem has ragged ends and few tiles; in the second every ring wraps around more than once.
  // Safe to call from several threads.
  Judgement judge(const ptx::Module& module, std::uint64_t schedules) const;
  // What the emulator or the reference finds under one schedule; empty: nothing.
  std::string fault_under(const ptx::Module& module, std::uint64_t schedule) const;

 private:
  struct Problem {
    tools::Case input;
    int num_sms = 0;
  };

  std::string first_finding(const ptx::Module& module) const;
  std::string first_fault(const ptx::Module& module, const Problem& problem, std::uint64_t seed) const;

  std::shared_ptr<const CompiledKernel> kernel_;
  std::shared_ptr<const ptx::Module> module_;
  std::shared_ptr<const std::vector<Problem>> problems_;
  ptx::VerifyContext verify_context_;
};

}  // namespace mlaindex::mutation
