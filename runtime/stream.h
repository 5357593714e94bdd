// A queue of work for a GPU.
#pragma once

#include <memory>

#include "runtime/context.h"

namespace mlaindex {

// Owns a stream of the driver's. Ordered with the synchronous copies of DeviceBuffer, and unlike the
// default stream one that can be captured.
class OwnedStream {
 public:
  static Result<OwnedStream> create(std::shared_ptr<const Context> context);
  ~OwnedStream();
  OwnedStream(OwnedStream&& other) noexcept;
  OwnedStream& operator=(OwnedStream&& other) noexcept;

  cuda::Stream handle() const noexcept { return handle_; }

 private:
  explicit OwnedStream(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  cuda::Stream handle_ = nullptr;
};

}  // namespace mlaindex
