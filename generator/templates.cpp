#include "generator/templates.h"

namespace mlaindex {

const Template* find_template(std::string_view path) noexcept {
  for (const Template& candidate : all_templates()) {
    if (candidate.path == path) return &candidate;
  }
  return nullptr;
}

}  // namespace mlaindex
