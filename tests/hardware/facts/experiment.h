// One launch of one small kernel, on whatever machine executes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "generator/base/result.h"
#include "generator/base/tensor_map_params.h"

namespace mlaindex::hardware {

using Bytes = std::vector<std::byte>;

struct Experiment {
  std::string label;                                     // unique within a fact
  std::string kernel;                                    // kernels/NAME.cu
  std::vector<std::pair<std::string, int>> constants{};  // macros of the source
  std::uint32_t ctas = 1, threads = 128, shared_bytes = 0;
  std::vector<std::int32_t> settings{};  // at most 12
  Bytes input{};
  std::size_t output_bytes = 0;          // zeros at first
  std::optional<TensorMapParams> map{};  // its address counts from the buffer it lies over
  bool map_over_output = false;
  bool non_portable_cluster = false;  // allow clusters over the portable size
};

// The kernels' other parameters, by value. Mirrors kernels/prelude.cuh.
struct KernelSettings {
  std::int32_t v[12] = {};
};

KernelSettings kernel_settings(const Experiment& experiment) noexcept;

class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string name() const = 0;
  // The output buffer after the kernel. An error: the launch was refused, the kernel faulted, or it was not run.
  virtual Result<Bytes> run(const Experiment& experiment) = 0;
};

// For machines that an earlier fault left unusable.
inline Error not_run() { return {ErrorCode::no_device, "not run after the fault above", ""}; }
inline bool was_not_run(const Error& error) noexcept { return error.code == ErrorCode::no_device; }

// Values of a buffer of trivially copyable elements.
template <class T>
std::vector<T> values(std::span<const std::byte> bytes) {
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

template <class T>
Bytes bytes_of(const std::vector<T>& from) {
  const auto bytes = std::as_bytes(std::span(from));
  return {bytes.begin(), bytes.end()};
}

}  // namespace mlaindex::hardware
