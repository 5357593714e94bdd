#include "tests/mutation/survivors.h"

namespace mlaindex::mutation {
namespace {

constexpr auto equivalent = SurvivorKind::equivalent;
constexpr auto rare = SurvivorKind::rare;
constexpr auto blind_spot = SurvivorKind::blind_spot;
constexpr std::string_view later_fences =
    "every tcgen05 instruction behind the barrier that follows the allocation has a fence of its own on the way";
constexpr std::string_view earlier_fences =
    "who reads tensor memory has fenced when releasing the accumulator; the last barrier has nothing left to order";
constexpr std::string_view end_of_role = "the lanes of the role meet at the CTA barrier behind it, which is aligned";
constexpr std::string_view whole_warp = "tcgen05.wait::ld is warp-wide: no lane still reads when lane 0 releases";
constexpr std::string_view first_phase = "a wait for the first phase only, whose parity is 0 anyway";
constexpr std::string_view delay_only =
    "the wait for the first warpgroup's Q, from which the others count their delay: each waits for its own Q behind it";
constexpr std::string_view next_election =
    "the lanes meet at the next elect.sync or at the end; until then they only move their own cursors on";
constexpr std::string_view before_wgmma =
    "with 64 heads a lane reads the block before its first wgmma, which is warp-wide: no lane is behind when lane 0 releases it";
constexpr std::string_view before_arrival =
    "the lanes meet at the next one before lane 0 arrives; until then they write weights only, which the elected lane does "
    "not touch";
constexpr std::string_view next_work =
    "the first wait is for the second piece of work instead, which is published behind the first one";
constexpr std::string_view last_stage =
    "the empty barriers complete in order, so that only the wait for the last stage is a wrong one; it hangs only if "
    "the producer falls two tiles behind right there";
constexpr std::string_view unseen_keys =
    "leaves copies of keys that no block sees in flight, which must take longer than the whole block that other keys were for";
constexpr std::string_view fill_alone =
    "the -inf fill needs nothing that the barrier orders, and a warp that has left is not waited for";
constexpr std::string_view released_early =
    "an arrival at block_empty in front of a generic read of the block: it is filled again only when the math warps "
    "have arrived too, for which they need the Q, weights or products that this thread brings from what it read";

}  // namespace

const std::vector<Survivor>& survivors() {
  static const std::vector<Survivor> table{
      {"sm_90a/q_resident skip mbarrier.try_wait #6", equivalent, delay_only},
      {"sm_90a/q_resident barrier of the next stage #13", equivalent, delay_only},
      {"sm_90a/q_resident drop bar.warp.sync #1", equivalent, next_election},
      {"sm_90a/q_resident drop bar.warp.sync #4", equivalent, before_wgmma},
      {"sm_90a/q_resident barrier of the next stage #11", equivalent, next_work},
      {"sm_90a/q_resident parity stuck at 0 #4", equivalent, first_phase},
      {"sm_90a/k_resident drop bar.warp.sync #1", equivalent, before_wgmma},
      {"sm_90a/k_resident barrier of the next stage #1", equivalent, next_work},
      {"sm_90a/k_resident skip mbarrier.try_wait #8", blind_spot, unseen_keys},
      {"sm_90a/k_resident skip mbarrier.try_wait #12", rare, unseen_keys},
      {"sm_90a/k_resident drop bar.sync #2", equivalent, fill_alone},
      {"sm_90a/k_resident parity stuck at 0 #1", equivalent, first_phase},
      {"sm_100a/q_resident drop bar.warp.sync #1", equivalent, next_election},
      {"sm_100a/q_resident barrier of the next stage #2", blind_spot, last_stage},
      {"sm_100a/q_resident barrier of the next stage #20", equivalent,
       "waits for the MMA of the second half of a tile, which completes behind that of the first"},
      {"sm_100a/q_resident drop tcgen05.fence::after_thread_sync #1", equivalent, later_fences},
      {"sm_100a/q_resident drop tcgen05.fence::before_thread_sync #4", equivalent, earlier_fences},
      {"sm_100a/q_resident drop bar.warp.sync #4", equivalent, whole_warp},
      {"sm_100a/q_resident drop bar.warp.sync #5", equivalent, end_of_role},
      {"sm_100a/q_resident tcgen05.fence::after before the wait #1", equivalent, later_fences},
      {"sm_100a/q_resident tcgen05.fence::before behind the release #3", equivalent, earlier_fences},
      {"sm_100a/q_resident slot released before the last read #1", equivalent, released_early},
      {"sm_100a/q_resident slot released before it is full #2", blind_spot,
       "counts twice for the block before only if a block of one tile lies between and a math warp falls behind there"},
      {"sm_100a/k_resident barrier of the next stage #8", blind_spot, unseen_keys},
      {"sm_100a/k_resident drop bar.warp.sync #1", equivalent, before_arrival},
      {"sm_100a/k_resident drop bar.warp.sync #4", equivalent, before_arrival},
      {"sm_100a/k_resident drop bar.warp.sync #7", equivalent, whole_warp},
      {"sm_100a/k_resident drop bar.warp.sync #8", equivalent, end_of_role},
      {"sm_100a/k_resident skip mbarrier.try_wait #2", blind_spot, unseen_keys},
      {"sm_100a/k_resident skip mbarrier.try_wait #4", blind_spot, unseen_keys},
      {"sm_100a/k_resident drop tcgen05.fence::after_thread_sync #1", equivalent, later_fences},
      {"sm_100a/k_resident drop tcgen05.fence::after_thread_sync #3", equivalent, later_fences},
      {"sm_100a/k_resident drop tcgen05.fence::before_thread_sync #3", equivalent, earlier_fences},
      {"sm_100a/k_resident drop bar.sync #3", equivalent, fill_alone},
      {"sm_100a/k_resident tcgen05.fence::after before the wait #1", equivalent, later_fences},
      {"sm_100a/k_resident tcgen05.fence::after before the wait #3", equivalent, later_fences},
      {"sm_100a/k_resident tcgen05.fence::before behind the release #2", equivalent, earlier_fences},
      {"sm_100a/k_resident slot released before the last read #1", equivalent, released_early},
      {"sm_100a/seed drop tcgen05.fence::after_thread_sync #1", equivalent, later_fences},
      {"sm_100a/seed drop tcgen05.fence::before_thread_sync #3", equivalent, earlier_fences},
      {"sm_100a/seed drop bar.warp.sync #1", equivalent, end_of_role},
      {"sm_100a/seed drop bar.warp.sync #2", equivalent, end_of_role},
      {"sm_100a/seed drop bar.warp.sync #3", equivalent, whole_warp},
      {"sm_100a/seed tcgen05.fence::after before the wait #1", equivalent, later_fences},
      {"sm_100a/seed tcgen05.fence::before behind the release #2", equivalent, earlier_fences},
      {"sm_100a/seed parity stuck at 0 #2", equivalent, first_phase},
      {"sm_100a/seed barrier of the next stage #3", blind_spot, last_stage},
  };
  return table;
}

}  // namespace mlaindex::mutation
