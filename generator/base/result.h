// Errors are values. Every fallible function of this project returns Result<T>; nothing throws
// across a library boundary. The codes are those of the public contract (docs/errors.md).
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace mlaindex {

enum class ErrorCode {
  invalid_argument,    // a value, shape or dtype that the contract does not allow
  unsupported_shape,   // legal by the contract, but no plan of this version computes it
  unsupported_arch,    // not an architecture of this library, or not one of this toolchain
  invalid_file,        // an input file that is missing, truncated or not what it says it is
  no_driver,           // libcuda is absent or too old
  no_device,           // a driver, but no usable GPU
  no_nvrtc,            // libnvrtc is absent or too old
  compile_failed,      // NVRTC refused the source; the message carries its log
  rejected_by_pass,    // a PTX or cubin pass refused the kernel (it spills, say)
  would_compile_in_capture,
  workspace_too_small,
  cuda_error,          // the driver reported an error; the message carries its name
  cache_trouble,       // never fatal: callers degrade to memory
  out_of_memory,
  internal,            // a broken invariant of this library
};

// The code's name as printed by the CLI and carried by --json, for example "invalid_argument".
const char* error_code_name(ErrorCode code) noexcept;

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // what was given and what went wrong
  std::string hint;     // what is allowed or what to do; may be empty

  // "message (hint)", or just the message.
  std::string text() const { return hint.empty() ? message : message + " (" + hint + ")"; }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & { assert(ok()); return *std::get_if<0>(&state_); }
  const T& value() const& { assert(ok()); return *std::get_if<0>(&state_); }
  T&& value() && { assert(ok()); return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { assert(!ok()); return *std::get_if<1>(&state_); }
  Error&& error() && { assert(!ok()); return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return ok(); }
  const Error& error() const& { assert(!ok()); return *error_; }
  Error&& error() && { assert(!ok()); return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace mlaindex
