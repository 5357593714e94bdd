#include "runtime/paged_keys.h"

#include <cstring>

#include "generator/base/format.h"

namespace mlaindex {
namespace {

constexpr std::int64_t tma_alignment = 16;
constexpr std::int64_t max_page_stride = (std::int64_t{1} << 40) - tma_alignment;  // of a tensor map
constexpr std::int64_t max_pages = 2147483647;
constexpr std::int64_t max_context = 2147483647 - 1024;  // kernels step past the last key by less than a tile

Error invalid(std::string message, std::string hint) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(hint)};
}

Status check_pool(std::string_view name, std::size_t size, std::int64_t num_pages, std::int64_t stride,
                  std::int64_t page_bytes) {
  if (num_pages < 1 || num_pages > max_pages)
    return invalid(fmt::format("{}: {} pages", name, num_pages), fmt::format("allowed: 1 to {}", max_pages));
  if (stride < page_bytes || stride > max_page_stride || stride % tma_alignment != 0)
    return invalid(fmt::format("{}: a page stride of {} bytes", name, stride),
                   fmt::format("allowed: multiples of {} from {} to {}", tma_alignment, page_bytes, max_page_stride));
  const std::int64_t needed = (num_pages - 1) * stride + page_bytes;
  if (size >= static_cast<std::size_t>(needed)) return {};
  return invalid(fmt::format("{} has {} bytes", name, size),
                 fmt::format("(num_pages - 1) * stride + {} = {} are needed", page_bytes, needed));
}

Status check_table(std::string_view name, const PagedKeys& paged, std::size_t size) {
  const std::int64_t wanted = paged.num_requests * paged.pages_per_request;
  if (size == static_cast<std::size_t>(wanted)) return {};
  return invalid(fmt::format("{} has {} elements", name, size),
                 fmt::format("num_requests * pages_per_request = {} are needed", wanted));
}

// The page, or null where the entry is none of the pool.
const std::uint8_t* page_at(std::span<const std::uint8_t> pool, std::int64_t stride, std::int64_t num_pages,
                            std::int32_t page) noexcept {
  return page < 0 || page >= num_pages ? nullptr : pool.data() + page * stride;
}

}  // namespace

Status validate(const PagedKeys& paged, int depth) {
  const std::int64_t key_bytes = static_cast<std::int64_t>(paged.page_size) * depth;
  const std::int64_t scale_bytes = static_cast<std::int64_t>(paged.page_size) * static_cast<std::int64_t>(sizeof(float));
  if (paged.num_requests < 0 || paged.num_requests > max_context)
    return invalid(fmt::format("{} requests", paged.num_requests), fmt::format("allowed: 0 to {}", max_context));
  if (paged.pages_per_request < 0 || paged.pages_per_request > max_context / paged.page_size)
    return invalid(fmt::format("pages_per_request = {}", paged.pages_per_request),
                   fmt::format("allowed: 0 to {}, up to {} keys a request", max_context / paged.page_size, max_context));
  if (paged.next_n < 1 || paged.next_n > max_next_n)
    return invalid(fmt::format("next_n = {}", paged.next_n), fmt::format("allowed: 1 to {}", max_next_n));
  if (Status status = check_pool("pages", paged.pages.size(), paged.num_pages, paged.page_stride,
                                 key_bytes + (paged.fused() ? scale_bytes : 0));
      !status)
    return status;
  if (Status status = check_table("block_table", paged, paged.block_table.size()); !status) return status;
  if (paged.fused()) return {};
  if (Status status = check_pool("k_scale_pages", paged.k_scale_pages.size(), paged.num_k_scale_pages,
                                 paged.k_scale_page_stride, scale_bytes);
      !status)
    return status;
  return check_table("k_scale_table", paged, paged.k_scale_table.size());
}

KeyView key_of_request(const PagedKeys& paged, int depth, std::int64_t request, std::int64_t key) noexcept {
  const auto entry = static_cast<std::size_t>(request * paged.pages_per_request + key / paged.page_size);
  const std::int64_t row = key % paged.page_size;
  KeyView view;
  const std::uint8_t* const page = page_at(paged.pages, paged.page_stride, paged.num_pages, paged.block_table[entry]);
  if (page != nullptr) view.elements = {page + row * depth, static_cast<std::size_t>(depth)};
  const std::uint8_t* scales = page == nullptr ? nullptr : page + paged.page_size * depth;
  if (!paged.fused()) {
    scales = page_at(paged.k_scale_pages, paged.k_scale_page_stride, paged.num_k_scale_pages, paged.k_scale_table[entry]);
  }
  if (scales != nullptr) std::memcpy(&view.scale, scales + row * static_cast<std::int64_t>(sizeof(float)), sizeof(float));
  return view;
}

}  // namespace mlaindex
