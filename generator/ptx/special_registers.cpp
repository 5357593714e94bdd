#include "generator/ptx/special_registers.h"

#include <algorithm>
#include <array>

namespace mlaindex::ptx {
namespace {

constexpr std::array<std::string_view, 8> kVectors = {
    "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid",
    "%cluster_nctaid"};

constexpr std::array<std::string_view, 30> kScalars = {
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%is_explicit_cluster",
    "%cluster_ctarank", "%cluster_nctarank", "%lanemask_eq", "%lanemask_le", "%lanemask_lt",
    "%lanemask_ge", "%lanemask_gt", "%clock", "%clock_hi", "%clock64", "%globaltimer",
    "%globaltimer_lo", "%globaltimer_hi", "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end", "%reserved_smem_offset_cap", "%reserved_smem_offset_0",
    "%reserved_smem_offset_1", "%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size",
    "%current_graph_exec", "WARP_SZ"};

// %envreg0 .. %envreg31, %pm0 .. %pm7 and %pm0_64 .. %pm7_64.
bool is_numbered(std::string_view name) noexcept {
  for (const std::string_view prefix : {std::string_view("%envreg"), std::string_view("%pm")}) {
    if (name.size() > prefix.size() && name.substr(0, prefix.size()) == prefix)
      return name.find_first_not_of("0123456789_", prefix.size()) == std::string_view::npos;
  }
  return false;
}

template <class List>
bool contains(const List& list, std::string_view name) noexcept {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool is_special_register(std::string_view name) noexcept {
  if (contains(kScalars, name) || contains(kVectors, name) || is_numbered(name)) return true;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 2 != name.size()) return false;
  return contains(kVectors, name.substr(0, dot)) &&
         std::string_view("xyzw").find(name.back()) != std::string_view::npos;
}

}  // namespace mlaindex::ptx
