#include "runtime/stream.h"

#include <utility>

namespace mlaindex {

Result<OwnedStream> OwnedStream::create(std::shared_ptr<const Context> context) {
  const Driver& driver = context->driver();
  const ContextScope scope(*context);
  if (Status status = scope.status(); !status) return status.error();
  OwnedStream stream(context);
  const auto code = driver->stream_create(&stream.handle_, cuda::stream_default);
  if (Status status = driver.check(code, "cuStreamCreate"); !status) return status.error();
  return stream;
}

OwnedStream::~OwnedStream() {
  if (handle_ == nullptr) return;
  const ContextScope scope(*context_);
  context_->driver()->stream_destroy(handle_);
}

OwnedStream::OwnedStream(OwnedStream&& other) noexcept
    : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}

OwnedStream& OwnedStream::operator=(OwnedStream&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(handle_, other.handle_);
  return *this;
}

}  // namespace mlaindex
