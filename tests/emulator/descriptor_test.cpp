// Worked numbers of the shared-memory and instruction descriptors.
#include <catch2/catch.hpp>

#include "emulator/instruction_descriptor.h"
#include "emulator/matrix_descriptor.h"

using namespace mlaindex;
using namespace mlaindex::emulator;

TEST_CASE("K-major tiles under the 128-byte swizzle") {
  const auto d = decode_tcgen05_descriptor(0x4000404000000040);
  REQUIRE(d.ok());
  CHECK(d->start == 0x400);
  CHECK(d->stride_byte_offset == 1024);
  CHECK(d->swizzle == Swizzle::b128);
  struct Case { std::uint32_t row, k, offset; };
  for (const Case c : {Case{0, 0, 0}, {1, 0, 144}, {1, 16, 128}, {8, 0, 1024}, {9, 16, 1152},
                       {127, 0, 16368}})
    CHECK(byte_address(*d, c.row, c.k) == 0x400 + c.offset);
  const auto step2 = decode_tcgen05_descriptor(0x4000404000000044);  // 64 bytes further along K
  REQUIRE(step2.ok());
  CHECK(byte_address(*step2, 5, 0) == 0x400 + 656);
  CHECK(byte_address(*step2, 5, 16) == 0x400 + 640);
}

TEST_CASE("The narrower swizzles and none") {
  const auto b64 = decode_tcgen05_descriptor(0x8000402000000040);
  const auto b32 = decode_tcgen05_descriptor(0xC000401000000040);
  const auto none = decode_tcgen05_descriptor(0x0000400800800040);
  REQUIRE(b64.ok());
  REQUIRE(b32.ok());
  REQUIRE(none.ok());
  CHECK(byte_address(*b64, 2, 0) == 0x400 + 144);
  CHECK(byte_address(*b32, 4, 0) == 0x400 + 144);
  CHECK(byte_address(*b32, 5, 16) == 0x400 + 160);
  CHECK(none->leading_byte_offset == 2048);
  CHECK(byte_address(*none, 9, 17) == 0x400 + 128 + 16 + 2048 + 1);
}

TEST_CASE("wgmma and tcgen05 descriptors are told apart") {
  CHECK(decode_wgmma_descriptor(0x4000004000000040).ok());
  CHECK_FALSE(decode_tcgen05_descriptor(0x4000004000000040).ok());
  CHECK_FALSE(decode_wgmma_descriptor(0x4000404000000040).ok());
  CHECK(decode_wgmma_descriptor(0x8000002000000040)->swizzle == Swizzle::b64);
}

// Base offsets were measured on an H200: the fact "base-offset" of mlaindex_hardware_facts.
TEST_CASE("A base offset of wgmma is taken off the address bits that the swizzle looks at") {
  const auto b128 = decode_wgmma_descriptor(0x4000004000000040 | 3ull << 49);
  REQUIRE(b128.ok());
  for (std::uint32_t row = 0; row < 8; ++row)
    CHECK(byte_address(*b128, row, 0) == 0x400 + 128 * row + 16 * ((row + 5) % 8));
  CHECK(byte_address(*b128, 0, 16) == 0x400 + 64);
  CHECK(byte_address(*b128, 3, 16) == 0x400 + 384 + 16);
  for (const std::uint64_t other : {std::uint64_t{0x0000004000000040}, std::uint64_t{0x8000002000000040}, std::uint64_t{0xC000001000000040}})
    CHECK_FALSE(decode_wgmma_descriptor(other | 3ull << 49).ok());
}

TEST_CASE("Unsettled and reserved descriptor fields are refused") {
  const std::uint64_t good = 0x4000404000000040;
  for (const std::uint64_t bad : {good | 1ull << 49, good | 1ull << 52, good | 1ull << 14, good | 1ull << 55,
                                  (good & ~(7ull << 61)) | 3ull << 61, (good & ~(7ull << 61)) | 1ull << 61})
    CHECK_FALSE(decode_tcgen05_descriptor(bad).ok());
}

TEST_CASE("Instruction descriptors") {
  const auto d = decode_instruction_descriptor(0x08200010, MmaKind::f8f6f4, 1);
  REQUIRE(d.ok());
  CHECK(d->m == 128);
  CHECK(d->n == 128);
  CHECK(d->k == 32);
  CHECK(d->a == NumberFormat::e4m3);
  CHECK(decode_instruction_descriptor(0x04100010, MmaKind::f8f6f4, 1)->m == 64);
  CHECK(decode_instruction_descriptor(0x10200010, MmaKind::f8f6f4, 2)->m == 256);
  CHECK_FALSE(decode_instruction_descriptor(0x10200010, MmaKind::f8f6f4, 1).ok());
  CHECK_FALSE(decode_instruction_descriptor(0x08000010, MmaKind::f8f6f4, 1).ok());  // N = 0
  CHECK_FALSE(decode_instruction_descriptor(0x08200110, MmaKind::f8f6f4, 1).ok());  // A format 2
  CHECK_FALSE(decode_instruction_descriptor(0x08200018, MmaKind::f8f6f4, 1).ok());  // saturate
  CHECK_FALSE(decode_instruction_descriptor(0x08210010, MmaKind::f8f6f4, 1).ok());  // N-major B
}
