// The device code below templates/, embedded at build time.
#pragma once

#include <span>
#include <string_view>

namespace mlaindex {

struct Template {
  std::string_view path;  // below templates/, "common/mbarrier.cuh"
  std::string_view text;
};

// Every template, ordered by path.
std::span<const Template> all_templates() noexcept;

// Every file of generator/routes/, ordered by path: "sm_90a.routes".
std::span<const Template> all_route_tables() noexcept;

// Null when there is none of that path.
const Template* find_template(std::string_view path) noexcept;

}  // namespace mlaindex
