#include <catch2/catch.hpp>

#include <random>

#include "generator/ptx/cubin_facts.h"
#include "tests/ptx/test_data.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

TEST_CASE("facts of a kernel with static and dynamic shared memory") {
  for (const auto& [file, sm, arch] : {std::tuple{"tile_sm_90a.cubin", 90, "sm_90a"},
                                       std::tuple{"tile_sm_100a.cubin", 100, "sm_100a"}}) {
    INFO(file);
    const Result<CubinFacts> facts = read_cubin_facts(test_data(file));
    REQUIRE(facts.ok());
    CHECK(facts->sm_number == sm);
    CHECK(facts->arch == arch);
    CHECK_THAT(facts->tool, Catch::Contains("ptxas") && Catch::Contains("13.0"));
    REQUIRE(facts->kernels.size() == 1);
    const KernelFacts& kernel = facts->kernels.front();
    CHECK(kernel.entry == "tile");
    CHECK(kernel.registers == 16);
    CHECK(kernel.frame_bytes == 0);
    CHECK(kernel.min_stack_bytes == 0);
    CHECK(kernel.static_shared_bytes == 128);
    CHECK(kernel.parameter_bytes == 20);
    CHECK(kernel.max_threads == std::array<std::uint32_t, 3>{128, 1, 1});
    CHECK(kernel.code_bytes == 640);
  }
}

TEST_CASE("a spilling kernel has a frame") {
  const Result<CubinFacts> facts = read_cubin_facts(test_data("spill_sm_90a.cubin"));
  REQUIRE(facts.ok());
  CHECK(facts->kernels.at(0).registers == 24);
  CHECK(facts->kernels.at(0).frame_bytes > 200);
  CHECK(facts->kernels.at(0).min_stack_bytes >= facts->kernels.at(0).frame_bytes);
  CHECK(facts->kernels.at(0).static_shared_bytes == 0);
}

TEST_CASE("all entry points are listed") {
  const Result<CubinFacts> facts = read_cubin_facts(test_data("pair_sm_100a.cubin"));
  REQUIRE(facts.ok());
  std::vector<std::string> names;
  for (const KernelFacts& kernel : facts->kernels) names.push_back(kernel.entry);
  CHECK_THAT(names, Catch::UnorderedEquals(std::vector<std::string>{"first", "second"}));
}

TEST_CASE("what is no cubin is refused") {
  std::string other_machine = test_data("tile_sm_90a.cubin");
  other_machine[18] = 62;  // e_machine: x86-64
  std::string other_abi = test_data("tile_sm_90a.cubin");
  other_abi[7] = 3;
  for (const std::string& image :
       {std::string(), std::string("\x7f" "ELF"), std::string(4096, '\0'), other_machine, other_abi}) {
    const Result<CubinFacts> facts = read_cubin_facts(image);
    REQUIRE_FALSE(facts.ok());
    CHECK(facts.error().code == ErrorCode::invalid_file);
  }
}

TEST_CASE("an unaligned image reads like an aligned one") {
  const std::string image = std::string(1, char{}).append(test_data("tile_sm_100a.cubin"));
  CHECK(read_cubin_facts(std::string_view(image).substr(1)).ok());
}

TEST_CASE("every truncation is an error") {
  const std::string image = test_data("tile_sm_100a.cubin");
  for (std::size_t size = 0; size < image.size(); size += 7) {
    // A heap copy of exactly this size, so that a read past the end is seen by a sanitizer.
    const std::vector<char> part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    const Result<CubinFacts> facts = read_cubin_facts({part.data(), part.size()});
    // Only the program headers, which the driver reads and we do not, may be missing.
    if (facts.ok()) CHECK(size + 5 * 56 >= image.size());
    else CHECK(facts.error().code == ErrorCode::invalid_file);
  }
}

TEST_CASE("changed bytes give facts or an error, never more") {
  const std::string image = test_data("tile_sm_100a.cubin");
  std::mt19937 random(20);
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string changed = image;
    const int count = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < count; ++i) {
      // Half of the changes go to the headers and tables at the end, where offsets and sizes are.
      const std::size_t from = random() % 2 ? 0 : image.size() - 2200;
      changed[from + random() % (image.size() - from)] = static_cast<char>(random());
    }
    const Result<CubinFacts> facts = read_cubin_facts(changed);
    if (!facts.ok()) {
      ++refused;
      REQUIRE(facts.error().code == ErrorCode::invalid_file);
    }
  }
  CHECK(refused > 500);
}
