// Which instruction is what, and where its neighbours are.
#pragma once

#include <functional>
#include <optional>

#include "generator/ptx/instruction_kinds.h"
#include "tests/mutation/editor.h"

namespace mlaindex::mutation {

using Matcher = std::function<bool(const ptx::Instruction&)>;

using ptx::is_cta_barrier;
using ptx::is_proxy_fence;
using ptx::is_shared_load;
inline bool is_init_fence(const ptx::Instruction& i) { return ptx::is(i, "fence", "mbarrier_init"); }
inline bool is_fence_after(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "fence::after_thread_sync"); }
inline bool is_fence_before(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "fence::before_thread_sync"); }
inline bool is_wait_load(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "wait::ld"); }
inline bool is_tensor_load(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "ld"); }
inline bool is_tcgen05_mma(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "mma"); }
inline bool is_tcgen05_commit(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "commit"); }
inline bool is_alloc(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "alloc"); }
inline bool is_relinquish(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "relinquish_alloc_permit"); }
inline bool is_dealloc(const ptx::Instruction& i) { return ptx::is(i, "tcgen05", "dealloc"); }
inline bool is_wgmma(const ptx::Instruction& i) { return ptx::is(i, "wgmma", "mma_async"); }
inline bool is_wgmma_fence(const ptx::Instruction& i) { return ptx::is(i, "wgmma", "fence"); }
inline bool is_wgmma_commit(const ptx::Instruction& i) { return ptx::is(i, "wgmma", "commit_group"); }
inline bool is_wgmma_wait(const ptx::Instruction& i) { return ptx::is(i, "wgmma", "wait_group"); }
inline bool is_mma(const ptx::Instruction& i) { return is_tcgen05_mma(i) || is_wgmma(i); }
inline bool is_init(const ptx::Instruction& i) { return ptx::is(i, "mbarrier", "init"); }
inline bool is_wait(const ptx::Instruction& i) { return ptx::is_barrier_wait(i); }
inline bool is_expect(const ptx::Instruction& i) { return i.opcode.name == "mbarrier" && i.opcode.has("expect_tx"); }
inline bool is_arrive(const ptx::Instruction& i) { return ptx::is(i, "mbarrier", "arrive") && !is_expect(i); }
inline bool is_tma(const ptx::Instruction& i) { return ptx::is_tma_load(i); }
inline bool is_warp_barrier(const ptx::Instruction& i) { return ptx::is(i, "bar", "warp"); }
inline bool is_elect(const ptx::Instruction& i) { return ptx::is(i, "elect", "sync"); }
inline bool is_launch_wait(const ptx::Instruction& i) { return ptx::is(i, "griddepcontrol", "wait"); }
inline bool is_setmaxnreg(const ptx::Instruction& i) { return i.opcode.name == "setmaxnreg"; }

// Sites that are all instructions of a kind.
inline std::function<bool(const Editor&, std::uint32_t)> each(Matcher matcher) {
  return [matcher](const Editor& editor, std::uint32_t index) { return matcher(editor.at(index)); };
}

// The closest one before or behind `index`.
std::optional<std::uint32_t> previous(const Editor& editor, std::uint32_t index, const Matcher& matcher);
std::optional<std::uint32_t> next(const Editor& editor, std::uint32_t index, const Matcher& matcher);

// Whether control runs from `from` down to `to` without leaving or joining on the way: loops that
// only wait, and branches around a part of it, do not count.
bool runs_through(const Editor& editor, std::uint32_t from, std::uint32_t to);

}  // namespace mlaindex::mutation
