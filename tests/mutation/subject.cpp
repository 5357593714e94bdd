#include "tests/mutation/subject.h"

#include <algorithm>
#include <string_view>

#include "generator/ptx/parser.h"
#include "runtime/check.h"
#include "runtime/emulator_launch.h"
#include "runtime/tensor_map.h"
#include "tools/aligned_bytes.h"
#include "tools/make_case.h"

namespace mlaindex::mutation {
namespace {

constexpr std::byte kPoison{0xa5};
// Warp instructions of a CTA; a run of that many hangs. Right kernels take far fewer here.
constexpr std::uint64_t kMaxSteps = 1'000'000;

struct KeyRange {
  std::int64_t begin, end;
};

struct ProblemRequest {
  tools::CaseRequest input;
  std::vector<KeyRange> blocks = {};  // what the tokens of each block see; none: as make_case has it
};

std::vector<ProblemRequest> paged_requests() {
  const tools::CaseRequest few{.num_keys = 333, .num_requests = 3, .num_heads = 64, .depth = 128, .mask = Mask::context,
                               .page_size = 64, .seed = 7, .exact = true};
  tools::CaseRequest many = few;
  many.num_requests = 9;
  many.num_keys = 700;
  many.seed = 8;
  return {{few}, {many}};
}

// In the largest problem keys are loaded anew twice for many blocks, whose 15 pieces of work, of one to four subtiles, go
// round the ring of blocks three times and end in its last stage; the first one sees no key. Others: no key is visible; a single block sees none of the
// first keys; two tiles of which only the last subtile is seen, so that nobody waits for the others but who has asked for
// them; eight pieces of work of which the second takes longer than those after it.
std::vector<ProblemRequest> k_resident_requests(const Plan& plan, tools::CaseRequest few, tools::CaseRequest many) {
  const std::int64_t subtile = plan.tile_keys;
  const std::int64_t tile = plan.key_stages * subtile;
  tools::CaseRequest none = few, corners = few, uneven = many;
  none.num_tokens = 1;
  few.num_tokens = plan.tokens_per_block - 1;
  few.num_keys = tile + 13;
  corners.num_tokens = 2 * plan.tokens_per_block;
  corners.num_keys = 2 * tile;
  uneven.num_tokens = 8 * plan.tokens_per_block;
  uneven.num_keys = tile;
  many.num_tokens = 9 * plan.tokens_per_block - 1;
  many.num_keys = 2 * tile + 2 * subtile + 6;
  std::vector<KeyRange> second_is_long(8, {5, subtile});
  second_is_long[6] = {0, tile};  // the last blocks come first
  return {{none, {{0, 0}}},
          {few, {{tile, few.num_keys}}},
          {corners, {{tile - subtile + 8, tile}, {2 * tile - subtile + 8, 2 * tile}}},
          {uneven, second_is_long},
          {many,
           {{subtile + 10, tile + 2 * subtile - 5},
            {3 * subtile + 5, tile + subtile},
            {5, subtile},
            {2 * subtile, many.num_keys},
            {2 * tile, 2 * tile + subtile},
            {2 * tile, many.num_keys},
            {2 * tile + subtile, 2 * tile + 2 * subtile},
            {2 * tile - subtile, 2 * tile + 30},
            {many.num_keys - 10, many.num_keys}}}};
}

std::vector<ProblemRequest> requests_for(const Plan& plan) {
  if (plan.family == "paged") return paged_requests();
  tools::CaseRequest few{.num_tokens = 5, .num_keys = 333, .num_heads = 64, .depth = 128, .mask = Mask::ranges, .seed = 7, .exact = true};
  tools::CaseRequest many = few;
  many.seed = 8;
  many.exact = false;
  if (plan.family == "k_resident") return k_resident_requests(plan, few, many);
  if (plan.persistent) {  // token blocks go through a ring, too
    few.num_tokens = std::min<std::int64_t>(few.num_tokens, plan.tokens_per_block - 1);  // one block
    many.num_tokens = 5 * plan.tokens_per_block + 3;
    many.num_keys = plan.key_stages * 3 / 4 * plan.tile_keys + 6;  // two blocks have more tiles than the ring has stages
  } else {
    many.num_keys = 2050;
  }
  return {{few}, {many}};
}

// Of four tokens one sees all of its block's range, one nothing, and two have other ends.
void set_ranges(tools::Safetensors& tensors, const std::vector<KeyRange>& blocks, std::int64_t tokens_per_block) {
  const auto starts = tensors.tensors["row_start"].data.as<std::int32_t>();
  const auto ends = tensors.tensors["row_end"].data.as<std::int32_t>();
  for (std::size_t token = 0; token < starts.size(); ++token) {
    const KeyRange& block = blocks[token / static_cast<std::size_t>(tokens_per_block)];
    constexpr std::int32_t later[] = {0, 5, 0, 1}, earlier[] = {0, 9, 0, 20};
    starts[token] = static_cast<std::int32_t>(block.begin) + later[token % 4];
    ends[token] = token % 4 == 2 ? starts[token] : static_cast<std::int32_t>(block.end) - earlier[token % 4];
  }
}

Result<tools::Case> case_of(const ProblemRequest& request, const Plan& plan) {
  auto tensors = tools::make_case(request.input);
  if (!tensors) return tensors.error();
  if (!request.blocks.empty()) set_ranges(*tensors, request.blocks, plan.tokens_per_block);
  return tools::to_case(std::move(*tensors), "case", ScoreType::f32, Fill::negative_infinity);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<Subject> Subject::make(KernelStore& store, Arch arch, const std::string& plan_name, Layout layout) {
  Spec spec{arch, 64, 128, Mask::ranges, ScoreType::f32, Fill::negative_infinity};
  const bool paged = layout == Layout::paged;
  if (paged) {
    spec.mask = Mask::context;
    spec.layout = layout;
    spec.page_size = 64;
  }
  auto lookup = store.get(spec, plan_name);
  if (!lookup) return lookup.error();
  auto problems = std::make_shared<std::vector<Problem>>();
  for (const ProblemRequest& request : requests_for(lookup->kernel->plan)) {
    auto input = case_of(request, lookup->kernel->plan);
    if (!input) return input.error();
    problems->push_back({std::move(*input), 1});  // one SM: few CTAs with many tiles, so that rings wrap
  }
  auto module = ptx::parse(lookup->kernel->ptx, "kernel.ptx");
  if (!module) return module.error();

  Subject subject;
  subject.kernel_ = lookup->kernel;
  subject.module_ = std::make_shared<const ptx::Module>(std::move(*module));
  subject.problems_ = std::move(problems);
  const CompiledKernel& kernel = *subject.kernel_;
  subject.verify_context_.launch_registers = static_cast<int>(kernel.facts.registers);
  const Plan& plan = kernel.plan;
  subject.verify_context_.tensor_map_box_bytes = {
      {0, box_bytes(q_map_params(spec, plan, 0, 1))},
      {1, box_bytes(paged ? page_map_params(spec, plan, 0, 1, 0) : k_map_params(spec, plan, 0, 1))}};
  if (paged) subject.verify_context_.tensor_map_box_bytes[2] = box_bytes(k_scale_page_map_params(spec, plan, 0, 1, 0));
  return subject;
}

std::string Subject::name() const { return std::string(arch_name(kernel_->spec.arch)) + "/" + kernel_->plan.name; }

std::string Subject::first_finding(const ptx::Module& module) const {
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry) continue;
    const std::vector<ptx::Finding> findings = ptx::verify(module, function, verify_context_);
    if (!findings.empty()) return findings.front().text();
  }
  return {};
}

std::string Subject::first_fault(const ptx::Module& module, const Problem& problem, std::uint64_t seed) const {
  const ScoreProblem& scoring = problem.input.problem;
  tools::AlignedBytes scores(score_buffer_bytes(scoring));
  std::fill_n(scores.data(), scores.size(), kPoison);
  const EmulatorSettings settings{.seed = seed, .num_sms = problem.num_sms, .threads = 1, .max_steps = kMaxSteps};
  const auto report = launch_on_emulator(*kernel_, module, scoring, {scores.data(), scores.size()}, settings);
  if (!report) return report.error().text();
  if (!report->faults.empty()) return report->faults.front().text();
  const CheckOptions options{.accumulation = accumulation_model(kernel_->spec.arch), .bitwise = problem.input.exact,
                             .poison = kPoison};
  const auto check = check_scores(scoring, {scores.data(), scores.size()}, options, 1);
  if (!check) return check.error().text();
  return check->passed() ? "" : "scores: " + summary(*check);
}

std::string Subject::fault_under(const ptx::Module& module, std::uint64_t schedule) const {
  for (const Problem& problem : *problems_) {
    const std::string fault = first_fault(module, problem, schedule);
    if (!fault.empty()) return "schedule " + std::to_string(schedule) + ": " + first_line(fault);
  }
  return {};
}

Judgement Subject::judge(const ptx::Module& module, std::uint64_t schedules) const {
  Judgement judgement;
  judgement.verify = first_line(first_finding(module));
  for (std::uint64_t seed = 0; seed < schedules && judgement.emulator.empty(); ++seed)
    judgement.emulator = fault_under(module, seed);
  return judgement;
}

}  // namespace mlaindex::mutation
