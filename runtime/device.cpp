#include "runtime/device.h"

#include <charconv>
#include <string_view>

#include "generator/base/format.h"
#include "runtime/cpu_device.h"
#include "runtime/cuda_device.h"

namespace mlaindex {
namespace {

constexpr std::string_view cuda_prefix = "cuda:";
constexpr Arch default_emulated_arch = Arch::sm_100a;  // no GPU of it is at hand as often

Result<std::unique_ptr<Device>> open_cuda(int ordinal, const DeviceRequest& request, KernelStore& store,
                                          const Config& config) {
  auto opened = CudaDevice::open(ordinal, store, config);
  if (!opened) return opened.error();
  if (request.arch && *request.arch != (*opened)->arch()) {
    return Error{ErrorCode::unsupported_arch,
                 fmt::format("{} was asked for, but {} is what there is", arch_name(*request.arch), (*opened)->name()),
                 "leave the arch out, or use --device emulator"};
  }
  return std::unique_ptr<Device>(std::move(*opened));
}

Result<std::unique_ptr<Device>> open_emulator(const DeviceRequest& request, KernelStore& store) {
  if (request.emulator) return request.emulator(store, request.arch.value_or(default_emulated_arch));
  return Error{ErrorCode::no_device, "the emulator is not linked into this program", "use --device cuda:N or cpu"};
}

Result<OpenedDevice> open_best(const DeviceRequest& request, KernelStore& store, const Config& config) {
  auto cuda = open_cuda(0, request, store, config);
  if (cuda) return OpenedDevice{std::move(*cuda), {}};
  std::string note = "no cuda:0: " + cuda.error().text();
  if (request.emulator) {
    auto emulator = open_emulator(request, store);
    if (emulator) return OpenedDevice{std::move(*emulator), std::move(note)};
    note += "; no emulator: " + emulator.error().text();
  }
  return OpenedDevice{std::make_unique<CpuDevice>(), std::move(note)};
}

}  // namespace

std::optional<int> cuda_ordinal(std::string_view name) noexcept {
  if (!name.starts_with(cuda_prefix)) return {};
  name.remove_prefix(cuda_prefix.size());
  int ordinal = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  if (error != std::errc() || end != name.data() + name.size() || ordinal < 0) return {};
  return ordinal;
}

Result<OpenedDevice> open_device(const DeviceRequest& request, KernelStore& store, const Config& config) {
  if (request.name == "auto") return open_best(request, store, config);
  if (request.name == "cpu") return OpenedDevice{std::make_unique<CpuDevice>(), {}};
  Result<std::unique_ptr<Device>> device =
      Error{ErrorCode::invalid_argument, fmt::format("unknown device '{}'", request.name),
            "allowed: auto, cuda:N, emulator, cpu"};
  if (request.name == "emulator") {
    device = open_emulator(request, store);
  } else if (const auto ordinal = cuda_ordinal(request.name)) {
    device = open_cuda(*ordinal, request, store, config);
  }
  if (!device) return device.error();
  return OpenedDevice{std::move(*device), {}};
}

}  // namespace mlaindex
