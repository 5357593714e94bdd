#include "tests/mutation/mutation.h"
#include "tests/mutation/sites.h"

namespace mlaindex::mutation {
namespace {

void erase(Editor& editor, std::uint32_t index) { editor.erase(index); }

Mutation drop(const char* what, Matcher matcher) { return {std::string("drop ") + what, each(matcher), erase}; }

// Leaves a comparison that always holds.
void make_true(Editor& editor, std::uint32_t index, ptx::RegisterRef predicate) {
  editor.at(index).opcode = {"setp", {"eq", "u32"}};
  editor.at(index).operands = {ptx::Operand{predicate}, literal(0), literal(0)};
}

void skip_wait(Editor& editor, std::uint32_t index) {
  make_true(editor, index, *editor.at(index).operands[0].as<ptx::RegisterRef>());
}

void elect_all(Editor& editor, std::uint32_t index) {
  make_true(editor, index, {editor.at(index).operands[0].as<ptx::RegisterPair>()->second});
}

void repeat(Editor& editor, std::uint32_t index) { editor.insert(index, editor.at(index)); }

}  // namespace

std::vector<Mutation> dropped_instructions() {
  return {
      drop("fence.proxy.async", is_proxy_fence),
      drop("fence.mbarrier_init", is_init_fence),
      drop("tcgen05.fence::after_thread_sync", is_fence_after),
      drop("tcgen05.fence::before_thread_sync", is_fence_before),
      drop("wgmma.fence", is_wgmma_fence),
      drop("tcgen05.wait::ld", is_wait_load),
      drop("wgmma.wait_group", is_wgmma_wait),
      {"skip mbarrier.try_wait", each(is_wait), skip_wait},
      drop("tcgen05.commit", is_tcgen05_commit),
      drop("wgmma.commit_group", is_wgmma_commit),
      drop("mma", is_mma),
      drop("mbarrier.init", is_init),
      drop("mbarrier.arrive", is_arrive),
      {"repeat mbarrier.arrive", each(is_arrive), repeat},
      drop("mbarrier.arrive.expect_tx", is_expect),
      drop("TMA load", is_tma),
      {"repeat TMA load", each(is_tma), repeat},
      {"repeat tcgen05.commit", each(is_tcgen05_commit), repeat},
      drop("bar.sync", is_cta_barrier),
      drop("bar.warp.sync", is_warp_barrier),
      {"all lanes elected", each(is_elect), elect_all},
      drop("tcgen05.alloc", is_alloc),
      drop("tcgen05.relinquish_alloc_permit", is_relinquish),
      drop("tcgen05.dealloc", is_dealloc),
      drop("setmaxnreg", is_setmaxnreg),
  };
}

}  // namespace mlaindex::mutation
