// How wgmma adds e4m3 products up.
#include <bit>
#include <cmath>

#include "generator/base/format.h"
#include "tests/hardware/facts/fact.h"
#include "tests/hardware/facts/truncated_sum.h"
#include "tools/random.h"

namespace mlaindex::hardware {
namespace {

constexpr std::size_t rows_a = 64, rows_b = 8, row_bytes = 128, step_bytes = 32;

struct Operands {
  std::vector<std::uint8_t> a = std::vector<std::uint8_t>(rows_a * row_bytes);
  std::vector<std::uint8_t> b = std::vector<std::uint8_t>(rows_b * row_bytes);
  std::vector<float> c = std::vector<float>(rows_a * rows_b);
};

Result<std::vector<float>> multiply(Machine& machine, const std::string& label, const Operands& operands, int steps) {
  Experiment experiment{.label = label, .kernel = "wgmma_sum", .shared_bytes = 8192 + 1024};
  experiment.settings = {steps};
  for (const Bytes& part : {bytes_of(operands.a), bytes_of(operands.b), bytes_of(operands.c)})
    experiment.input.insert(experiment.input.end(), part.begin(), part.end());
  experiment.output_bytes = operands.c.size() * sizeof(float);
  const Result<Bytes> output = machine.run(experiment);
  if (!output) return output.error();
  return values<float>(*output);
}

std::uint8_t code_of(double value) {
  if (std::isnan(value)) return 0x7f;
  const double magnitude = std::fabs(value);
  std::uint8_t code = 0;
  for (unsigned field = 0; field < 16; ++field)
    for (unsigned mantissa = 0; mantissa < 8; ++mantissa)
      if (std::ldexp(field == 0 ? mantissa : 8 + mantissa, static_cast<int>(std::max(field, 1u)) - 10) == magnitude)
        code = static_cast<std::uint8_t>(field << 3 | mantissa);
  return std::signbit(value) ? code | 0x80 : code;
}

struct HandMade {
  const char* text;
  std::vector<std::pair<double, double>> products;
  float c;
  float expected;
};

float bits(std::uint32_t value) { return std::bit_cast<float>(value); }

std::vector<HandMade> hand_made_cases() {
  const double tiny = 0x1p-6, half = 0x1p-1, nan = std::nan("");
  const std::pair<double, double> big{16, 8}, minus_big{-16, 8};  // 2^7 and exactly that exponent
  return {
      {"2^7 + 2^-6: 13 bits below the largest exponent are kept", {big, {tiny, 1}}, 0, 128 + 0x1p-6f},
      {"2^7 + 2^-7: the 14th is cut", {big, {tiny, half}}, 0, 128},
      {"2^7 + 2^-7 + 2^-7: each term is cut before the addition", {big, {tiny, half}, {tiny, half}}, 0, 128},
      {"2^7 - 2^-7: toward zero", {big, {-tiny, half}}, 0, 128},
      {"-2^7 + 2^-7: toward zero", {minus_big, {tiny, half}}, 0, -128},
      {"2^7 + 1.5 * 2^-6: toward zero, not nearest", {big, {1.5 * tiny, 1}}, 0, 128 + 0x1p-6f},
      {"15 * 15 - 15 * 15 + 2^-7: significands are not renormalised", {{15, 15}, {-15, 15}, {tiny, half}}, 0, 0x1p-7f},
      {"C = 2^7, product 2^-7: C sets the exponent", {{tiny, half}}, 128, 128},
      {"C = 2^7, product 2^-6", {{tiny, 1}}, 128, 128 + 0x1p-6f},
      {"C = 2^7 + 2^-7 alone: C is cut", {}, 128 + 0x1p-7f, 128},
      {"C = -(2^7 + 2^-7) alone: toward zero", {}, -128 - 0x1p-7f, -128},
      {"C = 2^7 + 2^-6 alone: kept", {}, 128 + 0x1p-6f, 128 + 0x1p-6f},
      {"product 2^7, C = 2^-7: C is cut", {big}, 0x1p-7f, 128},
      {"product 2^7, C = 1.75 * 2^-6", {big}, 1.75f * 0x1p-6f, 128 + 0x1p-6f},
      {"0 * 448 and C = 2^-6 + 2^-19: zero sets no exponent", {{0, 448}}, 0x1p-6f + 0x1p-19f, 0x1p-6f + 0x1p-19f},
      {"2^-9 * 1 and C = 2^-20: a subnormal has exponent -6", {{0x1p-9, 1}}, 0x1p-20f, 0x1p-9f},
      {"2^-9 * 1 and C = 2^-19", {{0x1p-9, 1}}, 0x1p-19f, 0x1p-9f + 0x1p-19f},
      {"2^-9 * 2^-9 alone", {{0x1p-9, 0x1p-9}}, 0, 0x1p-18f},
      {"2^7 + 2^7 + 2^-6: the result is cut to 13 bits", {big, big, {tiny, 1}}, 0, 256},
      {"-2^7 - 2^7 - 2^-6: toward zero", {minus_big, minus_big, {-tiny, 1}}, 0, -256},
      {"2^7 - 2^7 + 2^-6", {big, minus_big, {tiny, 1}}, 0, 0x1p-6f},
      {"16 * 2^-6 + 2^7: small terms add up exactly", {big, {tiny, 16}}, 0, 128 + 0.25f},
      {"2^7 - 2^7 is +0", {big, minus_big}, 0, 0.0f},
      {"-0 * 1 with C = -0 is +0", {{-0.0, 1}}, -0.0f, 0.0f},
      {"32 * 448 * 448", std::vector<std::pair<double, double>>(32, {448, 448}), 0, 6422528},
      {"NaN * 1", {{nan, 1}}, 0, bits(0x7fffffff)},
      {"NaN * 0", {{nan, 0}}, 0, bits(0x7fffffff)},
      {"C = NaN 0xffc00001", {{1, 1}}, bits(0xffc00001), bits(0x7fffffff)},
      {"C = +inf", {{-448, 448}}, bits(0x7f800000), bits(0x7f800000)},
      {"C = -inf", {{448, 448}}, bits(0xff800000), bits(0xff800000)},
      {"C = 0x1.004p100 (13 bits) and 448 * 448", {{448, 448}}, 0x1.0008p100f, 0x1.0008p100f},
      {"C = 2^100 + 2^86 and 448 * 448", {{448, 448}}, 0x1.0004p100f, 0x1p100f},
      {"C = the largest f32", {{448, 448}}, bits(0x7f7fffff), bits(0x7f7ffc00)},
      {"C = subnormal 0x00000401 alone", {}, bits(0x00000401), bits(0x00000400)},
      {"C = 2^-126 + 2^-149 alone", {}, bits(0x00800001), bits(0x00800000)},
  };
}

void hand_made(Machine& machine, Findings& findings) {
  for (const HandMade& test : hand_made_cases()) {
    Operands operands;
    for (std::size_t k = 0; k < test.products.size(); ++k) {
      operands.a[k] = code_of(test.products[k].first);
      operands.b[k] = code_of(test.products[k].second);
    }
    operands.c[0] = test.c;
    const auto result = multiply(machine, test.text, operands, 1);
    if (!findings.ran(test.text, result))
      continue;
    const auto seen = std::bit_cast<std::uint32_t>(result->front()),
               expected = std::bit_cast<std::uint32_t>(test.expected);
    findings.check(seen == expected, fmt::format("{}: 0x{:08x} = {:.10g}, expected 0x{:08x} = {:.10g}", test.text, seen,
                                                 result->front(), expected, test.expected));
  }
}

// Bytes of any magnitude, or of similar ones, which differ in the lowest bits only; never NaN.
Operands random_operands(tools::Random& random, bool similar) {
  Operands operands;
  const auto draw = [&] {
    const auto byte = static_cast<std::uint8_t>(similar ? (random.bits() & 0x80) |
                                                              static_cast<std::uint64_t>(random.between(0x30, 0x4f))
                                                        : random.bits() & 0xff);
    return (byte & 0x7f) == 0x7f ? static_cast<std::uint8_t>(byte - 1) : byte;
  };
  for (std::uint8_t& byte : operands.a) byte = draw();
  for (std::uint8_t& byte : operands.b) byte = draw();
  for (float& c : operands.c) {
    const double mantissa = 1.0 + static_cast<double>(random.between(0, 0x7fffff)) * 0x1p-23;
    const auto exponent = static_cast<int>(similar ? random.between(-4, 8) : random.between(-24, 20));
    const std::int64_t kind = random.between(0, 7);
    c = kind == 0 ? 0.0f : static_cast<float>(std::ldexp(kind % 2 == 0 ? mantissa : -mantissa, exponent));
  }
  return operands;
}

float model_of(const Operands& operands, std::size_t row, std::size_t column, int steps, const SumModel& model) {
  float sum = operands.c[rows_b * row + column];
  for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step)
    sum = truncated_sum(std::span(operands.a).subspan(row_bytes * row + step_bytes * step, step_bytes),
                        std::span(operands.b).subspan(row_bytes * column + step_bytes * step, step_bytes), sum, model);
  return sum;
}

std::size_t mismatches(const Operands& operands, const std::vector<float>& seen, int steps, const SumModel& model) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < seen.size(); ++i)
    count += std::bit_cast<std::uint32_t>(seen[i]) !=
             std::bit_cast<std::uint32_t>(model_of(operands, i / rows_b, i % rows_b, steps, model));
  return count;
}

// For the case that the model is wrong: what else might fit.
void describe_mismatches(Findings& findings, const Operands& operands, const std::vector<float>& seen, int steps) {
  for (const int fraction : {11, 12, 13, 14, 15, 23, 25})
    for (const int mantissa : {12, 13, 14, 22, 23})
      findings.note(fmt::format("a model of {} fraction and {} mantissa bits misses {} of {}", fraction, mantissa,
                                mismatches(operands, seen, steps, {fraction, mantissa}), seen.size()));
  int shown = 0;
  for (std::size_t i = 0; i < seen.size() && shown < 4; ++i) {
    const float expected = model_of(operands, i / rows_b, i % rows_b, steps, {});
    if (std::bit_cast<std::uint32_t>(seen[i]) == std::bit_cast<std::uint32_t>(expected)) continue;
    ++shown;
    std::string products;
    for (std::size_t k = 0; k < step_bytes * static_cast<std::size_t>(steps); ++k)
      products += fmt::format(" {:02x}{:02x}", operands.a[row_bytes * (i / rows_b) + k],
                              operands.b[row_bytes * (i % rows_b) + k]);
    findings.note(fmt::format("saw 0x{:08x}, expected 0x{:08x}, C 0x{:08x}, a b:{}",
                              std::bit_cast<std::uint32_t>(seen[i]), std::bit_cast<std::uint32_t>(expected),
                              std::bit_cast<std::uint32_t>(operands.c[i]), products));
  }
}

void random_sums(Machine& machine, Findings& findings) {
  tools::Random random(20);
  bool described = false;
  for (const bool similar : {false, true}) {
    for (const int steps : {1, 4}) {
      std::size_t wrong = 0, total = 0;
      for (int launch = 0; launch < 8; ++launch) {
        const Operands operands = random_operands(random, similar);
        const std::string label =
            fmt::format("{} magnitudes, {} instructions, launch {}", similar ? "similar" : "all", steps, launch);
        const auto seen = multiply(machine, label, operands, steps);
        if (!findings.ran(label, seen)) continue;
        const std::size_t misses = mismatches(operands, *seen, steps, {});
        wrong += misses;
        total += seen->size();
        if (misses != 0 && !described) describe_mismatches(findings, operands, *seen, steps);
        described = described || misses != 0;
      }
      findings.check(wrong == 0 && total != 0,
                     fmt::format("{} magnitudes, {} instructions: {} of {} sums differ from the model",
                                 similar ? "similar" : "all", steps, wrong, total));
    }
  }
}

constexpr Fact facts[] = {
    {"sum", "wgmma e4m3: terms aligned to the largest exponent, cut to 13 bits toward zero, added, cut to 13 bits",
     hand_made},
    {"random-sum", "the same model, bit for bit, on random data", random_sums},
};

}  // namespace

std::span<const Fact> accumulation_facts() noexcept { return facts; }

}  // namespace mlaindex::hardware
