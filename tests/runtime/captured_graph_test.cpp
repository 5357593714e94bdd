#include "runtime/captured_graph.h"

#include "runtime/device_buffer.h"
#include "runtime/stream.h"
#include "tests/runtime/fake_driver_test.h"

namespace mlaindex {

TEST_CASE_METHOD(FakeDriverTest, "a captured graph is replayed, and destroyed with its stream", "[captured_graph]") {
  {
    auto stream = OwnedStream::create(context());
    REQUIRE(stream.ok());
    bool was_capturing = false;
    auto graph = CapturedGraph::capture(context(), stream->handle(), [&]() -> Status {
      was_capturing = fake().capturing;
      return {};
    });
    REQUIRE(graph.ok());
    CHECK(was_capturing);
    CHECK_FALSE(fake().capturing);
    CapturedGraph moved = std::move(*graph);
    CHECK(moved.replay(stream->handle()).ok());
    CHECK(moved.replay(stream->handle()).ok());
    CHECK(fake().replays == 2);
    CHECK(fake().graphs == 2);  // what was recorded, and its executable form
    CHECK(fake().streams == 1);
  }
  CHECK(fake().graphs == 0);
  CHECK(fake().streams == 0);
  CHECK(fake().context_depth == 0);
  CHECK(fake().retained == 0);
}

TEST_CASE_METHOD(FakeDriverTest, "whatever fails, the stream is left as it was and nothing leaks", "[captured_graph]") {
  auto stream = OwnedStream::create(context());
  REQUIRE(stream.ok());
  const auto nothing = []() -> Status { return {}; };
  const auto refused = CapturedGraph::capture(
      context(), stream->handle(), []() -> Status { return Error{ErrorCode::invalid_argument, "no such thing", ""}; });
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "no such thing");
  for (const char* function : {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuCtxPushCurrent"}) {
    fail(function, cuda::ReturnCode::stream_capture_unsupported);
    const auto graph = CapturedGraph::capture(context(), stream->handle(), nothing);
    REQUIRE_FALSE(graph.ok());
    CHECK(graph.error().code == ErrorCode::cuda_error);
    CHECK_THAT(graph.error().message, Catch::Contains(function) && Catch::Contains("(900)"));
    CHECK_FALSE(fake().capturing);
    CHECK(fake().graphs == 0);
  }
  fail("nothing", cuda::ReturnCode::success);
  auto graph = CapturedGraph::capture(context(), stream->handle(), nothing);
  REQUIRE(graph.ok());
  fail("cuGraphLaunch", cuda::ReturnCode::launch_failed);
  CHECK_THAT(graph->replay(stream->handle()).error().message, Catch::Contains("cuGraphLaunch"));
  fail("cuStreamCreate", cuda::ReturnCode::out_of_memory);
  CHECK(OwnedStream::create(context()).error().code == ErrorCode::out_of_memory);
}

TEST_CASE_METHOD(FakeDriverTest, "device buffers are filled and copied on a stream", "[captured_graph]") {
  auto from = DeviceBuffer::allocate(context(), "from", 64, false);
  auto to = DeviceBuffer::allocate(context(), "to", 64, true);
  REQUIRE((from.ok() && to.ok()));
  REQUIRE(from->enqueue_fill(0x01020304, nullptr).ok());
  REQUIRE(to->enqueue_copy(*from, nullptr).ok());
  std::vector<std::byte> bytes(64);
  REQUIRE(to->download(bytes).ok());
  CHECK(bytes.front() == std::byte{4});
  CHECK(bytes.back() == std::byte{1});
  CHECK(to->check_guard_zones().ok());
  fail("cuMemcpyDtoDAsync", cuda::ReturnCode::illegal_address);
  CHECK_THAT(to->enqueue_copy(*from, nullptr).error().message, Catch::Contains("copying from to to"));
  fail("cuMemsetD32Async", cuda::ReturnCode::illegal_address);
  CHECK_THAT(to->enqueue_fill(1, nullptr).error().message, Catch::Contains("filling to"));
}

}  // namespace mlaindex
