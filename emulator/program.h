// A kernel ready to run: instructions with a handler, resolved operands and a PTX line.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "generator/base/result.h"
#include "generator/ptx/module.h"

namespace mlaindex::emulator {

inline constexpr std::uint32_t kWarpSize = 32;
using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = ~LaneMask{0};

// Windows of the generic address space, far from host addresses, which are the global ones.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 56;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{3} << 56;
inline constexpr std::uint64_t kWindowMask = std::uint64_t{0xFF} << 56;
// A shared::cluster address is the CTA's rank above a 24-bit offset.
inline constexpr unsigned kRankShift = 24;

// What an instruction did.
enum class Step : std::uint8_t {
  next,     // go on with the next instruction
  branch,   // Execution::taken lanes jump to the target
  blocked,  // nothing happened; try again when something has changed
  yield,    // like next, but let other warps run
  exited,   // the executing lanes are done
  fatal,    // a fault that ends the run was reported
};

struct Execution;
using Handler = Step (*)(Execution&);

// Where a value lives: 32 lanes of `bytes` each (predicates: one mask), in the warp's register file or
// among the program's constants.
struct Operand {
  std::uint32_t offset = 0;   // bytes into the file
  std::int32_t slot = -1;     // index for tracking; -1: always initialised
  std::uint8_t bytes = 0;     // of one lane; 0 for a predicate
  bool constant = false;      // in Program::constants
  bool negated = false;       // predicates only
  bool none = false;          // `_`, or an operand that was not given
};

// [base + offset]
struct AddressOperand {
  Operand base;               // 4 or 8 bytes a lane, or a constant
  std::int64_t offset = 0;
};

struct Instruction {
  Handler handler = nullptr;
  std::uint32_t line = 0;
  std::uint32_t target = 0;            // of a branch
  Operand guard{.none = true};
  std::vector<Operand> operands;       // destination first
  std::vector<AddressOperand> addresses;
  const ptx::Instruction* source = nullptr;

  // The family's own settings: a small trivially copyable struct.
  template <class T>
  const T& settings() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(storage));
    return *reinterpret_cast<const T*>(storage.data());
  }
  template <class T>
  void set(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(storage));
    std::memcpy(storage.data(), &value, sizeof value);
  }
  alignas(8) std::array<std::byte, 48> storage{};
};

// Values that differ between warps or CTAs and are fixed for a warp's life.
enum class Special : std::uint8_t {
  tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z,
  laneid, warpid, nwarpid, smid, nsmid, gridid, lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt,
  clusterid_x, clusterid_y, clusterid_z, nclusterid_x, nclusterid_y, nclusterid_z,
  cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z, cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z,
  cluster_ctarank, cluster_nctarank, is_explicit_cluster, dynamic_smem_size, total_smem_size,
  clock, clock_hi, clock64, globaltimer, globaltimer_lo, globaltimer_hi,
};

struct SpecialSlot {
  Special special;
  Operand operand;
};

// A shared variable's address plus an offset, the CTA's own rank included.
struct SharedSymbolSlot {
  std::uint32_t address;
  Operand operand;
};

struct Program {
  const ptx::Function* function = nullptr;
  std::string entry;
  std::vector<Instruction> instructions;
  std::uint32_t file_bytes = 0;              // of a warp's register file
  std::uint32_t num_slots = 0;               // tracked registers
  std::vector<std::string> slot_names;
  std::vector<std::byte> constants;          // 64-byte aligned entries
  std::vector<SpecialSlot> specials;
  std::vector<SharedSymbolSlot> shared_symbols;
  std::uint32_t local_bytes = 0;             // per thread
  std::uint32_t param_bytes = 0;
  std::uint32_t shared_base = 0;             // first byte of static shared data
  std::uint32_t dynamic_start = 0;           // first byte of dynamic shared memory
  std::vector<std::unique_ptr<std::byte[]>> globals;  // storage of module variables
  struct GlobalVariable { std::string name; std::byte* data; std::uint64_t size; bool writable; };
  std::vector<GlobalVariable> global_variables;
  std::array<std::uint32_t, 3> required_threads{};   // .reqntid; zeros: none
  std::array<std::uint32_t, 3> max_threads{};        // .maxntid; zeros: none
  std::array<std::uint32_t, 3> required_cluster{};   // .reqnctapercluster; zeros: none
  std::uint32_t min_ctas = 0;                        // .minnctapersm
  std::uint32_t max_registers = 0;                   // .maxnreg
  std::vector<std::string> refusals;                 // why instructions that stop the run are not modelled
  bool waits_for_launches = false;                   // griddepcontrol.wait is among the instructions
  bool uses_grid_state = false;                      // global atomics or clusterlaunchcontrol
};

// Resolves `entry` of `module`, which must outlive the program. Instructions that are not modelled
// become ones that stop the run when they are reached. Errors: no such entry, or declarations that
// cannot be laid out.
Result<Program> load_program(const ptx::Module& module, const std::string& entry, std::uint32_t shared_base);

}  // namespace mlaindex::emulator
