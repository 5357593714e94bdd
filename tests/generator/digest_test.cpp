#include "generator/base/digest.h"

#include <catch2/catch.hpp>

using namespace mlaindex;

TEST_CASE("digest_of is BLAKE3-256") {
  // The empty-input vector of the BLAKE3 reference test vectors.
  CHECK(hex(digest_of("")) == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
}

TEST_CASE("fields are length-prefixed: moving a byte between fields changes the digest") {
  const Digest ab_c = DigestBuilder().add("x", "ab").add("y", "c").finish();
  const Digest a_bc = DigestBuilder().add("x", "a").add("y", "bc").finish();
  const Digest again = DigestBuilder().add("x", "ab").add("y", "c").finish();
  CHECK(ab_c != a_bc);
  CHECK(ab_c == again);
}
