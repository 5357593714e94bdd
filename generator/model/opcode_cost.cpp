#include "generator/model/opcode_cost.h"

#include <algorithm>

namespace mlaindex::model {
namespace {

// A warp takes 32 lanes / (lanes of the pipe in a quarter of an SM) clocks. "Guide" is the CUDA C++ Programming
// Guide's table of arithmetic throughput, which counts lanes of a whole SM.
struct Row {
  std::string_view opcode;
  Pipe pipe;
  double clocks;
};

constexpr Row rows[] = {
    // Guide: 128 lanes for f32 add, multiply and multiply-add.
    {"FFMA", Pipe::fma, 1}, {"FADD", Pipe::fma, 1}, {"FMUL", Pipe::fma, 1}, {"FSWZADD", Pipe::fma, 1},
    // Guide: 256 results of two to an instruction; NVIDIA's forum (GH100): both halves of the FMA pipe at once.
    {"HFMA2", Pipe::fma, 1}, {"HADD2", Pipe::fma, 1}, {"HMUL2", Pipe::fma, 1},
    // Guide: 64 lanes for integer multiply-add; also how ptxas moves registers.
    {"IMAD", Pipe::fma, 2}, {"IMUL", Pipe::fma, 2},
    // sm_100a only. Inferred: the SM has 128 f32 lanes and an instruction two results a lane, so peak f32 rate is
    // 2 clocks a warp.
    {"FFMA2", Pipe::fma, 2}, {"FADD2", Pipe::fma, 2}, {"FMUL2", Pipe::fma, 2},
    // Guide: 64 lanes for comparison, minimum, maximum, integer add, logic and shift. On the H200 the profiler's
    // share of this pipe at 64 heads (42 %) confirms it for FMNMX. Inferred for the rest of the list.
    {"FMNMX", Pipe::alu, 2}, {"FMNMX3", Pipe::alu, 2}, {"FSEL", Pipe::alu, 2}, {"FSETP", Pipe::alu, 2}, {"HMNMX2", Pipe::alu, 2},
    {"IADD3", Pipe::alu, 2}, {"IADD", Pipe::alu, 2}, {"VIADD", Pipe::alu, 2}, {"VIADDMNMX", Pipe::alu, 2},
    {"VIMNMX", Pipe::alu, 2}, {"VIMNMX3", Pipe::alu, 2}, {"ISETP", Pipe::alu, 2}, {"LEA", Pipe::alu, 2},
    {"LOP3", Pipe::alu, 2}, {"PLOP3", Pipe::alu, 2}, {"SEL", Pipe::alu, 2}, {"SHF", Pipe::alu, 2}, {"PRMT", Pipe::alu, 2},
    {"MOV", Pipe::alu, 2}, {"R2P", Pipe::alu, 2}, {"P2R", Pipe::alu, 2}, {"SGXT", Pipe::alu, 2},
    // Guide: 64 lanes for conversions from 32 bits; the pipe is inferred.
    {"F2FP", Pipe::alu, 2},
    // Guide: 32 lanes of an SM for shuffles; inferred for memory: 32 lanes an SM, which its quarters share.
    {"SHFL", Pipe::lsu, 4}, {"LDS", Pipe::lsu, 4}, {"STS", Pipe::lsu, 4}, {"LDG", Pipe::lsu, 4}, {"STG", Pipe::lsu, 4},
    {"LD", Pipe::lsu, 4}, {"ST", Pipe::lsu, 4}, {"ATOMS", Pipe::lsu, 4}, {"SYNCS", Pipe::lsu, 4}, {"LDSM", Pipe::lsu, 4},
};

}  // namespace

OpcodeCost opcode_cost(Arch arch, std::string_view base) noexcept {
  const auto row = std::ranges::find(rows, base, &Row::opcode);
  if (row != std::end(rows)) {
    const bool packed = base == "FFMA2" || base == "FADD2" || base == "FMUL2";
    return packed && arch == Arch::sm_90a ? OpcodeCost{} : OpcodeCost{row->pipe, row->clocks};
  }
  // Inferred: an instruction on uniform registers every other clock.
  const bool uniform = base.starts_with('U') && !base.starts_with("UTC") && !base.starts_with("UTMA") &&
                       !base.starts_with("USETMAXREG");
  return uniform ? OpcodeCost{Pipe::uniform, 2} : OpcodeCost{};
}

}  // namespace mlaindex::model
