#include "tools/bench/roofs.h"

#include <algorithm>
#include <span>
#include <string>

#include "generator/base/format.h"
#include "generator/templates.h"
#include "runtime/loaded_kernel.h"
#include "tools/lower_bound.h"

namespace mlaindex {

// Generated from tools/kernels/ by cmake/EmbedTemplates.cmake.
std::span<const Template> all_bench_kernels() noexcept;

namespace tools {
namespace {

constexpr std::uint32_t word = 1;  // what the memory that is read is filled with

// Enqueues a read of all of `data`; its sum of words is added to `sum`.
class ReadProbe {
 public:
  ReadProbe(const LoadedKernel& kernel, const DeviceBuffer& data, const DeviceBuffer& sum)
      : kernel_(kernel), data_(data.pointer()), num_vectors_(data.bytes() / 16), sum_(sum.pointer()) {}

  Status operator()(cuda::Stream stream) {
    constexpr int num_threads = 512, ctas_per_sm = 4;
    void* parameters[] = {&data_, &num_vectors_, &sum_};
    const int num_sms = kernel_.context().properties().num_sms;
    return kernel_.launch({.grid_x = ctas_per_sm * num_sms, .num_threads = num_threads}, stream, parameters);
  }

 private:
  const LoadedKernel& kernel_;
  cuda::DevicePointer data_;
  unsigned long long num_vectors_;
  cuda::DevicePointer sum_;
};

// One read, whose sum must be that of every word.
Status check_read(GpuStopwatch& stopwatch, ReadProbe& read, DeviceBuffer& sum, std::size_t bytes) {
  if (Status status = sum.enqueue_fill(0, stopwatch.stream()); !status) return status;
  if (const Result<double> time = stopwatch.warm(read); !time) return time.error();
  std::uint32_t got = 0;
  if (Status status = sum.download(std::as_writable_bytes(std::span(&got, 1))); !status) return status;
  const auto want = static_cast<std::uint32_t>(bytes / 4 * word);
  if (got == want) return {};
  return Error{ErrorCode::internal,
               fmt::format("the kernel that measures the read rate added {} words of 1 up to {}", bytes / 4, got),
               "please report this with the output of 'mlaindex doctor'"};
}

}  // namespace

Result<CompiledKernel> compile_read_kernel(Compiler& compiler, Arch arch) {
  const Template& file = all_bench_kernels().front();
  Result<CompileOutput> output = compiler.compile(arch, std::string(file.path), std::string(file.text));
  if (!output) return output.error();
  CompiledKernel kernel;
  kernel.spec.arch = arch;
  kernel.kernel_name = "mlaindex_read_memory";
  kernel.ptx = std::move(output->ptx);
  kernel.cubin = std::move(output->cubin);
  return kernel;
}

Result<Roofs> measure_roofs(const std::shared_ptr<const Context>& context, GpuStopwatch& stopwatch, Compiler& compiler,
                            Arch arch, std::size_t bytes, int samples) {
  const Result<CompiledKernel> compiled = compile_read_kernel(compiler, arch);
  if (!compiled) return compiled.error();
  const Result<LoadedKernel> kernel = LoadedKernel::load(context, *compiled);
  if (!kernel) return kernel.error();
  auto data = DeviceBuffer::allocate(context, "the memory that is read", bytes, false);
  if (!data) return data.error();
  auto copy = DeviceBuffer::allocate(context, "the memory that is copied to", bytes, false);
  if (!copy) return copy.error();
  auto sum = DeviceBuffer::allocate(context, "the sum of what was read", sizeof(std::uint32_t), false);
  if (!sum) return sum.error();
  if (Status status = data->enqueue_fill(word, stopwatch.stream()); !status) return status.error();

  ReadProbe read(*kernel, *data, *sum);
  if (Status status = check_read(stopwatch, read, *sum, bytes); !status) return status.error();
  const auto copying = [&](cuda::Stream stream) { return copy->enqueue_copy(*data, stream); };
  if (const auto first = stopwatch.warm(copying); !first) return first.error();
  const Result<Spread> reads = stopwatch.warm_spread(samples, read);
  if (!reads) return reads.error();
  const Result<Spread> copies = stopwatch.warm_spread(samples, copying);
  if (!copies) return copies.error();
  const Result<Spread> gaps = stopwatch.cold_spread(samples, [](cuda::Stream) -> Status { return {}; });
  if (!gaps) return gaps.error();
  const auto rate = [&](double moved, const Spread& times) { return times.median > 0 ? moved / times.median * 1e6 : 0; };
  return Roofs{.read = rate(static_cast<double>(bytes), *reads),
               .copy = rate(2 * static_cast<double>(bytes), *copies),
               .tensor = published_tensor_rate(arch),
               .event_gap = *gaps};
}

std::size_t roof_buffer_bytes(std::size_t memory_bytes) noexcept {
  return std::min<std::size_t>(std::size_t{2} << 30, memory_bytes / 8 / 16 * 16);
}

}  // namespace tools
}  // namespace mlaindex
