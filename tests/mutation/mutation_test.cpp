// It can fail: each defect planted in a kernel's PTX must be reported, or explained.
#include <catch2/catch.hpp>

#include <algorithm>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "tests/mutation/mutation.h"
#include "tests/mutation/subject.h"
#include "tests/mutation/survivors.h"
#include "tests/mutation/test_store.h"
#include "tests/parallel.h"

using namespace mlaindex;
using namespace mlaindex::mutation;

namespace {

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

std::vector<Outcome> judge_all(const Subject& subject, std::uint64_t schedules) {
  const std::vector<Mutant> mutants = mutants_of(subject.name(), subject.module(), subject.plan());
  std::vector<Outcome> outcomes(mutants.size());
  in_parallel(mutants.size(), [&](std::size_t i) {
    outcomes[i] = {subject.name(), mutants[i].name, mutants[i].kind, subject.judge(mutants[i].module, schedules)};
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

constexpr std::uint64_t schedules_of(Form form) { return form == Form::full ? 24 : 8; }

bool may_survive(const std::string& mutant, Form form) {
  const Survivor* survivor = listed(mutant);
  return survivor && !(survivor->kind == SurvivorKind::rare && form == Form::full);
}

void check_suite(Form form) {
  const std::uint64_t schedules = schedules_of(form);
  std::vector<Outcome> outcomes;
  for (const Subject& subject : all_subjects()) {
    INFO(subject.name());
    const Judgement clean = subject.judge(subject.module(), schedules);
    CHECK(clean.verify == "");
    CHECK(clean.emulator == "");
    const std::vector<Outcome> of_subject = judge_all(subject, schedules);
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
    INFO(survivor.mutant << " is listed as a survivor, but no such mutant is planted");
    CHECK(std::any_of(outcomes.begin(), outcomes.end(),
                      [&](const Outcome& outcome) { return outcome.mutant == survivor.mutant; }));
  }
  CHECK(outcomes.size() >= 60);
  INFO(caught << " of " << outcomes.size() << " mutants caught");
  CHECK(100 * caught >= 95 * outcomes.size());
}

}  // namespace

TEST_CASE("a defect planted in a kernel is reported") { check_suite(Form::short_form); }

TEST_CASE("a defect planted in a kernel is reported under many schedules", "[.full]") { check_suite(Form::full); }
