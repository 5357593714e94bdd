#include "generator/model/gpu.h"

#include "generator/base/format.h"

namespace mlaindex::model {
namespace {

// "Fitted": to the times of docs/measurements.md, section "Cycle model"; the rest is published or says otherwise.
constexpr Gpu h200{
    .name = "H200",
    .arch = Arch::sm_90a,
    .calibrated = true,
    .num_sms = 132,
    .products_per_clock = 4096,      // data sheet: 1979 TFLOP/s of dense FP8 at 1.83 GHz
    .shared_bytes_per_clock = 128,   // 32 banks of 4 bytes
    .gigahertz = 1.9,                // highest clock 1.98 GHz; start-up times are of this one
    .sustained_gigahertz = 1.5,      // measured: 1.48 to 1.54 GHz at 690 W on prefill of more than 1 ms
    .sustained_load = 0.75,          // measured: the tensor pipe's share there
    .dram_bytes_per_us = 4.43e6,     // fitted; reads of 4 GiB in the same session 4.42e6
    .l2_bytes_per_us = 7.1e6,        // fitted
    .l2_bytes = 40e6,                // 50 MB, of which random pages find most
    .launch_us = 1.1,                // fitted
    .start_clocks = 4200,            // fitted; by `clock` stamps 5100 to 6200 until the first tile is complete
    .start_clocks_paged = 4350,      // fitted; by `clock` stamps 1950 to 4550 with load
    .start_clocks_resident = 2500,   // fitted to 19 launches below 11 us
    .block_start_clocks = 320,       // fitted
    .dispatch = 1.48,                // fitted: wgmma's accumulators take register ports from the fold
    .overlap = 2.64,                 // fitted
};

constexpr Gpu b200{
    .name = "B200",
    .arch = Arch::sm_100a,
    .calibrated = false,
    .num_sms = 148,
    .products_per_clock = 8192,      // data sheet: 4500 TFLOP/s of dense FP8 at 1.85 GHz
    .shared_bytes_per_clock = 128,   // 32 banks of 4 bytes
    .gigahertz = 1.85,               // the clock of the data sheet's rates
    .sustained_gigahertz = 1.25,     // inferred: published cuBLAS MXFP8 8192^3, 2690 TFLOP/s at 1000 W, tensor pipe 90 % busy
    .sustained_load = 0.9,
    .dram_bytes_per_us = 7.4e6,      // data sheet 8.0e6, times what the H200 reaches of its own
    .l2_bytes_per_us = 7.7e6,        // the H200's per SM and clock
    .l2_bytes = 100e6,               // of 126 MB
    .launch_us = 1.1,                // the H200's
    .start_clocks = 4200,            // the H200's
    .start_clocks_paged = 4350,      // the H200's
    .start_clocks_resident = 2500,   // the H200's
    .block_start_clocks = 320,       // the H200's
    .dispatch = 1,                   // assumed: accumulators are in tensor memory, so the fold has the register ports
    .overlap = 2.64,                 // the H200's
};

}  // namespace

Result<Gpu> gpu_of_name(std::string_view name) {
  if (name == "h200") return h200;
  if (name == "b200") return b200;
  return Error{ErrorCode::invalid_argument, fmt::format("unknown GPU '{}'", name), "allowed: h200 (sm_90a), b200 (sm_100a)"};
}

const Gpu& gpu_of_arch(Arch arch) noexcept { return arch == Arch::sm_90a ? h200 : b200; }

}  // namespace mlaindex::model
