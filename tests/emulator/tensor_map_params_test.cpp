// Tensor-map parameters: the driver's rules, and the packed form.
#include <catch2/catch.hpp>

#include "generator/base/tensor_map_params.h"

using namespace mlaindex;

namespace {

TensorMapParams keys() {
  TensorMapParams map;
  map.address = 0x10000;
  map.rank = 2;
  map.dims = {128, 1000};
  map.strides = {128};
  map.box = {128, 64};
  map.swizzle = TensorMapSwizzle::b128;
  return map;
}

}  // namespace

TEST_CASE("A valid map survives packing") {
  TensorMapParams map = keys();
  map.dims[1] = std::uint64_t{1} << 32;
  REQUIRE(validate(map).ok());
  CHECK(box_bytes(map) == 8192);
  const auto bytes = pack(map);
  const auto back = unpack_tensor_map(bytes);
  REQUIRE(back.ok());
  CHECK(*back == map);
}

TEST_CASE("Foreign bytes are refused") {
  TensorMapBytes bytes{};
  CHECK(unpack_tensor_map(bytes).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("Each rule of the driver is enforced") {
  const auto rejects = [](auto change) {
    TensorMapParams map = keys();
    change(map);
    return !validate(map).ok();
  };
  CHECK(rejects([](auto& m) { m.rank = 0; }));
  CHECK(rejects([](auto& m) { m.rank = 6; }));
  CHECK(rejects([](auto& m) { m.address += 8; }));
  CHECK(rejects([](auto& m) { m.dims[1] = 0; }));
  CHECK(rejects([](auto& m) { m.strides[0] = 120; }));
  CHECK(rejects([](auto& m) { m.strides[0] = std::uint64_t{1} << 40; }));
  CHECK(rejects([](auto& m) { m.box[1] = 257; }));
  CHECK(rejects([](auto& m) { m.box[0] = 24; }));
  CHECK(rejects([](auto& m) { m.swizzle = TensorMapSwizzle::b64; }));
  CHECK(rejects([](auto& m) { m.element_strides[1] = 9; }));
  CHECK(rejects([](auto& m) { m.fill = TensorMapFill::nan; }));
  CHECK(rejects([](auto& m) { m.interleave = TensorMapInterleave::b16; }));
}
