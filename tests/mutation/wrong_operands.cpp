#include <algorithm>

#include "tests/mutation/mutation.h"
#include "tests/mutation/sites.h"

namespace mlaindex::mutation {
namespace {

using ptx::Instruction;
using ptx::ScalarType;

constexpr std::size_t kA = 1, kB = 2, kInstructionDescriptor = 3;  // operands of tcgen05.mma; A and B of wgmma, too
std::size_t operand_of_predicate(const Instruction& mma) { return is_tcgen05_mma(mma) ? 4 : 3; }

struct Field {
  unsigned low, width;
  std::uint64_t mask() const { return ((std::uint64_t{1} << width) - 1) << low; }
  std::uint64_t of(std::uint64_t bits) const { return (bits & mask()) >> low; }
};

bool is_first_mma(const Editor& editor, std::uint32_t index, const Matcher& mma) {
  return mma(editor.at(index)) && !previous(editor, index, mma);
}

// The same change of every mma: a wrong constant in the source.
Mutation in_every_mma(std::string kind, Matcher mma, std::function<void(Editor&, std::uint32_t)> change) {
  return {std::move(kind), [=](const Editor& editor, std::uint32_t index) { return is_first_mma(editor, index, mma); },
          [=](Editor& editor, std::uint32_t) {
            for (std::uint32_t i = editor.size(); i-- > 0;)
              if (mma(editor.at(i))) change(editor, i);
          }};
}

// `field` of the instruction descriptor becomes what `value` makes of it.
Mutation instruction_descriptor(std::string what, Field field, std::function<std::uint64_t(std::uint64_t)> value) {
  return in_every_mma("instruction descriptor: " + what, is_tcgen05_mma, [=](Editor& editor, std::uint32_t index) {
    const std::uint64_t bits = editor.known_ones(editor.at(index).operands[kInstructionDescriptor]);
    editor.change_operand(index, kInstructionDescriptor, "xor", ScalarType::b32,
                          (field.of(bits) ^ value(field.of(bits))) << field.low);
  });
}

// The last instruction above the first mma that puts a value into its operand: inline assembly counts
// the descriptors of wgmma up in place, so that they are constant only where they begin.
std::uint32_t beginning(const Editor& editor, std::uint32_t mma, std::size_t operand) {
  const ptx::Operand& wanted = editor.at(mma).operands[operand];
  return previous(editor, mma, [&](const Instruction& i) { return i.opcode.name == "mov" && i.operands[0] == wanted; }).value();
}

// `field` of the shared memory descriptor of A or B becomes what `value` makes of it.
Mutation descriptor(std::string what, Matcher mma, std::size_t operand, Field field,
                    std::function<std::uint64_t(std::uint64_t)> value) {
  const std::string kind = std::string("descriptor of ") + (operand == kA ? "A: " : "B: ") + what;
  const auto change = [=](Editor& editor, std::uint32_t index, std::size_t source) {
    const std::uint64_t old = field.of(editor.known_ones(editor.at(index).operands[source]));
    editor.change_operand(index, source, "xor", ScalarType::b64, (old ^ value(old)) << field.low);
  };
  Mutation mutation = in_every_mma(kind, mma, [=](Editor& editor, std::uint32_t index) { change(editor, index, operand); });
  const auto in_tcgen05 = mutation.plant;
  mutation.plant = [=](Editor& editor, std::uint32_t index) {
    if (is_wgmma(editor.at(index))) change(editor, beginning(editor, index, operand), 1);
    else in_tcgen05(editor, index);
  };
  return mutation;
}

std::function<std::uint64_t(std::uint64_t)> always(std::uint64_t value) {
  return [=](std::uint64_t) { return value; };
}

std::uint64_t half(std::uint64_t value) { return value / 2; }
std::uint64_t twice(std::uint64_t value) { return value * 2; }

constexpr Field stride_bytes{32, 14}, base_offset{49, 3};
constexpr Field tcgen05_swizzle{61, 3}, tcgen05_version{46, 1}, wgmma_swizzle{62, 2};

// Units of 16 bytes onto the start address.
Mutation start_address(std::string kind, std::size_t operand, std::uint64_t units) {
  return in_every_mma(std::move(kind), is_mma, [=](Editor& editor, std::uint32_t index) {
    editor.change_operand(index, operand, "add", ScalarType::u64, units);
  });
}

Mutation missing_k_step(std::string kind, std::size_t operand) {
  return {std::move(kind),
          [](const Editor& editor, std::uint32_t index) { return is_mma(editor.at(index)) && !is_first_mma(editor, index, is_mma); },
          [=](Editor& editor, std::uint32_t index) {
            editor.change_operand(index, operand, "sub", ScalarType::u64, 2);
          }};
}

void flip_accumulate(Editor& editor, std::uint32_t index) {
  const std::size_t operand = operand_of_predicate(editor.at(index));
  const ptx::Operand old = editor.at(index).operands[operand];
  const ptx::Operand flipped = editor.compute(index, ScalarType::pred, {"not", {"pred"}}, {old});
  editor.at(index + 1).operands[operand] = flipped;
}

// The n-th e4m3 of the opcode: the format of A, then of B.
Mutation wgmma_format(std::string kind, int nth) {
  return in_every_mma(std::move(kind), is_wgmma, [=](Editor& editor, std::uint32_t index) {
    auto& modifiers = editor.at(index).opcode.modifiers;
    auto format = std::find(modifiers.begin(), modifiers.end(), "e4m3");
    if (nth == 1) format = std::find(format + 1, modifiers.end(), "e4m3");
    *format = "e5m2";
  });
}

Mutation wgmma_scale(std::string kind, std::size_t operand) {
  return in_every_mma(std::move(kind), is_wgmma, [=](Editor& editor, std::uint32_t index) {
    editor.at(index).operands[operand] = {ptx::IntegerLiteral{~std::uint64_t{0}, "-1"}};
  });
}

// Columns count from 0 in the low half of the address, lanes in the high half.
Mutation tensor_address(std::string kind, std::int64_t distance) {
  return {std::move(kind), each(is_tensor_load),
          [=](Editor& editor, std::uint32_t index) { editor.move_address(index, 1, distance); }};
}

// Coordinates count from the innermost.
Mutation coordinate(std::string kind, bool innermost, std::uint64_t distance) {
  return {std::move(kind), each(is_tma), [=](Editor& editor, std::uint32_t index) {
            const auto at = [&](std::uint32_t i) -> ptx::Operand& {
              auto& coordinates = editor.at(i).operands[1].as<ptx::Address>()->coordinates;
              return innermost ? coordinates.front() : coordinates.back();
            };
            const ptx::Operand moved = editor.compute(index, ScalarType::b32, {"add", {"s32"}}, {at(index), literal(distance)});
            at(index + 1) = moved;
          }};
}

}  // namespace

std::vector<Mutation> wrong_operands() {
  std::vector<Mutation> mutations = {
      instruction_descriptor("N halved", {17, 6}, half),
      instruction_descriptor("N 8 more", {17, 6}, [](std::uint64_t n) { return n + 1; }),
      instruction_descriptor("M halved", {24, 5}, half),
      instruction_descriptor("A e5m2", {7, 3}, always(1)),
      instruction_descriptor("B e5m2", {10, 3}, always(1)),
      instruction_descriptor("A e2m3", {7, 3}, always(3)),
      instruction_descriptor("D f16", {4, 2}, always(0)),
      instruction_descriptor("A negated", {13, 1}, always(1)),
      instruction_descriptor("B negated", {14, 1}, always(1)),
      instruction_descriptor("A MN-major", {15, 1}, always(1)),
      instruction_descriptor("B MN-major", {16, 1}, always(1)),
      wgmma_format("wgmma: A e5m2", 0),
      wgmma_format("wgmma: B e5m2", 1),
      wgmma_scale("wgmma: A negated", 4),
      wgmma_scale("wgmma: B negated", 5),
      start_address("descriptor of A: 1 KiB further", kA, 64),
      start_address("descriptor of B: 1 KiB further", kB, 64),
      start_address("descriptor of A: one K step further", kA, 2),
      missing_k_step("descriptor of A: no K step", kA),
      missing_k_step("descriptor of B: no K step", kB),
      in_every_mma("A and B swapped", is_mma,
                   [](Editor& editor, std::uint32_t index) {
                     std::swap(editor.at(index).operands[kA], editor.at(index).operands[kB]);
                   }),
      {"accumulate flag flipped", each(is_mma), flip_accumulate},
      tensor_address("tcgen05.ld one column on", 1),
      tensor_address("tcgen05.ld one column back", -1),
      tensor_address("tcgen05.ld of the lanes of the next warp", 32 << 16),
      {"TMA load 1 KiB further", each(is_tma), [](Editor& editor, std::uint32_t index) { editor.move_address(index, 0, 1024); }},
      {"TMA load 128 bytes back", each(is_tma), [](Editor& editor, std::uint32_t index) { editor.move_address(index, 0, -128); }},
      coordinate("TMA coordinate one row on", false, 1),
      coordinate("TMA coordinate 16 elements on", true, 16),
  };
  for (const std::size_t operand : {kA, kB}) {
    for (const Matcher& mma : {Matcher(is_tcgen05_mma), Matcher(is_wgmma)}) {
      mutations.push_back(descriptor("stride halved", mma, operand, stride_bytes, half));
      mutations.push_back(descriptor("stride doubled", mma, operand, stride_bytes, twice));
      mutations.push_back(descriptor("base offset 1", mma, operand, base_offset, always(1)));
    }
    mutations.push_back(descriptor("no constant bit", is_tcgen05_mma, operand, tcgen05_version, always(0)));
    mutations.push_back(descriptor("no swizzle", is_tcgen05_mma, operand, tcgen05_swizzle, always(0)));
    mutations.push_back(descriptor("swizzle 64", is_tcgen05_mma, operand, tcgen05_swizzle, always(4)));
    mutations.push_back(descriptor("swizzle 32", is_tcgen05_mma, operand, tcgen05_swizzle, always(6)));
    mutations.push_back(descriptor("no swizzle", is_wgmma, operand, wgmma_swizzle, always(0)));
    mutations.push_back(descriptor("swizzle 64", is_wgmma, operand, wgmma_swizzle, always(2)));
    mutations.push_back(descriptor("swizzle 32", is_wgmma, operand, wgmma_swizzle, always(3)));
  }
  return mutations;
}

}  // namespace mlaindex::mutation
