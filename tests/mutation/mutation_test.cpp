// It can fail: each defect planted in a kernel's PTX must be reported, or explained.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "generator/base/format.h"
#include "tests/mutation/mutation.h"
#include "tests/mutation/subject.h"
#include "tests/mutation/survivors.h"
#include "tests/mutation/test_store.h"
#include "tests/parallel.h"
#include "tests/sample.h"

using namespace mlaindex;
using namespace mlaindex::mutation;

namespace {

constexpr std::string_view unchanged = "unchanged";

struct Outcome {
  std::string subject;
  std::string mutant;
  std::string kind;
  Judgement judgement;
};

std::vector<Subject> all_subjects() {
  KernelStore store = memory_only_store();
  std::vector<Subject> subjects;
  for (Arch arch : all_archs)
    for (const std::string& plan : plan_names(arch)) {
      auto subject = Subject::make(store, arch, plan);
      if (!subject) FAIL(subject.error().text());
      subjects.push_back(std::move(*subject));
    }
  return subjects;
}

// The unchanged kernel, then every mutant of it.
std::vector<Mutant> kernel_and_mutants(const Subject& subject) {
  std::vector<Mutant> all = mutants_of(subject.name(), subject.module(), subject.plan());
  all.insert(all.begin(), {subject.name(), std::string(unchanged), subject.module()});
  return all;
}

std::vector<Outcome> judge_all(const Subject& subject, std::uint64_t schedules) {
  std::vector<Mutant> all = kernel_and_mutants(subject);
  keep_sample(all);
  std::vector<Outcome> outcomes(all.size());
  in_parallel(all.size(), [&](std::size_t i) {
    outcomes[i] = {subject.name(), all[i].name, all[i].kind, subject.judge(all[i].module, schedules)};
  });
  return outcomes;
}

const Survivor* listed(const std::string& mutant) {
  const auto found = std::find_if(survivors().begin(), survivors().end(),
                                  [&](const Survivor& survivor) { return survivor.mutant == mutant; });
  return found == survivors().end() ? nullptr : &*found;
}

void print_outcomes(const std::vector<Outcome>& outcomes) {
  for (const Outcome& outcome : outcomes)
    fmt::print("{}\n  verify:   {:.150}\n  emulator: {:.150}\n", outcome.mutant, outcome.judgement.verify, outcome.judgement.emulator);
}

// What docs/mutants.md shows.
void print_table(const std::vector<Outcome>& outcomes) {
  struct Row {
    int planted = 0, verify = 0, emulator = 0, caught = 0;
  };
  std::map<std::string, std::map<std::string, Row>> by_subject;
  for (const Outcome& outcome : outcomes) {
    for (const std::string& kind : {outcome.kind, std::string("all")}) {
      Row& row = by_subject[outcome.subject][kind];
      ++row.planted;
      row.verify += !outcome.judgement.verify.empty();
      row.emulator += !outcome.judgement.emulator.empty();
      row.caught += outcome.judgement.caught();
    }
  }
  for (const auto& [subject, rows] : by_subject)
    for (const auto& [kind, row] : rows)
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", subject, kind, row.planted, row.caught, row.verify, row.emulator);
  std::cout << std::flush;
}

enum class Form { short_form, full };

constexpr std::uint64_t schedules_of(Form form) { return form == Form::full ? 24 : 12; }

bool may_survive(const std::string& mutant, Form form) {
  const Survivor* survivor = listed(mutant);
  return survivor && !(survivor->kind == SurvivorKind::rare && form == Form::full);
}

// How many survivors are of a kind, in words.
std::string survivors_text(const std::vector<Outcome>& outcomes) {
  std::map<SurvivorKind, int> explained;
  int others = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.judgement.caught()) continue;
    const Survivor* survivor = listed(outcome.mutant);
    if (survivor) ++explained[survivor->kind];
    else ++others;
  }
  return fmt::format("{} equivalent, {} caught in the full form, {} blind spots, {} not explained",
                     explained[SurvivorKind::equivalent], explained[SurvivorKind::rare],
                     explained[SurvivorKind::blind_spot], others);
}

void check_suite(Form form) {
  const Stopwatch watch;
  const std::uint64_t schedules = schedules_of(form);
  std::vector<Outcome> outcomes;
  for (const Subject& subject : all_subjects()) {
    INFO(subject.name());
    std::vector<Outcome> of_subject = judge_all(subject, schedules);
    REQUIRE(of_subject.front().kind == unchanged);
    CHECK(of_subject.front().judgement.verify == "");
    CHECK(of_subject.front().judgement.emulator == "");
    of_subject.erase(of_subject.begin());
    print_outcomes(of_subject);
    print_table(of_subject);
    outcomes.insert(outcomes.end(), of_subject.begin(), of_subject.end());
  }

  std::size_t caught = 0;
  for (const Outcome& outcome : outcomes) {
    caught += outcome.judgement.caught();
    const bool may = may_survive(outcome.mutant, form);
    if (outcome.judgement.caught() && may)
      FAIL_CHECK(outcome.mutant << " is listed as a survivor, and was caught: " << outcome.judgement.verify << ' '
                                << outcome.judgement.emulator);
    if (!outcome.judgement.caught() && !may) FAIL_CHECK(outcome.mutant << " survived and is not explained");
  }
  for (const Survivor& survivor : survivors()) {
    if (sample_stride > 1) break;  // many are not planted
    INFO(survivor.mutant << " is listed as a survivor, but no such mutant is planted");
    CHECK(std::any_of(outcomes.begin(), outcomes.end(),
                      [&](const Outcome& outcome) { return outcome.mutant == survivor.mutant; }));
  }
  CHECK(outcomes.size() >= 60);
  fmt::print("mutants: {} of {} caught under {} schedules ({:.1f} %){}; survivors: {}\n", caught, outcomes.size(), schedules,
             100.0 * static_cast<double>(caught) / static_cast<double>(outcomes.size()), watch.text(),
             survivors_text(outcomes));
  std::cout << std::flush;
  if (sample_stride == 1) CHECK(100 * caught >= 95 * outcomes.size());
}

}  // namespace

TEST_CASE("a defect planted in a kernel is reported") { check_suite(Form::short_form); }

TEST_CASE("a defect planted in a kernel is reported under many schedules", "[.full]") { check_suite(Form::full); }

// For whoever looks into a survivor: which schedules find it.
TEST_CASE("the mutant that MLAINDEX_MUTANT names, under 1000 schedules", "[.one]") {
  const char* name = std::getenv("MLAINDEX_MUTANT");
  if (!name) FAIL("set MLAINDEX_MUTANT to a name, such as \"sm_100a/seed drop mma #1\"");
  constexpr std::uint64_t schedules = 1000;
  bool known = false;
  for (const Subject& subject : all_subjects())
    for (const Mutant& mutant : kernel_and_mutants(subject)) {
      if (mutant.name != name) continue;
      known = true;
      std::vector<std::string> faults(schedules);
      in_parallel(schedules, [&](std::size_t seed) { faults[seed] = subject.fault_under(mutant.module, seed); });
      const auto caught = schedules - static_cast<std::uint64_t>(std::count(faults.begin(), faults.end(), ""));
      for (const std::string& fault : faults)
        if (!fault.empty()) fmt::print("  {:.200}\n", fault);
      fmt::print("{}: {} of {} schedules find it\n", mutant.name, caught, schedules);
    }
  CHECK(known);
  std::cout << std::flush;
}
