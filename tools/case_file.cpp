#include "tools/case_file.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/safetensors_header.h"

namespace mlaindex::tools {
namespace {

constexpr std::array<std::string_view, 9> known_tensors{
    "q", "q_scale", "k", "k_scale", "row_start", "row_end", "query_offsets", "key_offsets", "scores"};

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
      if (find("kv_pages") != nullptr) {
        return broken("holds paged keys (kv_pages)", "this version computes contiguous keys only: k and k_scale");
      }
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

  // Absent, or "true" or "false".
  Result<bool> flag(const char* key, bool absent) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end()) return absent;
    if (found->second == "true") return true;
    if (found->second == "false") return false;
    return broken(fmt::format("metadata '{}' is '{}'", key, found->second), "allowed: true, false");
  }

 private:
  Error wrong_shape(const char* tensor, const Tensor& found, std::string_view form) const {
    return broken(fmt::format("{} has shape {}; expected {}", tensor, shape_text(found.shape), form),
                  "T tokens, H heads, depth D, N keys, B requests");
  }

  const Safetensors& file_;
  const std::string& name_;
};

Status read_values(const CaseReader& reader, ScoreProblem& problem, Extents& extents) {
  const Result<const Tensor*> q = reader.require("q", {"F8_E4M3"}, 3, "[T, H, D]");
  if (!q) return q.error();
  const Result<const Tensor*> k = reader.require("k", {"F8_E4M3"}, 2, "[N, D]");
  if (!k) return k.error();
  extents = {(*q)->shape[0], (*q)->shape[1], (*q)->shape[2], (*k)->shape[0]};
  if (const auto same = reader.require_shape("k", {"F8_E4M3"}, {extents.keys, extents.depth}, "[N, D of q]"); !same) {
    return same.error();
  }
  const auto q_scale = reader.require_shape("q_scale", {"F32"}, {extents.tokens, extents.heads}, "[T, H]");
  if (!q_scale) return q_scale.error();
  const auto k_scale = reader.require_shape("k_scale", {"F32"}, {extents.keys}, "[N]");
  if (!k_scale) return k_scale.error();

  constexpr std::uint64_t most = 0x7fffffff;  // of every extent; validate() has the tighter limits
  if (std::max({extents.tokens, extents.heads, extents.depth, extents.keys}) > most) {
    return reader.broken(fmt::format("q {} and k {} are too large", shape_text((*q)->shape), shape_text((*k)->shape)),
                         fmt::format("allowed: {} per dimension", most));
  }
  problem.num_tokens = static_cast<std::int64_t>(extents.tokens);
  problem.num_heads = static_cast<int>(extents.heads);
  problem.depth = static_cast<int>(extents.depth);
  problem.num_keys = problem.num_columns = problem.row_stride = static_cast<std::int64_t>(extents.keys);
  problem.q_scale_stride = problem.num_heads;
  problem.q = (*q)->data.as<std::uint8_t>();
  problem.k = (*k)->data.as<std::uint8_t>();
  problem.q_scale = (*q_scale)->data.as<float>();
  problem.k_scale = (*k_scale)->data.as<float>();
  return {};
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

Result<Case> to_case(Safetensors file, const std::string& name, ScoreType score_type, Fill fill) {
  Case result{.file = std::move(file), .problem = {}, .ignored = {}};
  const CaseReader reader(result.file, name);
  Extents extents{};
  if (Status values = read_values(reader, result.problem, extents); !values) return values.error();
  if (Status mask = read_mask(reader, result.problem, extents); !mask) return mask.error();
  const Result<bool> exact = reader.flag("exact", false);
  if (!exact) return exact.error();
  result.exact = *exact;
  if (reader.find("scores") != nullptr) {
    const auto scores = reader.require_shape("scores", {"F32", "BF16"}, {extents.tokens, extents.keys}, "[T, N]");
    if (!scores) return scores.error();
    result.scores = *scores;
  }
  result.problem.score_type = score_type;
  result.problem.fill = fill;
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

Result<Case> read_case(const std::filesystem::path& path, ScoreType score_type, Fill fill) {
  Result<Safetensors> file = read_safetensors(path);
  if (!file) return std::move(file).error();
  return to_case(*std::move(file), path.string(), score_type, fill);
}

std::string describe(const ScoreProblem& problem) {
  std::string text = fmt::format("{} tokens, {} keys, {} heads, depth {}, {}", problem.num_tokens, problem.num_keys,
                                 problem.num_heads, problem.depth, mask_name(problem.mask));
  if (problem.num_requests() > 0) text += fmt::format(" ({} requests)", problem.num_requests());
  return text;
}

}  // namespace mlaindex::tools
