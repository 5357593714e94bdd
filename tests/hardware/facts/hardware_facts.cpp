// Puts the emulator's assumptions to the test: the same kernels on a GPU and on the emulator.
// Exit codes: 0 all held, 1 some did not, 2 wrong usage, 3 no usable GPU.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "generator/base/format.h"
#include "runtime/config.h"
#include "tests/hardware/facts/emulated_machine.h"
#include "tests/hardware/facts/fact.h"
#include "tests/hardware/facts/gpu_machine.h"
#include "tests/hardware/facts/isolated_machine.h"
#include "tests/hardware/facts/tile_copy.h"

namespace mlaindex::hardware {
namespace {

constexpr unsigned seconds_per_fact = 120;

struct Settings {
  std::string only;
  int device = 0;
  bool emulator_only = false;
  bool brief = false;
};

// Remembers what a machine answered.
class Recorder final : public Machine {
 public:
  explicit Recorder(Machine& machine) : machine_(machine) {}
  std::string name() const override { return machine_.name(); }
  Result<Bytes> run(const Experiment& experiment) override {
    Result<Bytes> output = machine_.run(experiment);
    answers_.insert_or_assign(experiment.label, output);
    return output;
  }
  const std::map<std::string, Result<Bytes>>& answers() const noexcept { return answers_; }

 private:
  Machine& machine_;
  std::map<std::string, Result<Bytes>> answers_;
};

// One line on stdout.
void print(const std::string& who, const std::string& line) {
  fmt::print("  {:<12} {}\n", who, line);
  std::fflush(stdout);
}

// A line for each check and note (brief: for each failed check), then a count.
int report(const std::string& who, const Findings& findings, bool brief) {
  std::size_t checks = 0;
  for (const std::string& line : findings.lines()) {
    checks += line.starts_with("PASS") || line.starts_with("FAIL") ? 1 : 0;
    if (!brief || line.starts_with("FAIL")) print(who, line);
  }
  print(who, fmt::format("{} {} of {} checks{}", findings.failures() == 0 ? "PASS" : "FAIL",
                         checks - static_cast<std::size_t>(findings.failures()), checks,
                         findings.not_run() == 0 ? "" : fmt::format(", {} experiments not run", findings.not_run())));
  return findings.failures();
}

int check_refusals(const Recorder& emulator) {
  int accepted = 0;
  for (const auto& [label, answer] : emulator.answers()) accepted += answer.ok() ? 1 : 0;
  const auto& first = *emulator.answers().begin();
  print("emulator", fmt::format("{} refuses {} of {} experiments: {}", accepted == 0 ? "PASS" : "FAIL",
                                emulator.answers().size() - static_cast<std::size_t>(accepted),
                                emulator.answers().size(), first.second ? "" : first.second.error().text()));
  return accepted;
}

int examine_on_emulator(const Fact& fact, Recorder& emulator, const Settings& settings) {
  if (fact.emulator == Emulator::silent) return 0;
  Findings findings;
  fact.examine(emulator, findings);
  return fact.emulator == Emulator::refuses ? check_refusals(emulator) : report("emulator", findings, settings.brief);
}

int compare(const Recorder& gpu, const Recorder& emulator) {
  std::size_t equal = 0, both_refuse = 0;
  int different = 0;
  for (const auto& [label, answer] : gpu.answers()) {
    const auto other = emulator.answers().find(label);
    if (other == emulator.answers().end() || (!answer && was_not_run(answer.error()))) continue;
    if (!answer && !other->second) {
      ++both_refuse;
    } else if (answer.ok() != other->second.ok()) {
      ++different;
      print("both",
            fmt::format("FAIL {}: the GPU {}, the emulator {}", label, answer ? "runs it" : answer.error().text(),
                        other->second ? "runs it" : other->second.error().text()));
    } else if (const std::string difference = first_difference(*answer, *other->second); difference == "equal") {
      ++equal;
    } else {
      ++different;
      print("both", fmt::format("FAIL {}: GPU against emulator: {}", label, difference));
    }
  }
  print("both", fmt::format("{} {} experiments equal byte for byte, {} refused by both, {} different",
                            different == 0 ? "PASS" : "FAIL", equal, both_refuse, different));
  return different;
}

// The number of assumptions that did not hold.
int examine(const Fact& fact, FactKernels& kernels, Machine* gpu_machine, const Settings& settings) {
  fmt::print("{}: {}\n", fact.name, fact.statement);
  EmulatedMachine emulated(kernels);
  Recorder emulator(emulated);
  int failures = examine_on_emulator(fact, emulator, settings);
  if (gpu_machine == nullptr) return failures;
  Recorder gpu(*gpu_machine);
  Findings findings;
  fact.examine(gpu, findings);
  failures += report("GPU", findings, settings.brief);
  if (fact.emulator == Emulator::agrees) failures += compare(gpu, emulator);
  return failures;
}

// In a process that has not used CUDA.
int examine_on_gpu(const Fact& fact, const Config& config, const Settings& settings) {
  FactKernels kernels(make_nvrtc_compiler(config));
  if (fact.may_fault) {
    IsolatedMachine isolated(kernels, config, settings.device);
    return examine(fact, kernels, &isolated, settings) == 0 ? 0 : 1;
  }
  auto gpu = GpuMachine::open(kernels, config, settings.device);
  if (!gpu) {
    fmt::print(stderr, "error: {}\n", gpu.error().text());
    return 3;
  }
  return examine(fact, kernels, gpu->get(), settings) == 0 ? 0 : 1;
}

// Calls work() in a process of its own, which a fault or a hang may end, and returns what it returned.
template <class F>
int apart(F work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return 3;
  if (child == 0) {
    alarm(seconds_per_fact);
    const int result = work();
    std::fflush(stdout);
    _exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  fmt::print("FAIL the process ended by signal {}{}\n", WTERMSIG(status),
             WTERMSIG(status) == SIGALRM ? ": no answer in time" : "");
  return 1;
}

int usable_gpu(const Config& config, const Settings& settings) {
  FactKernels kernels(make_nvrtc_compiler(config));
  const auto gpu = GpuMachine::open(kernels, config, settings.device);
  if (!gpu) fmt::print(stderr, "error: {}\n", gpu.error().text());
  return gpu ? 0 : 3;
}

int run_on_gpu(const std::vector<const Fact*>& facts, const Settings& settings) {
  const Config config = config_from_environment();
  if (const int result = apart([&] { return usable_gpu(config, settings); }); result != 0) return result;
  int worst = 0;
  for (const Fact* fact : facts)
    worst = std::max(worst, apart([&] { return examine_on_gpu(*fact, config, settings); }));
  fmt::print("{}\n", worst == 0 ? "all statements hold" : "some statements do not hold: see FAIL above");
  return worst;
}

int run_on_emulator(const std::vector<const Fact*>& facts, const Settings& settings) {
  FactKernels kernels(make_nvrtc_compiler(config_from_environment()));
  int failures = 0;
  for (const Fact* fact : facts) failures += examine(*fact, kernels, nullptr, settings);
  return failures == 0 ? 0 : 1;
}

int run(const Settings& settings) {
  std::vector<const Fact*> facts;
  for (const auto& group : {warp_and_cluster_facts(), shared_memory_facts(), copy_facts(), swizzle_facts(),
                            descriptor_facts(), accumulation_facts()})
    for (const Fact& fact : group)
      if (std::string_view(fact.name).find(settings.only) != std::string_view::npos) facts.push_back(&fact);
  if (facts.empty()) {
    fmt::print(stderr, "error: no fact has '{}' in its name\n", settings.only);
    return 2;
  }
  return settings.emulator_only ? run_on_emulator(facts, settings) : run_on_gpu(facts, settings);
}

}  // namespace
}  // namespace mlaindex::hardware

int main(int argc, char** argv) {
  mlaindex::hardware::Settings settings;
  CLI::App app{"Checks what the emulator assumes of the hardware, on a GPU of sm_90 and on the emulator"};
  app.add_option("--only", settings.only, "Only facts with this in their name");
  app.add_option("--device", settings.device, "Number of the GPU");
  app.add_flag("--emulator", settings.emulator_only, "Only on the emulator: needs no GPU");
  app.add_flag("--brief", settings.brief, "Print what failed and counts only");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return mlaindex::hardware::run(settings);
}
