#include "generator/ptx/name_table.h"

#include <charconv>

namespace mlaindex::ptx {

void NameTable::enter(std::uint32_t scope) {
  if (scopes_.size() <= scope) scopes_.resize(scope + 1);
  current_ = scope;
}

bool NameTable::declare(std::string_view name, const NamedObject& object) {
  return scopes_[current_].objects.emplace(name, object).second;
}

bool NameTable::declare_registers(std::string_view prefix, std::uint32_t count, ScalarType type) {
  return scopes_[current_].ranges.emplace(prefix, RegisterRange{count, type}).second;
}

// The range that declares `name`, which is a prefix and a number without leading zeros.
const NameTable::RegisterRange* NameTable::find_range(const Names& names,
                                                      std::string_view name) const {
  if (names.ranges.empty()) return nullptr;
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  // The prefix itself may end in digits, so every split is tried that leaves a possible number:
  // a count has at most ten.
  constexpr std::size_t kMaxDigits = 10;
  for (std::size_t split = name.size() - 1;
       split >= digits && split > 0 && split + kMaxDigits >= name.size(); --split) {
    if (name[split] == '0' && split + 1 != name.size()) continue;
    const auto range = names.ranges.find(name.substr(0, split));
    if (range == names.ranges.end()) continue;
    std::uint64_t number = 0;
    const auto read = std::from_chars(name.data() + split, name.data() + name.size(), number);
    if (read.ec == std::errc{} && number < range->second.count) return &range->second;
  }
  return nullptr;
}

std::optional<NamedObject> NameTable::find(std::string_view name) {
  for (std::uint32_t scope = current_;; scope = function_.scopes[scope].parent) {
    Names& names = scopes_[scope];
    auto found = names.objects.find(name);
    if (found == names.objects.end()) {
      if (const RegisterRange* range = find_range(names, name)) {
        NamedObject object;
        object.kind = NamedObject::Kind::reg;
        object.type = range->type;
        found = names.objects.emplace(name, object).first;
      }
    }
    if (found != names.objects.end()) {
      NamedObject& object = found->second;
      if (object.kind == NamedObject::Kind::reg && object.index == kNoIndex) {
        object.index = static_cast<std::uint32_t>(function_.registers.size());
        function_.registers.push_back({std::string(name), object.type, scope});
      }
      return object;
    }
    if (scope == 0) return std::nullopt;
  }
}

std::optional<std::uint32_t> NameTable::find_label(std::string_view name,
                                                   std::uint32_t scope) const {
  for (;; scope = function_.scopes[scope].parent) {
    const auto found = scopes_[scope].objects.find(name);
    if (found != scopes_[scope].objects.end() && found->second.kind == NamedObject::Kind::label)
      return found->second.index;
    if (scope == 0) return std::nullopt;
  }
}

}  // namespace mlaindex::ptx
