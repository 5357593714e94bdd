#include "tools/case_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include <fmt/ranges.h>

#include "generator/base/format.h"
#include "tools/safetensors_header.h"

namespace mlaindex::tools {
namespace {

constexpr std::array<std::string_view, 14> known_tensors{
    "q", "q_scale", "k", "k_scale", "row_start", "row_end", "query_offsets", "key_offsets", "kv_pages", "block_table",
    "context_lens", "k_scale_pages", "k_scale_table", "scores"};

// Where dimensions of tensors must agree.
struct Extents {
  std::uint64_t tokens, heads, depth, keys;
};

class CaseReader {
 public:
  CaseReader(const Safetensors& file, const std::string& name) : file_(file), name_(name) {}

  Error broken(std::string_view message, std::string hint) const {
    return Error{ErrorCode::invalid_file, fmt::format("{}: {}", name_, message), std::move(hint)};
  }

  const Tensor* find(const char* tensor) const {
    const auto found = file_.tensors.find(tensor);
    return found == file_.tensors.end() ? nullptr : &found->second;
  }

  // The tensor of that name with one of these dtypes and that rank; `form` is for the message.
  Result<const Tensor*> require(const char* tensor, std::initializer_list<std::string_view> allowed,
                                std::size_t rank, std::string_view form) const {
    const Tensor* found = find(tensor);
    if (found == nullptr) {
      return broken(fmt::format("has no tensor '{}'", tensor),
                    fmt::format("expected: {} {}; 'mlaindex make-case' writes an example", *allowed.begin(), form));
    }
    if (std::find(allowed.begin(), allowed.end(), found->dtype) == allowed.end()) {
      return broken(fmt::format("{} has dtype {}; allowed: {}", tensor, found->dtype, fmt::join(allowed, ", ")),
                    fmt::format("expected: {} {}", *allowed.begin(), form));
    }
    if (found->shape.size() != rank) return wrong_shape(tensor, *found, form);
    return found;
  }

  // The same, of exactly this shape.
  Result<const Tensor*> require_shape(const char* tensor, std::initializer_list<std::string_view> allowed,
                                      const std::vector<std::uint64_t>& shape, std::string_view form) const {
    Result<const Tensor*> found = require(tensor, allowed, shape.size(), form);
    if (found && (*found)->shape != shape) {
      return wrong_shape(tensor, **found, fmt::format("{} = {}", form, shape_text(shape)));
    }
    return found;
  }

  // Null when absent.
  const std::string* metadata(const char* key) const {
    const auto found = file_.metadata.find(key);
    return found == file_.metadata.end() ? nullptr : &found->second;
  }

  // Absent, or "true" or "false".
  Result<bool> flag(const char* key, bool absent) const {
    const std::string* text = metadata(key);
    if (text == nullptr) return absent;
    if (*text == "true") return true;
    if (*text == "false") return false;
    return broken(fmt::format("metadata '{}' is '{}'", key, *text), "allowed: true, false");
  }

 private:
  Error wrong_shape(const char* tensor, const Tensor& found, std::string_view form) const {
    return broken(fmt::format("{} has shape {}; expected {}", tensor, shape_text(found.shape), form),
                  "T tokens, H heads, depth D, N keys, B requests");
  }

  const Safetensors& file_;
  const std::string& name_;
};

Status check_extent(const CaseReader& reader, const char* tensor, const Tensor& found) {
  constexpr std::uint64_t most = 0x7fffffff;  // of every extent; validate() has the tighter limits
  if (std::all_of(found.shape.begin(), found.shape.end(), [](std::uint64_t extent) { return extent <= most; })) return {};
  return reader.broken(fmt::format("{} {} is too large", tensor, shape_text(found.shape)),
                       fmt::format("allowed: {} per dimension", most));
}

Status read_queries(const CaseReader& reader, ScoreProblem& problem, Extents& extents) {
  const Result<const Tensor*> q = reader.require("q", {"F8_E4M3"}, 3, "[T, H, D]");
  if (!q) return q.error();
  if (Status small = check_extent(reader, "q", **q); !small) return small;
  extents = {(*q)->shape[0], (*q)->shape[1], (*q)->shape[2], 0};
  const auto q_scale = reader.require_shape("q_scale", {"F32"}, {extents.tokens, extents.heads}, "[T, H]");
  if (!q_scale) return q_scale.error();
  problem.num_tokens = static_cast<std::int64_t>(extents.tokens);
  problem.num_heads = static_cast<int>(extents.heads);
  problem.depth = static_cast<int>(extents.depth);
  problem.q_scale_stride = problem.num_heads;
  problem.q = (*q)->data.as<std::uint8_t>();
  problem.q_scale = (*q_scale)->data.as<float>();
  return {};
}

Status read_keys(const CaseReader& reader, ScoreProblem& problem, Extents& extents) {
  const Result<const Tensor*> k = reader.require("k", {"F8_E4M3"}, 2, "[N, D]");
  if (!k) return k.error();
  if (Status small = check_extent(reader, "k", **k); !small) return small;
  extents.keys = (*k)->shape[0];
  if (const auto same = reader.require_shape("k", {"F8_E4M3"}, {extents.keys, extents.depth}, "[N, D of q]"); !same) {
    return same.error();
  }
  const auto k_scale = reader.require_shape("k_scale", {"F32"}, {extents.keys}, "[N]");
  if (!k_scale) return k_scale.error();
  problem.num_keys = static_cast<std::int64_t>(extents.keys);
  problem.k = (*k)->data.as<std::uint8_t>();
  problem.k_scale = (*k_scale)->data.as<float>();
  return {};
}

// The number in the metadata, or 0.
Result<std::uint64_t> read_page_size(const CaseReader& reader) {
  const std::string* text = reader.metadata("page_size");
  if (text == nullptr) return 0;
  std::uint64_t size = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), size);
  if (failure == std::errc() && end == text->data() + text->size() && size > 0 && size <= max_page_size) return size;
  return reader.broken(fmt::format("metadata 'page_size' is '{}'", *text), "allowed: 16, 32, 64, 128, 256");
}

Status read_scale_pool(const CaseReader& reader, PagedKeys& paged, std::uint64_t& page_size) {
  const auto pages = reader.require("k_scale_pages", {"F32"}, 2, "[P2, page]");
  if (!pages) return pages.error();
  if (Status small = check_extent(reader, "k_scale_pages", **pages); !small) return small;
  if (page_size == 0) page_size = (*pages)->shape[1];
  const auto table = reader.require_shape(
      "k_scale_table", {"I32"},
      {static_cast<std::uint64_t>(paged.num_requests), static_cast<std::uint64_t>(paged.pages_per_request)}, "[B, M] as block_table");
  if (!table) return table.error();
  paged.k_scale_pages = (*pages)->data.as<std::uint8_t>();
  paged.num_k_scale_pages = static_cast<std::int64_t>((*pages)->shape[0]);
  paged.k_scale_page_stride = static_cast<std::int64_t>((*pages)->shape[1] * sizeof(float));
  paged.k_scale_table = (*table)->data.as<std::int32_t>();
  return {};
}

// Lengths of requests, or of tokens.
Status read_context_lens(const CaseReader& reader, ScoreProblem& problem, const Extents& extents) {
  PagedKeys& paged = problem.paged;
  const auto requests = static_cast<std::uint64_t>(paged.num_requests);
  const Tensor* lens = reader.find("context_lens");
  const bool ragged = reader.find("query_offsets") != nullptr;
  if (!ragged && (requests == 0 || extents.tokens % requests != 0)) {
    return reader.broken(fmt::format("{} tokens of {} requests", extents.tokens, requests),
                         "T must be a multiple of B, or query_offsets say which tokens are whose");
  }
  if (!ragged) paged.next_n = static_cast<int>(std::max<std::uint64_t>(extents.tokens / requests, 1));
  problem.mask = Mask::context;
  const std::vector<std::uint64_t> of_rows{requests, static_cast<std::uint64_t>(paged.next_n)};
  const bool per_row = lens != nullptr && !ragged && (lens->shape == of_rows || (lens->shape.size() == 1 && lens->shape[0] != requests));
  const auto found = per_row && lens->shape.size() == 2 ? reader.require("context_lens", {"I32"}, 2, "[B, T / B]")
                     : per_row ? reader.require_shape("context_lens", {"I32"}, {extents.tokens}, "[B], [T] or [B, T / B]")
                               : reader.require_shape("context_lens", {"I32"}, {requests}, "[B], [T] or [B, T / B]");
  if (!found) return found.error();
  if (per_row) problem.mask = Mask::context_rows;
  paged.context_lens = (*found)->data.as<std::int32_t>();
  if (!ragged) return {};
  const auto queries = reader.require_shape("query_offsets", {"I32"}, {requests + 1}, "[B + 1]");
  if (!queries) return queries.error();
  const Result<bool> causal = reader.flag("causal", true);
  if (!causal) return causal.error();
  problem.mask = *causal ? Mask::ragged_causal : Mask::ragged;
  problem.query_offsets = (*queries)->data.as<std::int32_t>();
  return {};
}

Status read_paged_keys(const CaseReader& reader, ScoreProblem& problem, Extents& extents) {
  for (const char* other : {"k", "k_scale", "row_start", "row_end", "key_offsets"}) {
    if (reader.find(other) != nullptr) {
      return reader.broken(fmt::format("has both kv_pages and {}", other), "give the keys in one way: as rows, or in pages");
    }
  }
  problem.layout = Layout::paged;
  PagedKeys& paged = problem.paged;
  const auto pages = reader.require("kv_pages", {"U8"}, 2, "[P, page * (D + 4)]");
  if (!pages) return pages.error();
  const auto table = reader.require("block_table", {"I32"}, 2, "[B, M]");
  if (!table) return table.error();
  for (const auto& [name, tensor] : {std::pair{"kv_pages", *pages}, std::pair{"block_table", *table}}) {
    if (Status small = check_extent(reader, name, *tensor); !small) return small;
  }
  paged.pages = (*pages)->data.as<std::uint8_t>();
  paged.num_pages = static_cast<std::int64_t>((*pages)->shape[0]);
  paged.page_stride = static_cast<std::int64_t>((*pages)->shape[1]);
  paged.block_table = (*table)->data.as<std::int32_t>();
  paged.num_requests = static_cast<std::int64_t>((*table)->shape[0]);
  paged.pages_per_request = static_cast<std::int64_t>((*table)->shape[1]);

  Result<std::uint64_t> page_size = read_page_size(reader);
  if (!page_size) return page_size.error();
  if (reader.find("k_scale_pages") != nullptr) {
    if (Status scales = read_scale_pool(reader, paged, *page_size); !scales) return scales;
  }
  if (*page_size == 0) *page_size = (*pages)->shape[1] / (extents.depth + 4);
  if (*page_size < min_page_size || *page_size > max_page_size) {
    return reader.broken(fmt::format("kv_pages {} has pages of {} keys", shape_text((*pages)->shape), *page_size),
                         "allowed: 16, 32, 64, 128, 256; the metadata 'page_size' says it where pages are padded");
  }
  paged.page_size = static_cast<int>(*page_size);
  extents.keys = static_cast<std::uint64_t>(paged.max_context());
  problem.num_keys = paged.max_context();
  return read_context_lens(reader, problem, extents);
}

Status read_mask(const CaseReader& reader, ScoreProblem& problem, const Extents& extents) {
  const bool ranges = reader.find("row_start") != nullptr || reader.find("row_end") != nullptr;
  const bool ragged = reader.find("query_offsets") != nullptr || reader.find("key_offsets") != nullptr;
  if (ranges && ragged) {
    return reader.broken("has both row_start or row_end, and query_offsets or key_offsets",
                         "give the visible keys in one way: per token, or by requests");
  }
  if (ranges) {
    const auto start = reader.require_shape("row_start", {"I32"}, {extents.tokens}, "[T]");
    if (!start) return start.error();
    const auto end = reader.require_shape("row_end", {"I32"}, {extents.tokens}, "[T]");
    if (!end) return end.error();
    problem.mask = Mask::ranges;
    problem.row_start = (*start)->data.as<std::int32_t>();
    problem.row_end = (*end)->data.as<std::int32_t>();
  }
  if (ragged) {
    const auto queries = reader.require("query_offsets", {"I32"}, 1, "[B + 1]");
    if (!queries) return queries.error();
    const auto keys = reader.require_shape("key_offsets", {"I32"}, (*queries)->shape, "[B + 1] as query_offsets");
    if (!keys) return keys.error();
    const Result<bool> causal = reader.flag("causal", true);
    if (!causal) return causal.error();
    problem.mask = *causal ? Mask::ragged_causal : Mask::ragged;
    problem.query_offsets = (*queries)->data.as<std::int32_t>();
    problem.key_offsets = (*keys)->data.as<std::int32_t>();
  }
  return {};
}

}  // namespace

Result<Case> to_case(Safetensors file, const std::string& name, ScoreType score_type, Fill fill, FoldType fold) {
  Case result{.file = std::move(file), .problem = {}, .ignored = {}};
  const CaseReader reader(result.file, name);
  Extents extents{};
  ScoreProblem& problem = result.problem;
  if (Status queries = read_queries(reader, problem, extents); !queries) return queries.error();
  if (reader.find("kv_pages") != nullptr) {
    if (Status keys = read_paged_keys(reader, problem, extents); !keys) return keys.error();
  } else {
    if (Status keys = read_keys(reader, problem, extents); !keys) return keys.error();
    if (Status mask = read_mask(reader, problem, extents); !mask) return mask.error();
  }
  problem.num_columns = problem.row_stride = problem.num_keys;
  const Result<bool> exact = reader.flag(fold == FoldType::bf16 ? "exact_bf16" : "exact", false);
  if (!exact) return exact.error();
  result.exact = *exact;
  if (reader.find("scores") != nullptr) {
    const auto scores = reader.require_shape("scores", {"F32", "BF16"}, {extents.tokens, extents.keys}, "[T, N]");
    if (!scores) return scores.error();
    result.scores = *scores;
  }
  result.problem.score_type = score_type;
  result.problem.fill = fill;
  result.problem.fold = fold;
  if (Status valid = validate(result.problem); !valid) {
    return Error{valid.error().code, fmt::format("{}: {}", name, valid.error().message), valid.error().hint};
  }
  for (const auto& [tensor, unused] : result.file.tensors) {
    if (std::find(known_tensors.begin(), known_tensors.end(), tensor) == known_tensors.end()) {
      result.ignored.push_back(tensor);
    }
  }
  return result;
}

Result<Case> read_case(const std::filesystem::path& path, ScoreType score_type, Fill fill, FoldType fold) {
  Result<Safetensors> file = read_safetensors(path);
  if (!file) return std::move(file).error();
  return to_case(*std::move(file), path.string(), score_type, fill, fold);
}

std::string describe(const ScoreProblem& problem) {
  std::string text = fmt::format("{} tokens, {} keys, {} heads, depth {}, {}", problem.num_tokens, problem.num_keys,
                                 problem.num_heads, problem.depth, mask_name(problem.mask));
  if (problem.num_requests() > 0) text += fmt::format(" ({} requests)", problem.num_requests());
  if (problem.layout == Layout::paged) {
    text += fmt::format(", pages of {} keys{}", problem.paged.page_size, problem.paged.fused() ? "" : " and scales of their own");
  }
  return text;
}

}  // namespace mlaindex::tools
