// Which bytes of shared memory a wgmma descriptor means.
#include "generator/base/format.h"
#include "tests/hardware/facts/fact.h"
#include "tests/hardware/facts/tile_copy.h"

namespace mlaindex::hardware {
namespace {

constexpr std::uint32_t num_rows = 64, k_bytes = 32;

struct Descriptor {
  std::uint32_t start = 0;  // bytes from a multiple of 1024
  std::uint32_t leading = 0, stride = 0;
  std::uint32_t swizzle = 0;  // the descriptor's code
  std::uint32_t base_offset = 0;
};

std::string name(const Descriptor& d) {
  return fmt::format("swizzle {}, start 0x{:x}, LBO {}, SBO {}, base offset {}", d.swizzle, d.start, d.leading,
                     d.stride, d.base_offset);
}

std::uint32_t span_of(std::uint32_t swizzle) { return swizzle == 0 ? 16 : 256u >> swizzle; }

// Before the XOR.
std::uint32_t linear_offset(const Descriptor& d, std::uint32_t row, std::uint32_t k) {
  const std::uint32_t group = d.start + row / 8 * d.stride + row % 8 * span_of(d.swizzle);
  return d.swizzle == 0 ? group + k / 16 * d.leading + k % 16 : group + k;
}

std::uint32_t expected_offset(const Descriptor& d, std::uint32_t row, std::uint32_t k) {
  const std::uint32_t linear = linear_offset(d, row, k);
  return d.swizzle == 0 ? linear : linear ^ (linear >> 3 & (span_of(d.swizzle) - 16));
}

Result<std::vector<std::uint32_t>> observe(Machine& machine, const Descriptor& d) {
  Experiment experiment{.label = name(d), .kernel = "wgmma_address", .shared_bytes = 16384 + 1024};
  for (const std::uint32_t value : {d.start, d.leading, d.stride, d.swizzle, d.base_offset})
    experiment.settings.push_back(static_cast<std::int32_t>(value));
  experiment.output_bytes = num_rows * k_bytes * 4;
  const Result<Bytes> output = machine.run(experiment);
  if (!output) return output.error();
  return values<std::uint32_t>(*output);
}

void addresses(Machine& machine, Findings& findings) {
  std::vector<Descriptor> cases;
  for (std::uint32_t swizzle = 1; swizzle <= 3; ++swizzle) {
    const std::uint32_t span = span_of(swizzle), dense = 8 * span;
    for (std::uint32_t step = 0; step < span; step += 32) cases.push_back({step, 0, dense, swizzle});
    for (const std::uint32_t start : {0x80u, 0x100u, 0x200u, 0x280u, 0x380u, 0x4e0u & ~(span - 1)})
      cases.push_back({start, 0, dense, swizzle});
    cases.push_back({0x80, 0, dense + 128, swizzle});  // groups of eight rows off the pattern's period
    cases.push_back({0, 16, dense, swizzle});          // LBO should not matter
    cases.push_back({0, 2048, dense, swizzle});
  }
  cases.push_back({0, 128, 256, 0});
  cases.push_back({0, 1024, 128, 0});
  cases.push_back({0x110, 2048, 128, 0});
  for (const Descriptor& d : cases) {
    const auto seen = observe(machine, d);
    if (!findings.ran(name(d), seen)) continue;
    std::uint32_t wrong = 0;
    std::string first = "all bytes as expected";
    for (std::uint32_t row = 0; row < num_rows; ++row)
      for (std::uint32_t k = 0; k < k_bytes; ++k) {
        const std::uint32_t at = (*seen)[k_bytes * row + k];
        if (at != expected_offset(d, row, k) && wrong++ == 0)
          first =
              fmt::format("row {}, byte {} came from 0x{:x} instead of 0x{:x}", row, k, at, expected_offset(d, row, k));
      }
    findings.check(wrong == 0, fmt::format("{}: {} wrong, {}", name(d), wrong, first));
  }
}

// What XOR each of the rows 0 to 7 gets, in units of 16 bytes; '?' when it is not one.
std::string row_phases(const Descriptor& d, const std::vector<std::uint32_t>& seen) {
  std::string text;
  for (std::uint32_t row = 0; row < 8; ++row) {
    const std::uint32_t difference = seen[k_bytes * row] ^ linear_offset(d, row, 0);
    text += (difference & ~0x70u) != 0 ? fmt::format(" ?0x{:x}", seen[k_bytes * row])
                                       : fmt::format(" {}", difference >> 4);
  }
  return text;
}

struct Hypothesis {
  const char* text;
  std::uint32_t (*phase)(std::uint32_t address_phase, std::uint32_t base_offset);
};

constexpr Hypothesis hypotheses[] = {  // the second is the one that an H200 follows
    {"ignored", [](std::uint32_t p, std::uint32_t) { return p; }},
    {"subtracted from address bits 7-9", [](std::uint32_t p, std::uint32_t b) { return p - b; }},
    {"added to address bits 7-9", [](std::uint32_t p, std::uint32_t b) { return p + b; }},
    {"XORed with address bits 7-9", [](std::uint32_t p, std::uint32_t b) { return p ^ b; }},
};

// Whether every byte came from where the hypothesis says.
bool explains(const Hypothesis& hypothesis, const Descriptor& d, const std::vector<std::uint32_t>& seen) {
  for (std::uint32_t row = 0; row < num_rows; ++row)
    for (std::uint32_t k = 0; k < k_bytes; ++k) {
      const std::uint32_t linear = linear_offset(d, row, k);
      const std::uint32_t phase = hypothesis.phase(linear >> 7, d.base_offset) << 4 & (span_of(d.swizzle) - 16);
      if (seen[k_bytes * row + k] != (linear ^ phase)) return false;
    }
  return true;
}

void examine_base_offsets(Machine& machine, Findings& findings, std::uint32_t swizzle) {
  bool holds[std::size(hypotheses)];
  std::fill(std::begin(holds), std::end(holds), true);
  for (const std::uint32_t start : {0u, 0x80u, 0x100u, 0x280u})
    for (std::uint32_t offset = 1; offset < 8; ++offset) {
      const Descriptor d{start, 0, 8 * span_of(swizzle), swizzle, offset};
      const auto seen = observe(machine, d);
      if (!findings.ran(name(d), seen)) continue;
      std::string which;
      for (std::size_t h = 0; h < std::size(hypotheses); ++h) {
        const bool explained = explains(hypotheses[h], d, *seen);
        holds[h] = holds[h] && explained;
        if (explained) which += fmt::format(" [{}]", hypotheses[h].text);
      }
      findings.check(!which.empty(), fmt::format("{}: rows 0-7 XOR{}:{}", name(d), row_phases(d, *seen),
                                                 which.empty() ? " none of the rules tried" : which));
    }
  findings.check(holds[1], fmt::format("one rule explains every case: {}", hypotheses[1].text));
}

void base_offset(Machine& machine, Findings& findings) { examine_base_offsets(machine, findings, 1); }

void narrow_base_offset(Machine& machine, Findings& findings) {
  examine_base_offsets(machine, findings, 2);
  examine_base_offsets(machine, findings, 3);
}

// e4m3 of 0 to 15, exactly.
std::byte e4m3_of(unsigned value) {
  static constexpr unsigned char codes[] = {0x00, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e,
                                            0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57};
  return static_cast<std::byte>(codes[value & 15]);
}

void after_tma(Machine& machine, Findings& findings) {
  for (std::uint32_t swizzle = 1; swizzle <= 3; ++swizzle) {
    const std::uint32_t span = span_of(swizzle);
    TensorMapParams map{.rank = 2, .swizzle = static_cast<TensorMapSwizzle>(4 - swizzle)};
    map.dims = {span, num_rows};
    map.strides = {span};
    map.box = {span, num_rows};
    const auto number = [](std::uint32_t row, std::uint32_t byte) {
      return (7 * row + 3 * byte + (row * byte >> 2) + (byte >> 4)) & 15;
    };
    Bytes tensor(span * num_rows);
    for (std::uint32_t i = 0; i < tensor.size(); ++i) tensor[i] = e4m3_of(number(i / span, i % span));
    for (const std::uint32_t offset : {0u, 0x80u, 0x100u, 0x200u, 0x280u, 0x380u}) {
      for (std::uint32_t step = 0; step < span; step += 32) {
        Experiment experiment{.label = fmt::format("span {}, tile at 0x{:x}, K step at {}", span, offset, step),
                              .kernel = "wgmma_tma",
                              .shared_bytes = 16384 + 1024 + 64};
        for (const std::uint32_t value : {offset, span * num_rows, swizzle, 8 * span, step})
          experiment.settings.push_back(static_cast<std::int32_t>(value));
        experiment.input = tensor;
        experiment.output_bytes = num_rows * k_bytes * 4 + 4;
        experiment.map = map;
        const Result<Bytes> output = machine.run(experiment);
        if (!findings.ran(experiment.label, output)) continue;
        const auto seen = values<float>(*output);
        std::uint32_t wrong = 0;
        for (std::uint32_t i = 0; i < num_rows * k_bytes; ++i)
          wrong += seen[i] != static_cast<float>(number(i / k_bytes, step + i % k_bytes));
        const bool complete = values<std::uint32_t>(*output).back() != 0;
        findings.check(wrong == 0 && complete, fmt::format("{}: {} of 2048 elements wrong, phase {}", experiment.label,
                                                           wrong, complete ? "complete" : "open"));
      }
    }
  }
}

constexpr Fact facts[] = {
    {"descriptor",
     "wgmma reads start + SBO per 8 rows + span per row, XORed by absolute address bits; LBO counts without swizzle "
     "only",
     addresses},
    {"tma-to-wgmma", "a TMA-written tile at any multiple of 128 is read right with base offset 0", after_tma},
    {"base-offset", "128-byte swizzle: a base offset is subtracted from the address bits 7-9 that the XOR looks at",
     base_offset},
    {"base-offset-narrow", "open: the same under the 64- and 32-byte swizzles", narrow_base_offset, Emulator::refuses},
};

}  // namespace

std::span<const Fact> descriptor_facts() noexcept { return facts; }

}  // namespace mlaindex::hardware
