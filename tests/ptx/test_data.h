// Files of tests/ptx/data.
#pragma once

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <string>

inline std::string test_data(const std::string& name) {
  std::ifstream file(std::string(MLAINDEX_SOURCE_DIR) + "/tests/ptx/data/" + name, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}
