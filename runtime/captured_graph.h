// Work of a stream, recorded once and replayed by one call: what servers do with a decode step.
#pragma once

#include <functional>
#include <memory>

#include "runtime/context.h"

namespace mlaindex {

// Owns a CUDA graph. For one thread at a time.
class CapturedGraph {
 public:
  // Records what `enqueue` puts on `stream`, none of which runs yet. The stream is no longer captured
  // afterwards, whatever fails. Errors: those of `enqueue`, cuda_error.
  static Result<CapturedGraph> capture(std::shared_ptr<const Context> context, cuda::Stream stream,
                                       const std::function<Status()>& enqueue);
  ~CapturedGraph();
  CapturedGraph(CapturedGraph&& other) noexcept;
  CapturedGraph& operator=(CapturedGraph&& other) noexcept;

  // Enqueues all of it.
  Status replay(cuda::Stream stream) const;

 private:
  explicit CapturedGraph(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  cuda::Graph graph_ = nullptr;
  cuda::GraphExec executable_ = nullptr;
};

}  // namespace mlaindex
