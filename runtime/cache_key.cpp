#include "runtime/cache_key.h"

#include <string_view>

#include "generator/base/digest.h"
#include "generator/ptx/pipeline.h"
#include "generator/source.h"
#include "runtime/cache_entry.h"
#include "runtime/compile.h"

namespace mlaindex {
namespace {

// Text of "name=value" items. Strings are quoted and escaped, lists bracketed: different plans have
// different texts.
class PlanText {
 public:
  PlanText& add(std::string_view name, std::string_view value) {
    begin(name);
    text_ += '"';
    for (char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
    return *this;
  }
  PlanText& add(std::string_view name, const std::string& value) { return add(name, std::string_view(value)); }
  PlanText& add(std::string_view name, int value) {
    begin(name);
    text_ += std::to_string(value);
    return *this;
  }

  template <class Item, class Write>
  PlanText& add_list(std::string_view name, const std::vector<Item>& items, Write write) {
    begin(name);
    text_ += '[';
    for (const Item& item : items) {
      PlanText inner;
      write(inner, item);
      text_ += '{' + inner.text_ + '}';
    }
    text_ += ']';
    return *this;
  }

  std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view name) {
    if (!text_.empty()) text_ += ' ';
    text_ += name;
    text_ += '=';
  }

  std::string text_;
};

std::string_view column_order_name(ColumnOrder order) {
  switch (order) {
    case ColumnOrder::head_major: return "head_major";
    case ColumnOrder::token_major: return "token_major";
    case ColumnOrder::head_pair_major: return "head_pair_major";
  }
  return "unknown";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::string plan_text(const Plan& plan) {
  // Structured bindings, so that a field added to the plan stops the build here: a field that is
  // missing from the key would let one plan run another's kernel.
  const auto& [name, family, template_path, why, column_order, padded_heads, tokens_per_block, tokens_per_box,
               column_groups, tile_keys, mma_m, mma_n, mma_k, key_stages, block_stages, accumulator_stages, q_barriers,
               k_scale_by_tma, persistent, num_threads, ctas_per_sm, entry_registers, roles, shared, tensor_memory,
               tensor_memory_columns] = plan;
  PlanText text;
  text.add("name", name)
      .add("family", family)
      .add("template_path", template_path)
      .add("why", why)
      .add("column_order", column_order_name(column_order))
      .add("padded_heads", padded_heads)
      .add("tokens_per_block", tokens_per_block)
      .add("tokens_per_box", tokens_per_box)
      .add("column_groups", column_groups)
      .add("tile_keys", tile_keys)
      .add("mma_m", mma_m)
      .add("mma_n", mma_n)
      .add("mma_k", mma_k)
      .add("key_stages", key_stages)
      .add("block_stages", block_stages)
      .add("accumulator_stages", accumulator_stages)
      .add("q_barriers", q_barriers)
      .add("k_scale_by_tma", k_scale_by_tma ? 1 : 0)
      .add("persistent", persistent ? 1 : 0)
      .add("num_threads", num_threads)
      .add("ctas_per_sm", ctas_per_sm)
      .add("entry_registers", entry_registers)
      .add_list("roles", roles,
                [](PlanText& item, const WarpRole& role) {
                  const auto& [role_name, first_warp, num_warps, registers] = role;
                  item.add("name", role_name)
                      .add("first_warp", first_warp)
                      .add("num_warps", num_warps)
                      .add("registers", registers);
                })
      .add_list("shared", shared,
                [](PlanText& item, const SharedRegion& region) {
                  const auto& [region_name, offset, bytes, contents] = region;
                  item.add("name", region_name).add("offset", offset).add("bytes", bytes).add("contents", contents);
                })
      .add_list("tensor_memory", tensor_memory,
                [](PlanText& item, const TensorMemoryRegion& region) {
                  const auto& [region_name, first_column, num_columns] = region;
                  item.add("name", region_name).add("first_column", first_column).add("num_columns", num_columns);
                })
      .add("tensor_memory_columns", tensor_memory_columns);
  return text.take();
}

CacheKey make_cache_key(std::vector<std::pair<std::string, std::string>> fields) {
  DigestBuilder builder;
  for (const auto& [label, value] : fields) builder.add(label, value);
  return CacheKey{std::move(fields), hex(builder.finish())};
}

CacheKey kernel_cache_key(const Spec& spec, const Plan& plan, const std::string& compiler) {
  return make_cache_key({
      {"format", std::to_string(cache_entry_version)},
      {"generator", std::string(generator_version())},
      {"templates", hex(templates_digest())},
      {"spec", to_string(spec)},
      {"plan", plan_text(plan)},
      {"passes", hex(ptx::pipeline_digest())},
      {"compiler", compiler},
      {"options", joined(compile_options(spec.arch))},
  });
}

}  // namespace mlaindex
