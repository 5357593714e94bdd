#include "generator/ptx/register_values.h"

#include <algorithm>
#include <array>
#include <vector>

#include <llvm/Support/KnownBits.h>

#include "generator/ptx/instruction_kinds.h"

namespace mlaindex::ptx {
namespace {

constexpr int kRounds = 12;      // fixpoint rounds; real kernels settle in three or four
constexpr int kWidenAfter = 8;   // registers still changing then are given up
constexpr unsigned kLaneBits = 5;

std::uint64_t mask_of(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

AbstractValue unknown(unsigned width = 64) {
  AbstractValue value;
  value.defined = true;
  value.zeros = ~mask_of(width);
  return value;
}

AbstractValue always(std::uint64_t bits) {
  AbstractValue value;
  value.defined = true;
  value.ones = bits;
  value.zeros = ~bits;
  return value;
}

llvm::KnownBits bits_of(const AbstractValue& value, unsigned width) {
  llvm::KnownBits known(width);
  known.Zero = llvm::APInt(64, value.zeros).trunc(width);
  known.One = llvm::APInt(64, value.ones).trunc(width);
  return known;
}

AbstractValue from_bits(const llvm::KnownBits& known) {
  AbstractValue value = unknown(known.getBitWidth());
  value.zeros |= known.Zero.getZExtValue();
  value.ones = known.One.getZExtValue();
  return value;
}

AbstractValue truncated(AbstractValue value, unsigned width) {
  value.zeros |= ~mask_of(width);
  value.ones &= mask_of(width);
  return value;
}

// The width that the type names at the end of the opcode; 1 for predicates, nothing for floats.
std::optional<unsigned> integer_width(const Opcode& opcode, std::size_t from_end = 0) {
  if (opcode.modifiers.size() <= from_end) return std::nullopt;
  const std::string& text = opcode.modifiers[opcode.modifiers.size() - 1 - from_end];
  const auto type = scalar_type(text);
  const bool counts = text[0] == 'b' || text[0] == 'u' || text[0] == 's' || text == "pred";
  if (!type || !counts || bit_width(*type) > 64) return std::nullopt;
  return bit_width(*type);
}

// base + addend, where either side may be the address.
std::optional<Anchor> moved(const AbstractValue& a, const AbstractValue& b, bool subtract) {
  const bool first = a.anchor.has_value();
  if (first == b.anchor.has_value() || (subtract && !first)) return std::nullopt;
  Anchor anchor = first ? *a.anchor : *b.anchor;
  const AbstractValue& addend = first ? b : a;
  if (const auto distance = addend.constant()) {
    const auto bytes = static_cast<std::int64_t>(static_cast<std::int32_t>(*distance));
    anchor.offset += subtract ? -bytes : bytes;
  } else {
    anchor.exact = false;
  }
  return anchor;
}

llvm::KnownBits combine(const std::string& name, const llvm::KnownBits& a, const llvm::KnownBits& b) {
  if (name == "and") return a & b;
  if (name == "or") return a | b;
  if (name == "xor") return a ^ b;
  if (name == "shl") return llvm::KnownBits::shl(a, b);
  if (name == "mul" || name == "mad") return llvm::KnownBits::mul(a, b);
  return llvm::KnownBits(a.getBitWidth());
}

}  // namespace

RegisterValues::RegisterValues(const Function& function, std::optional<BlockThread> thread,
                               const RegisterValues* of_warp)
    : function_(function), thread_(thread), of_warp_(of_warp), values_(function.registers.size()) {
  std::vector<const Instruction*> open;  // those whose values may still change what is known
  for (const Instruction& instruction : function.instructions)
    if (writes_first_operand(instruction)) open.push_back(&instruction);
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    changed = false;
    for (const Instruction* instruction : open) {
      const bool widen = round >= kWidenAfter;
      if (const auto* pair = instruction->operands[0].as<RegisterPair>(); pair && is(*instruction, "elect", "sync"))
        join(pair->second, elected(), widen, changed);
      else
        write(instruction->operands[0], evaluate(*instruction), widen, changed);
    }
    std::erase_if(open, [&](const Instruction* instruction) { return is_given_up(instruction->operands[0]); });
  }
  for (AbstractValue& value : values_)
    if (!value.defined) value = unknown();
}

bool RegisterValues::is_given_up(const Operand& destination) const {
  const auto unknown_register = [&](std::uint32_t reg) {
    return reg == kNoIndex || values_[reg] == unknown(bit_width(function_.registers[reg].type));
  };
  if (const auto* reg = destination.as<RegisterRef>()) return unknown_register(reg->index);
  if (const auto* pair = destination.as<RegisterPair>()) return unknown_register(pair->first) && unknown_register(pair->second);
  const auto* list = destination.as<OperandList>();
  return list && std::all_of(list->elements.begin(), list->elements.end(), [&](const Operand& element) {
    const auto* target = element.as<RegisterRef>();
    return !target || unknown_register(target->index);
  });
}

void RegisterValues::join(std::uint32_t reg, AbstractValue value, bool widen, bool& changed) {
  if (reg == kNoIndex || !value.defined) return;
  value = truncated(value, bit_width(function_.registers[reg].type));
  AbstractValue& old = values_[reg];
  if (old.defined) {
    value.zeros &= old.zeros;
    value.ones &= old.ones;
    if (old.anchor && value.anchor && old.anchor->same_variable(*value.anchor)) {
      value.anchor->exact &= *old.anchor == *value.anchor;
      value.anchor->offset = std::min(old.anchor->offset, value.anchor->offset);
    } else {
      value.anchor.reset();
    }
  }
  if (value == old) return;
  changed = true;
  old = widen ? unknown(bit_width(function_.registers[reg].type)) : value;
}

void RegisterValues::write(const Operand& destination, const AbstractValue& value, bool widen, bool& changed) {
  if (const auto* reg = destination.as<RegisterRef>()) {
    join(reg->index, value, widen, changed);
  } else if (const auto* pair = destination.as<RegisterPair>()) {
    join(pair->first, value, widen, changed);
    join(pair->second, unknown(), widen, changed);
  } else if (const auto* list = destination.as<OperandList>()) {
    unsigned shift = 0;
    for (const Operand& element : list->elements) {
      const auto* target = element.as<RegisterRef>();
      if (!target) continue;
      const unsigned width = bit_width(function_.registers[target->index].type);
      AbstractValue part = unknown();
      if (value.defined && shift < 64) {
        part.zeros = value.zeros >> shift | ~mask_of(64 - shift);
        part.ones = value.ones >> shift;
      }
      join(target->index, value.defined ? part : AbstractValue{}, widen, changed);
      shift += width;
    }
  }
}

AbstractValue RegisterValues::of(const Operand& operand) const {
  if (const auto* reg = operand.as<RegisterRef>(); reg && !operand.negated) return values_[reg->index];
  if (const auto* literal = operand.as<IntegerLiteral>()) return always(literal->value);
  if (const auto* special = operand.as<SpecialRegister>()) return special_register(special->name);
  if (const auto* symbol = operand.as<SymbolRef>()) {
    AbstractValue value = unknown();
    value.anchor = Anchor{symbol->table, symbol->index, symbol->offset, true};
    return value;
  }
  if (const auto* list = operand.as<OperandList>()) {  // mov.b64 %rd, {low, high}
    AbstractValue packed = always(0);
    const unsigned width = list->elements.empty() ? 64 : 64 / static_cast<unsigned>(list->elements.size());
    unsigned shift = 0;
    for (const Operand& element : list->elements) {
      const AbstractValue part = of(element);
      if (!part.defined) return AbstractValue{};
      const std::uint64_t place = width >= 64 ? ~std::uint64_t{0} : mask_of(width) << shift;
      packed.zeros = (packed.zeros & ~place) | (part.zeros << shift & place);
      packed.ones |= part.ones << shift & place;
      shift += width;
    }
    return packed;
  }
  return unknown();
}

AbstractValue RegisterValues::special_register(const std::string& name) const {
  if (!thread_) return unknown();
  const bool thread_index = name == "%tid.x";
  if (!thread_index && name != "%laneid") return unknown();
  AbstractValue value = always(thread_index ? std::uint64_t{thread_->warp} << kLaneBits : 0);
  if (thread_->lane) {
    value.ones |= *thread_->lane;
    value.zeros &= ~std::uint64_t{*thread_->lane};
  } else {
    value.zeros &= ~mask_of(kLaneBits);
  }
  return value;
}

// What all lanes of the warp agree on holds for whichever lane the value comes from.
AbstractValue RegisterValues::shuffled(const Instruction& instruction) const {
  if (!thread_ || instruction.operands.size() < 2) return unknown();
  if (thread_->lane && !of_warp_) return unknown();
  const AbstractValue value = thread_->lane ? of_warp_->of(instruction.operands[1]) : of(instruction.operands[1]);
  return value.defined ? truncated(value, 32) : value;
}

AbstractValue RegisterValues::elected() const {
  return thread_ && thread_->lane ? always(*thread_->lane == 0 ? 1 : 0) : unknown(1);
}

std::optional<Anchor> RegisterValues::anchor(const Address& address) const {
  std::optional<Anchor> anchor;
  if (const auto* reg = std::get_if<RegisterRef>(&address.base)) anchor = values_[reg->index].anchor;
  if (const auto* symbol = std::get_if<SymbolRef>(&address.base))
    anchor = Anchor{symbol->table, symbol->index, symbol->offset, true};
  if (anchor) anchor->offset += address.offset;
  return anchor;
}

std::optional<std::uint32_t> RegisterValues::tensor_map_parameter(const Instruction& load) const {
  if (load.operands.size() < 3) return std::nullopt;
  const auto* source = load.operands[1].as<Address>();
  const auto place = source ? anchor(*source) : std::nullopt;
  if (!place || place->table != SymbolTable::parameter) return std::nullopt;
  return place->index;
}

// setp.op.type p, a, b;
AbstractValue RegisterValues::compared(const Instruction& instruction) const {
  const std::vector<std::string>& modifiers = instruction.opcode.modifiers;
  const auto width = integer_width(instruction.opcode);
  if (modifiers.size() != 2 || instruction.operands.size() != 3 || !width) return unknown(1);
  const AbstractValue a = of(instruction.operands[1]), b = of(instruction.operands[2]);
  if (!a.defined || !b.defined) return {};
  const llvm::KnownBits x = bits_of(a, *width), y = bits_of(b, *width);
  const std::string& op = modifiers[0];
  const bool is_signed = modifiers[1][0] == 's';
  std::optional<bool> holds;
  if (op == "eq") holds = llvm::KnownBits::eq(x, y);
  if (op == "ne") holds = llvm::KnownBits::ne(x, y);
  if (op == "lt") holds = is_signed ? llvm::KnownBits::slt(x, y) : llvm::KnownBits::ult(x, y);
  if (op == "le") holds = is_signed ? llvm::KnownBits::sle(x, y) : llvm::KnownBits::ule(x, y);
  if (op == "gt") holds = is_signed ? llvm::KnownBits::sgt(x, y) : llvm::KnownBits::ugt(x, y);
  if (op == "ge") holds = is_signed ? llvm::KnownBits::sge(x, y) : llvm::KnownBits::uge(x, y);
  return holds ? always(*holds ? 1 : 0) : unknown(1);
}

AbstractValue RegisterValues::evaluate(const Instruction& instruction) const {
  const std::string& name = instruction.opcode.name;
  const std::vector<Operand>& operands = instruction.operands;
  const bool copies = name == "mov" || name == "cvta" || name == "cvt";
  static constexpr std::array<std::string_view, 9> kBinary = {"add", "sub", "and", "or", "xor", "shl",
                                                              "shr", "mul", "mad"};
  const bool binary = std::find(kBinary.begin(), kBinary.end(), name) != kBinary.end();
  if (name == "shfl") return shuffled(instruction);
  if (name == "setp") return compared(instruction);
  const auto width = integer_width(instruction.opcode);
  if (!width || (!copies && !binary && name != "selp" && name != "not")) return unknown();

  const std::size_t sources = operands.size() - 1;
  if (sources < (copies || name == "not" ? 1u : name == "mad" || name == "selp" ? 3u : 2u)) return unknown();
  const AbstractValue a = of(operands[1]);
  if (!a.defined) return {};
  if (copies) {
    if (name != "cvt") return a;
    const auto to = integer_width(instruction.opcode, 1);  // cvt.TO.FROM
    if (!to) return unknown();
    const bool sign_extends = instruction.opcode.modifiers.back()[0] == 's' && *to > *width;
    AbstractValue value =
        sign_extends ? from_bits(bits_of(a, *width).sext(*to)) : truncated(a, *width);
    value.anchor = a.anchor;
    return value;
  }

  if (name == "not") {
    llvm::KnownBits flipped = bits_of(a, *width);
    std::swap(flipped.Zero, flipped.One);
    return from_bits(flipped);
  }
  const AbstractValue b = of(operands[2]);
  if (!b.defined) return {};
  if (name == "selp") {
    const AbstractValue chooses = of(operands[3]);
    if (!chooses.defined) return {};
    if (const auto first = chooses.constant()) return *first != 0 ? a : b;
    AbstractValue value = unknown();
    value.zeros = a.zeros & b.zeros;
    value.ones = a.ones & b.ones;
    if (a.anchor == b.anchor) value.anchor = a.anchor;
    return value;
  }
  const llvm::KnownBits x = bits_of(a, *width), y = bits_of(b, *width);
  if (name == "add" || name == "sub") {
    AbstractValue value = from_bits(llvm::KnownBits::computeForAddSub(name == "add", false, false, x, y));
    value.anchor = moved(a, b, name == "sub");
    return value;
  }
  if (name == "shr") {
    const bool arithmetic = instruction.opcode.modifiers.back()[0] == 's';
    return from_bits(arithmetic ? llvm::KnownBits::ashr(x, y) : llvm::KnownBits::lshr(x, y));
  }
  if ((name == "mul" || name == "mad") && !instruction.opcode.has("lo")) return unknown();
  AbstractValue value = from_bits(combine(name, x, y));
  if (name == "or") value.anchor = moved(a, b, false);  // an aligned base: the same as an addition
  if (name == "mad") {
    const AbstractValue c = of(operands[3]);
    if (!c.defined) return {};
    AbstractValue sum = from_bits(
        llvm::KnownBits::computeForAddSub(true, false, false, bits_of(value, *width), bits_of(c, *width)));
    sum.anchor = moved(value, c, false);
    return sum;
  }
  return value;
}

}  // namespace mlaindex::ptx
