// Files of the source tree; the listings in tests/model/data.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>

namespace mlaindex::model {

// By its path from the repository's root.
inline std::string recorded_file(const std::string& path) {
  std::ifstream file(std::string(MLAINDEX_SOURCE_DIR) + "/" + path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string recorded_listing(const std::string& name) { return recorded_file("tests/model/data/" + name); }

}  // namespace mlaindex::model
