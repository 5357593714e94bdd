#include "tools/bench/bench_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <numeric>
#include <span>
#include <vector>

#include "generator/base/format.h"
#include "tools/e4m3.h"
#include "tools/make_case_parts.h"

namespace mlaindex::tools {
namespace {

// Normal e4m3 elements, from which tensors of any size are filled in runs from random offsets.
class NormalCodes {
 public:
  explicit NormalCodes(Random& random) : random_(random), codes_(block_bytes) {
    for (std::uint8_t& code : codes_) code = encode_e4m3(random.normal());
  }

  void fill(std::span<std::uint8_t> bytes) {
    while (!bytes.empty()) {
      const std::size_t run = std::min(run_bytes, bytes.size());
      const auto offset = static_cast<std::size_t>(random_.between(0, block_bytes - run_bytes));
      std::memcpy(bytes.data(), &codes_[offset], run);
      bytes = bytes.subspan(run);
    }
  }

 private:
  static constexpr std::size_t block_bytes = 1 << 20;
  static constexpr std::size_t run_bytes = 1 << 14;

  Random& random_;
  std::vector<std::uint8_t> codes_;
};

// From 0.5 to 1.5, in steps that f32 holds exactly.
float key_scale(Random& random) noexcept { return 0.5f + static_cast<float>(random.between(0, 1023)) / 1024.0f; }

std::uint64_t extent(std::int64_t value) noexcept { return static_cast<std::uint64_t>(value); }

void add_queries(Safetensors& file, std::int64_t tokens, const BenchModel& model, NormalCodes& codes, Random& random) {
  const std::uint64_t heads = extent(model.num_heads);
  codes.fill(add(file, "q", "F8_E4M3", {extent(tokens), heads, extent(model.depth)}).data.as<std::uint8_t>());
  for (float& scale : add(file, "q_scale", "F32", {extent(tokens), heads}).data.as<float>()) scale = random.normal();
}

void add_offsets(Safetensors& file, const char* name, std::int64_t end) {
  add(file, name, "I32", {2}).data.as<std::int32_t>()[1] = static_cast<std::int32_t>(end);
}

void add_contiguous_keys(Safetensors& file, const BenchShape& shape, const BenchModel& model, NormalCodes& codes,
                         Random& random) {
  codes.fill(add(file, "k", "F8_E4M3", {extent(shape.context), extent(model.depth)}).data.as<std::uint8_t>());
  for (float& scale : add(file, "k_scale", "F32", {extent(shape.context)}).data.as<float>()) scale = key_scale(random);
  if (bench_mask(shape) == Mask::full) return;
  add_offsets(file, "query_offsets", shape.tokens);
  add_offsets(file, "key_offsets", shape.context);
  file.metadata["causal"] = "true";
}

std::vector<std::int64_t> context_lengths(const BenchShape& shape, Random& random) {
  std::vector<std::int64_t> lengths(extent(shape.requests), shape.context);
  if (shape.requests == 1) return lengths;
  for (std::int64_t& length : lengths) {
    length = std::max<std::int64_t>(1, random.between(shape.context * 7 / 10, shape.context * 13 / 10));
  }
  return lengths;
}

std::vector<std::int32_t> shuffled(std::int64_t count, Random& random) {
  std::vector<std::int32_t> pages(extent(count));
  std::iota(pages.begin(), pages.end(), 0);
  for (std::size_t i = pages.size(); i > 1; --i) {
    std::swap(pages[i - 1], pages[extent(random.between(0, static_cast<std::int64_t>(i) - 1))]);
  }
  return pages;
}

void add_paged_keys(Safetensors& file, const BenchShape& shape, const BenchModel& model, NormalCodes& codes,
                    Random& random) {
  const std::int64_t page_size = model.page_size;
  const auto pages_of = [&](std::int64_t length) { return (length + page_size - 1) / page_size; };
  const std::vector<std::int64_t> lengths = context_lengths(shape, random);
  const std::int64_t width = pages_of(*std::max_element(lengths.begin(), lengths.end()));
  std::int64_t num_pages = 0;
  for (std::int64_t length : lengths) num_pages += pages_of(length);

  const std::int64_t key_bytes = page_size * model.depth, page_bytes = key_bytes + 4 * page_size;
  const auto pool = add(file, "kv_pages", "U8", {extent(num_pages), extent(page_bytes)}).data.as<std::uint8_t>();
  for (std::int64_t page = 0; page < num_pages; ++page) {
    const auto bytes = pool.subspan(extent(page * page_bytes), extent(page_bytes));
    codes.fill(bytes.first(extent(key_bytes)));
    for (std::int64_t key = 0; key < page_size; ++key) {
      const float scale = key_scale(random);
      std::memcpy(&bytes[extent(key_bytes + 4 * key)], &scale, sizeof scale);
    }
  }

  const std::vector<std::int32_t> order = shuffled(num_pages, random);
  const auto table = add(file, "block_table", "I32", {extent(shape.requests), extent(width)}).data.as<std::int32_t>();
  const auto lens = add(file, "context_lens", "I32", {extent(shape.requests)}).data.as<std::int32_t>();
  auto next = order.begin();
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const std::int64_t used = pages_of(lengths[b]);
    std::copy_n(next, used, table.begin() + static_cast<std::ptrdiff_t>(b) * width);
    next += used;
    lens[b] = static_cast<std::int32_t>(lengths[b]);
  }
  file.metadata["page_size"] = std::to_string(page_size);
}

}  // namespace

Mask bench_mask(const BenchShape& shape) noexcept {
  if (shape.family == BenchFamily::decode) return Mask::context;
  return shape.tokens <= shape.context ? Mask::ragged_causal : Mask::full;
}

Spec bench_spec(const BenchShape& shape, const BenchModel& model, Arch arch) noexcept {
  const bool paged = shape.family == BenchFamily::decode;
  return {.arch = arch,
          .num_heads = model.num_heads,
          .depth = model.depth,
          .mask = bench_mask(shape),
          .score_type = model.score_type,
          .fill = model.fill,
          .layout = paged ? Layout::paged : Layout::contiguous,
          .page_size = paged ? model.page_size : 0,
          .fold = model.fold};
}

Result<Case> make_bench_case(const BenchShape& shape, const BenchModel& model, std::uint64_t seed) try {
  Random random(seed);
  NormalCodes codes(random);
  Safetensors file;
  add_queries(file, shape.requests * shape.tokens, model, codes, random);
  if (shape.family == BenchFamily::prefill) add_contiguous_keys(file, shape, model, codes, random);
  else add_paged_keys(file, shape, model, codes, random);
  return to_case(std::move(file), to_string(shape), model.score_type, model.fill, model.fold);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory, fmt::format("no host memory for the data of {}", to_string(shape)),
               "ask for a smaller shape"};
}

Result<Case> make_check_case(const BenchShape& shape, const BenchModel& model, std::uint64_t seed) {
  constexpr std::int64_t most_tokens = 96;
  const bool prefill = shape.family == BenchFamily::prefill;
  CaseRequest request{.num_heads = model.num_heads, .depth = model.depth, .mask = bench_mask(shape), .seed = seed};
  request.num_keys = 1000;
  if (request.mask != Mask::full) request.num_requests = prefill ? 3 : 5;
  request.num_tokens = most_tokens;
  if (!prefill) {
    request.page_size = model.page_size;
    request.next_n = static_cast<int>(std::min(shape.tokens, most_tokens));
  }
  Result<Safetensors> file = make_case(request);
  if (!file) return file.error();
  return to_case(*std::move(file), "the checked case", model.score_type, model.fill, model.fold);
}

BenchWork work_of(const ScoreProblem& problem) noexcept {
  const bool paged = problem.layout == Layout::paged;
  double scores = 0;
  for (std::int64_t token = 0; token < problem.num_tokens; ++token) {
    scores += static_cast<double>(visible_range(problem, token).size());
  }
  const double slots = static_cast<double>(problem.num_tokens) * static_cast<double>(problem.num_columns);
  const double written = problem.fill == Fill::none ? scores : slots;
  double keys = static_cast<double>(problem.num_keys);
  if (paged) {
    keys = 0;
    for (std::int32_t length : problem.paged.context_lens) keys += length;
  }
  const double row = problem.depth + 4;  // elements and their scale
  return {.scores = scores,
          .operations = 2.0 * problem.depth * problem.num_heads * scores,
          .bytes = (static_cast<double>(problem.num_tokens) * problem.num_heads + keys) * row +
                   written * static_cast<double>(score_bytes(problem.score_type))};
}

}  // namespace mlaindex::tools
