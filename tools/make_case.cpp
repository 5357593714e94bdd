#include "tools/make_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "generator/base/format.h"
#include "tools/e4m3.h"
#include "tools/make_case_parts.h"

namespace mlaindex::tools {
namespace {

Status check(const CaseRequest& request) {
  constexpr std::int64_t most_indices = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t most_requests = 1 << 20;
  const auto count = [](const char* what, std::int64_t value, std::int64_t least, std::int64_t most) -> Status {
    if (value >= least && value <= most) return {};
    return Error{ErrorCode::invalid_argument, fmt::format("{} = {}", what, value),
                 fmt::format("allowed: {} to {}", least, most)};
  };
  if (Status tokens = count("number of tokens", request.num_tokens, 0, most_indices); !tokens) return tokens;
  if (Status keys = count("number of keys", request.num_keys, 0, most_indices); !keys) return keys;
  if (Status requests = count("number of requests", request.num_requests, 1, most_requests); !requests) return requests;
  if (Status next_n = count("next_n", request.next_n, 1, 1024); !next_n) return next_n;
  return validate(Spec{.num_heads = request.num_heads, .depth = request.depth, .mask = request.mask,
                       .layout = request.page_size == 0 ? Layout::contiguous : Layout::paged,
                       .page_size = request.page_size});
}

}  // namespace

Tensor& add(Safetensors& contents, const char* name, const char* dtype, std::vector<std::uint64_t> shape) {
  std::size_t bytes = dtype_size(dtype);
  for (std::uint64_t extent : shape) bytes *= extent;  // at most 2^31 * 128 * 128 * 4
  Tensor& tensor = contents.tensors[name];
  tensor = Tensor{dtype, std::move(shape), AlignedBytes(bytes)};
  if (tensor.data.size() != bytes) throw std::bad_alloc();
  return tensor;
}

namespace {

// Small integers, or normal data over their largest magnitude times 448; returns the scale.
float fill_vector(std::span<std::uint8_t> codes, bool exact, Random& random) {
  if (exact) {
    for (std::uint8_t& code : codes) code = encode_e4m3(static_cast<float>(random.between(-2, 2)));
    return 1.0f;
  }
  float values[128];
  float largest = 0.0f;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = random.normal();
    largest = std::max(largest, std::abs(values[i]));
  }
  const float scale = std::max(largest, 1e-6f) / e4m3_max;
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = encode_e4m3(values[i] / scale);
  return scale;
}

// Few elements of 1 or -1: with keys from -2 to 2 the absolute dot products of all heads add up to at most 256.
void fill_sparse(std::span<std::uint8_t> codes, int num_heads, Random& random) {
  std::fill(codes.begin(), codes.end(), std::uint8_t{0});
  const int elements = std::max(1, std::min(static_cast<int>(codes.size()), 128 / num_heads));
  for (int i = 0; i < elements; ++i) {
    const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(codes.size()) - 1));
    codes[at] = encode_e4m3(random.between(0, 1) == 0 ? -1.0f : 1.0f);
  }
}

void add_queries(Safetensors& contents, const CaseRequest& request, Random& random) {
  const auto tokens = static_cast<std::uint64_t>(request.num_tokens);
  const auto heads = static_cast<std::uint64_t>(request.num_heads);
  const auto depth = static_cast<std::uint64_t>(request.depth);
  const auto q = add(contents, "q", "F8_E4M3", {tokens, heads, depth}).data.as<std::uint8_t>();
  const auto q_scale = add(contents, "q_scale", "F32", {tokens, heads}).data.as<float>();
  const float model_scale = 1.0f / std::sqrt(static_cast<float>(heads * depth));
  float power = 1.0f;
  for (std::size_t row = 0; row < q_scale.size(); ++row) {
    if (request.exact_bf16) {
      if (row % heads == 0) power = std::ldexp(1.0f, static_cast<int>(random.between(-2, 2)));
      fill_sparse(q.subspan(row * depth, depth), request.num_heads, random);
      q_scale[row] = power * static_cast<float>(random.between(-1, 1));
      continue;
    }
    const float scale = fill_vector(q.subspan(row * depth, depth), request.exact, random);
    q_scale[row] = request.exact ? static_cast<float>(random.between(-4, 4)) : random.normal() * model_scale * scale;
  }
}

void add_keys(Safetensors& contents, const CaseRequest& request, Random& random) {
  const auto keys = static_cast<std::uint64_t>(request.num_keys);
  const auto depth = static_cast<std::uint64_t>(request.depth);
  const auto k = add(contents, "k", "F8_E4M3", {keys, depth}).data.as<std::uint8_t>();
  const auto k_scale = add(contents, "k_scale", "F32", {keys}).data.as<float>();
  for (std::size_t key = 0; key < k_scale.size(); ++key) {
    k_scale[key] = fill_key(k.subspan(key * depth, depth), request.exact, random);
  }
}

// One row in eight is empty; the others start and end anywhere.
void add_ranges(Safetensors& contents, const CaseRequest& request, Random& random) {
  const auto tokens = static_cast<std::uint64_t>(request.num_tokens);
  const auto starts = add(contents, "row_start", "I32", {tokens}).data.as<std::int32_t>();
  const auto ends = add(contents, "row_end", "I32", {tokens}).data.as<std::int32_t>();
  for (std::size_t token = 0; token < tokens; ++token) {
    const std::int64_t start = random.between(0, std::max<std::int64_t>(request.num_keys - 1, 0));
    const bool empty = random.between(0, 7) == 0;
    starts[token] = static_cast<std::int32_t>(start);
    ends[token] = static_cast<std::int32_t>(empty ? start : random.between(start, request.num_keys));
  }
}

// Shares of `total`, uneven, in order: parts + 1 offsets from 0 to total. Both are checked above, so
// that total * reached stays below 2^57.
std::vector<std::int64_t> random_offsets(std::int64_t total, std::int64_t parts, Random& random) {
  std::vector<std::int64_t> weights(static_cast<std::size_t>(parts));
  std::int64_t sum = 0;
  for (std::int64_t& weight : weights) sum += weight = random.between(16, 64);
  std::vector<std::int64_t> offsets{0};
  std::int64_t reached = 0;
  for (std::int64_t weight : weights) {
    reached += weight;
    offsets.push_back(total * reached / sum);
  }
  return offsets;
}

// A request's keys are its own tokens and its history, where there are keys enough.
void add_requests(Safetensors& contents, const CaseRequest& request, Random& random) {
  const bool own_tokens = request.mask == Mask::ragged_causal && request.num_keys >= request.num_tokens;
  const auto queries = random_offsets(request.num_tokens, request.num_requests, random);
  const auto history = random_offsets(request.num_keys - (own_tokens ? request.num_tokens : 0),
                                      request.num_requests, random);
  const auto query_offsets = add(contents, "query_offsets", "I32", {queries.size()}).data.as<std::int32_t>();
  const auto key_offsets = add(contents, "key_offsets", "I32", {queries.size()}).data.as<std::int32_t>();
  for (std::size_t i = 0; i < queries.size(); ++i) {
    query_offsets[i] = static_cast<std::int32_t>(queries[i]);
    key_offsets[i] = static_cast<std::int32_t>(history[i] + (own_tokens ? queries[i] : 0));
  }
  contents.metadata["causal"] = request.mask == Mask::ragged_causal ? "true" : "false";
}

// Which tokens are whose; their keys are in pages.
void add_query_offsets(Safetensors& contents, const CaseRequest& request, Random& random) {
  const auto queries = random_offsets(request.num_tokens, request.num_requests, random);
  const auto offsets = add(contents, "query_offsets", "I32", {queries.size()}).data.as<std::int32_t>();
  std::transform(queries.begin(), queries.end(), offsets.begin(), [](std::int64_t offset) { return static_cast<std::int32_t>(offset); });
  contents.metadata["causal"] = request.mask == Mask::ragged_causal ? "true" : "false";
}

}  // namespace

float fill_key(std::span<std::uint8_t> codes, bool exact, Random& random) {
  constexpr float powers[] = {0.5f, 1.0f, 2.0f};
  const float scale = fill_vector(codes, exact, random);
  return exact ? powers[random.between(0, 2)] : scale;
}

Result<Safetensors> make_case(const CaseRequest& wanted) try {
  CaseRequest request = wanted;
  request.exact |= request.exact_bf16;
  if (request.mask == Mask::context || request.mask == Mask::context_rows) {
    request.num_tokens = request.num_requests * request.next_n;
  }
  if (Status valid = check(request); !valid) return valid.error();
  Random random(request.seed);
  Safetensors contents;
  contents.metadata["exact"] = request.exact ? "true" : "false";
  if (request.exact_bf16) contents.metadata["exact_bf16"] = "true";
  contents.metadata["seed"] = std::to_string(request.seed);
  add_queries(contents, request, random);
  if (request.page_size > 0) {
    add_pages(contents, request, random);
    if (is_ragged(request.mask)) add_query_offsets(contents, request, random);
    return contents;
  }
  add_keys(contents, request, random);
  if (request.mask == Mask::ranges) add_ranges(contents, request, random);
  if (is_ragged(request.mask)) add_requests(contents, request, random);
  return contents;
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory, fmt::format("no memory for a case of {} tokens and {} keys",
                                                     wanted.num_tokens, wanted.num_keys), "ask for fewer"};
}

}  // namespace mlaindex::tools
