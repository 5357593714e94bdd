// The sections of a cubin that decide what the GPU does.
#pragma once

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

// Code, constants, initialised data and kernel attributes by section name, read with the plainest
// means so that the tests do not lean on the code under test.
inline std::map<std::string, std::string> machine_code(const std::string& cubin) {
  const auto read = [&](std::size_t at, std::size_t width) {
    REQUIRE(at + width <= cubin.size());
    std::uint64_t value = 0;
    std::memcpy(&value, cubin.data() + at, width);
    return value;
  };
  const std::uint64_t table = read(40, 8), count = read(60, 2), names = read(62, 2);
  const auto field = [&](std::uint64_t section, std::size_t offset) {
    return read(table + 64 * section + offset, 8);
  };
  const std::uint64_t name_table = field(names, 24);
  std::map<std::string, std::string> sections;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name(cubin.c_str() + name_table + read(table + 64 * i, 4));
    const bool no_bits = read(table + 64 * i + 4, 4) == 8;
    for (const char* prefix : {".text.", ".nv.constant", ".nv.global", ".nv.info", ".nv.shared"}) {
      if (name.rfind(prefix, 0) != 0) continue;
      const std::uint64_t size = field(i, 32);
      sections[name] = no_bits ? std::to_string(size) : cubin.substr(field(i, 24), size);
    }
  }
  return sections;
}
