#include "tests/hardware/facts/isolated_machine.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "generator/base/format.h"
#include "tests/hardware/facts/gpu_machine.h"

namespace mlaindex::hardware {
namespace {

constexpr unsigned seconds_per_experiment = 20;

// An answer on its way through a pipe: the error's code, or has_output; then the message, or the output.
constexpr std::byte has_output{0xff};

Bytes encode(const Result<Bytes>& answer) {
  Bytes message{answer ? has_output : static_cast<std::byte>(answer.error().code)};
  const auto body = answer ? std::span<const std::byte>(*answer) : std::as_bytes(std::span(answer.error().message));
  message.insert(message.end(), body.begin(), body.end());
  return message;
}

Result<Bytes> decode(const Bytes& message) {
  const auto body = std::span(message).subspan(1);
  if (message.front() == has_output) return Bytes(body.begin(), body.end());
  return Error{static_cast<ErrorCode>(message.front()),
               std::string(reinterpret_cast<const char*>(body.data()), body.size()), ""};
}

Bytes read_all(int from) {
  Bytes all;
  std::array<std::byte, 4096> piece;
  for (ssize_t count; (count = read(from, piece.data(), piece.size())) > 0;)
    all.insert(all.end(), piece.begin(), piece.begin() + count);
  return all;
}

bool write_all(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(to, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<Bytes> IsolatedMachine::run(const Experiment& experiment) {
  if (const auto compiled = kernels_.get(experiment); !compiled) return compiled.error();
  int ends[2];
  if (pipe(ends) != 0) return Error{ErrorCode::internal, "no pipe", ""};
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds_per_experiment);
    auto machine = GpuMachine::open(kernels_, config_, ordinal_);
    const Result<Bytes> answer = machine ? (*machine)->run(experiment) : Result<Bytes>(machine.error());
    _exit(write_all(ends[1], encode(answer)) ? 0 : 1);
  }
  close(ends[1]);
  const Bytes message = child > 0 ? read_all(ends[0]) : Bytes{};
  close(ends[0]);
  if (child < 0) return Error{ErrorCode::internal, "no process", ""};
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return Error{ErrorCode::internal,
                 WTERMSIG(status) == SIGALRM ? fmt::format("no answer in {} s", seconds_per_experiment)
                                             : fmt::format("ended by signal {}", WTERMSIG(status)),
                 ""};
  if (WEXITSTATUS(status) != 0 || message.empty()) return Error{ErrorCode::internal, "ended without an answer", ""};
  return decode(message);
}

}  // namespace mlaindex::hardware
