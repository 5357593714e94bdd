#include "runtime/captured_graph.h"

#include <utility>

namespace mlaindex {

Result<CapturedGraph> CapturedGraph::capture(std::shared_ptr<const Context> context, cuda::Stream stream,
                                             const std::function<Status()>& enqueue) {
  const Driver& driver = context->driver();
  const ContextScope scope(*context);
  if (Status status = scope.status(); !status) return status.error();
  CapturedGraph captured(context);
  const auto begun = driver->stream_begin_capture(stream, cuda::CaptureMode::thread_local_mode);
  if (Status status = driver.check(begun, "cuStreamBeginCapture"); !status) return status.error();
  const Status enqueued = enqueue();
  const auto ended = driver->stream_end_capture(stream, &captured.graph_);
  if (!enqueued) return enqueued.error();
  if (Status status = driver.check(ended, "cuStreamEndCapture"); !status) return status.error();
  const auto made = driver->graph_instantiate(&captured.executable_, captured.graph_, 0);
  if (Status status = driver.check(made, "cuGraphInstantiate"); !status) return status.error();
  return captured;
}

CapturedGraph::~CapturedGraph() {
  if (context_ == nullptr) return;
  const ContextScope scope(*context_);
  if (executable_ != nullptr) context_->driver()->graph_exec_destroy(executable_);
  if (graph_ != nullptr) context_->driver()->graph_destroy(graph_);
}

CapturedGraph::CapturedGraph(CapturedGraph&& other) noexcept
    : context_(std::move(other.context_)), graph_(std::exchange(other.graph_, nullptr)),
      executable_(std::exchange(other.executable_, nullptr)) {}

CapturedGraph& CapturedGraph::operator=(CapturedGraph&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(graph_, other.graph_);
  std::swap(executable_, other.executable_);
  return *this;
}

Status CapturedGraph::replay(cuda::Stream stream) const {
  const ContextScope scope(*context_);
  if (Status status = scope.status(); !status) return status;
  const Driver& driver = context_->driver();
  return driver.check(driver->graph_launch(executable_, stream), "cuGraphLaunch");
}

}  // namespace mlaindex
