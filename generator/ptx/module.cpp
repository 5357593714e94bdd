#include "generator/ptx/module.h"

#include <algorithm>

namespace mlaindex::ptx {

bool Opcode::has(std::string_view modifier) const noexcept {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string Opcode::text() const {
  std::string joined = name;
  for (const std::string& modifier : modifiers) joined.append(".").append(modifier);
  return joined;
}

std::uint64_t Variable::size_bytes() const noexcept {
  std::uint64_t elements = vector_width;
  for (std::uint64_t dimension : dimensions) elements *= dimension;
  return elements * ((bit_width(type) + 7) / 8);
}

std::uint32_t Variable::effective_alignment() const noexcept {
  return alignment != 0 ? alignment : vector_width * ((bit_width(type) + 7) / 8);
}

const Directive* Function::find_performance(std::string_view directive) const noexcept {
  const auto found = std::find_if(performance.begin(), performance.end(),
                                  [&](const Directive& d) { return d.name == directive; });
  return found == performance.end() ? nullptr : &*found;
}

const Function* Module::find_function(std::string_view wanted) const noexcept {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const Function& f) { return f.name == wanted; });
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace mlaindex::ptx
