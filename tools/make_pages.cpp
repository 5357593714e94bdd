// The paged tensors of an example input. What no token may look at holds NaN or no page at all.
#include <algorithm>
#include <numeric>

#include "tools/make_case_parts.h"

namespace mlaindex::tools {
namespace {

constexpr std::uint8_t unused_byte = 0xff;  // NaN as e4m3, and four of them as f32
constexpr std::int32_t no_page = -1;

// Page numbers in random order.
std::vector<std::int32_t> shuffled_pages(std::int64_t count, Random& random) {
  std::vector<std::int32_t> pages(static_cast<std::size_t>(count));
  std::iota(pages.begin(), pages.end(), 0);
  for (std::size_t i = pages.size(); i > 1; --i) {
    std::swap(pages[i - 1], pages[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
  }
  return pages;
}

// One request has all keys, the others between none and all of them.
std::vector<std::int64_t> context_lengths(const CaseRequest& request, Random& random) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(request.num_requests));
  for (std::int64_t& length : lengths) length = random.between(0, request.num_keys);
  lengths[static_cast<std::size_t>(random.between(0, request.num_requests - 1))] = request.num_keys;
  return lengths;
}

// A table of pages for the keys of every request, from a pool with some pages to spare.
struct Allocation {
  std::vector<std::int32_t> pool;
  std::size_t taken = 0;

  std::int32_t take() { return pool[taken++]; }
};

}  // namespace

std::int64_t pages_per_request(const CaseRequest& request) noexcept {
  return (request.num_keys + request.page_size - 1) / request.page_size;
}

void add_pages(Safetensors& contents, const CaseRequest& request, Random& random) {
  const auto page_size = static_cast<std::int64_t>(request.page_size);
  const auto depth = static_cast<std::int64_t>(request.depth);
  const auto requests = static_cast<std::uint64_t>(request.num_requests);
  const auto width = static_cast<std::uint64_t>(pages_per_request(request));
  const std::vector<std::int64_t> lengths = context_lengths(request, random);

  std::int64_t used_pages = 0;
  for (std::int64_t length : lengths) used_pages += (length + page_size - 1) / page_size;
  const std::int64_t num_pages = used_pages + 3;
  const std::int64_t scales_in_page = request.separate_scales ? 0 : 4 * page_size;
  const std::int64_t stride = page_size * depth + scales_in_page + 16 * random.between(0, 2);
  Allocation keys{shuffled_pages(num_pages, random)}, scales{shuffled_pages(num_pages, random)};

  const auto pool = add(contents, "kv_pages", "U8", {static_cast<std::uint64_t>(num_pages), static_cast<std::uint64_t>(stride)})
                        .data.as<std::uint8_t>();
  std::fill(pool.begin(), pool.end(), unused_byte);
  const auto table = add(contents, "block_table", "I32", {requests, width}).data.as<std::int32_t>();
  std::fill(table.begin(), table.end(), no_page);
  std::span<std::uint8_t> scale_pool = pool;
  std::span<std::int32_t> scale_table = table;
  std::int64_t scale_stride = stride;
  if (request.separate_scales) {
    Tensor& tensor = add(contents, "k_scale_pages", "F32", {static_cast<std::uint64_t>(num_pages), static_cast<std::uint64_t>(page_size)});
    scale_pool = tensor.data.as<std::uint8_t>();
    std::fill(scale_pool.begin(), scale_pool.end(), unused_byte);
    scale_stride = 4 * page_size;
    scale_table = add(contents, "k_scale_table", "I32", {requests, width}).data.as<std::int32_t>();
    std::fill(scale_table.begin(), scale_table.end(), no_page);
  }

  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::int64_t key = 0; key < lengths[b]; ++key) {
      const auto entry = b * width + static_cast<std::size_t>(key / page_size);
      const std::int64_t row = key % page_size;
      if (row == 0) {
        table[entry] = keys.take();
        if (request.separate_scales) scale_table[entry] = scales.take();
      }
      const auto elements = pool.subspan(static_cast<std::size_t>(table[entry] * stride + row * depth), static_cast<std::size_t>(depth));
      const float scale = fill_key(elements, request.exact, random);
      const std::int64_t scale_at = scale_table[entry] * scale_stride + 4 * row + (request.separate_scales ? 0 : page_size * depth);
      std::memcpy(&scale_pool[static_cast<std::size_t>(scale_at)], &scale, sizeof(scale));
    }
  }

  const bool rows = request.mask == Mask::context_rows;
  const auto tokens = static_cast<std::uint64_t>(request.num_tokens);
  const auto lens = add(contents, "context_lens", "I32", {rows ? tokens : requests}).data.as<std::int32_t>();
  for (std::size_t i = 0; i < lens.size(); ++i) {
    const std::int64_t length = lengths[rows ? i / static_cast<std::size_t>(request.next_n) : i];
    lens[i] = static_cast<std::int32_t>(rows ? random.between(0, length) : length);
  }
  contents.metadata["page_size"] = std::to_string(request.page_size);
}

}  // namespace mlaindex::tools
