#include "emulator/decoder.h"

#include <algorithm>

namespace mlaindex::emulator {
namespace {

const std::unordered_map<std::string_view, Special>& special_names() {
  static const std::unordered_map<std::string_view, Special> names{
      {"%tid.x", Special::tid_x}, {"%tid.y", Special::tid_y}, {"%tid.z", Special::tid_z},
      {"%ntid.x", Special::ntid_x}, {"%ntid.y", Special::ntid_y}, {"%ntid.z", Special::ntid_z},
      {"%ctaid.x", Special::ctaid_x}, {"%ctaid.y", Special::ctaid_y}, {"%ctaid.z", Special::ctaid_z},
      {"%nctaid.x", Special::nctaid_x}, {"%nctaid.y", Special::nctaid_y}, {"%nctaid.z", Special::nctaid_z},
      {"%laneid", Special::laneid}, {"%warpid", Special::warpid}, {"%nwarpid", Special::nwarpid},
      {"%smid", Special::smid}, {"%nsmid", Special::nsmid}, {"%gridid", Special::gridid},
      {"%lanemask_eq", Special::lanemask_eq}, {"%lanemask_le", Special::lanemask_le},
      {"%lanemask_lt", Special::lanemask_lt}, {"%lanemask_ge", Special::lanemask_ge},
      {"%lanemask_gt", Special::lanemask_gt},
      {"%clusterid.x", Special::clusterid_x}, {"%clusterid.y", Special::clusterid_y}, {"%clusterid.z", Special::clusterid_z},
      {"%nclusterid.x", Special::nclusterid_x}, {"%nclusterid.y", Special::nclusterid_y},
      {"%nclusterid.z", Special::nclusterid_z},
      {"%cluster_ctaid.x", Special::cluster_ctaid_x}, {"%cluster_ctaid.y", Special::cluster_ctaid_y},
      {"%cluster_ctaid.z", Special::cluster_ctaid_z},
      {"%cluster_nctaid.x", Special::cluster_nctaid_x}, {"%cluster_nctaid.y", Special::cluster_nctaid_y},
      {"%cluster_nctaid.z", Special::cluster_nctaid_z},
      {"%cluster_ctarank", Special::cluster_ctarank}, {"%cluster_nctarank", Special::cluster_nctarank},
      {"%is_explicit_cluster", Special::is_explicit_cluster},
      {"%dynamic_smem_size", Special::dynamic_smem_size}, {"%total_smem_size", Special::total_smem_size},
      {"%clock", Special::clock}, {"%clock_hi", Special::clock_hi}, {"%clock64", Special::clock64},
      {"%globaltimer", Special::globaltimer}, {"%globaltimer_lo", Special::globaltimer_lo},
      {"%globaltimer_hi", Special::globaltimer_hi},
  };
  return names;
}

}  // namespace

unsigned bytes_of(ptx::ScalarType type) noexcept { return ptx::bit_width(type) / 8; }

bool is_floating(ptx::ScalarType type) noexcept {
  return type == ptx::ScalarType::f32 || type == ptx::ScalarType::f64;
}

bool is_signed(ptx::ScalarType type) noexcept {
  return type == ptx::ScalarType::s8 || type == ptx::ScalarType::s16 || type == ptx::ScalarType::s32 ||
         type == ptx::ScalarType::s64;
}

InstructionDecoder::InstructionDecoder(Layout& layout, const ptx::Instruction& source, Instruction& out)
    : layout_(layout), source_(source), out_(out),
      modifiers_(source.opcode.modifiers.begin(), source.opcode.modifiers.end()) {
  out_.source = &source;
  out_.line = source.location.line;
  if (source.guard) {
    out_.guard = layout.register_operand(source.guard->register_index);
    out_.guard.negated = source.guard->negated;
  }
}

bool InstructionDecoder::take(std::string_view modifier) {
  const auto it = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (it == modifiers_.end()) return false;
  modifiers_.erase(it);
  return true;
}

bool InstructionDecoder::has(std::string_view modifier) const noexcept {
  return std::find(modifiers_.begin(), modifiers_.end(), modifier) != modifiers_.end();
}

void InstructionDecoder::ignore(std::initializer_list<std::string_view> modifiers) {
  for (const std::string_view m : modifiers)
    while (take(m)) {}
}

std::optional<std::string_view> InstructionDecoder::take_any(std::initializer_list<std::string_view> modifiers) {
  for (const std::string_view m : modifiers)
    if (take(m)) return m;
  return std::nullopt;
}

std::optional<std::string_view> InstructionDecoder::take_prefix(std::string_view prefix) {
  const auto it = std::find_if(modifiers_.begin(), modifiers_.end(),
                               [prefix](std::string_view m) { return m.starts_with(prefix); });
  if (it == modifiers_.end()) return std::nullopt;
  const std::string_view found = *it;
  modifiers_.erase(it);
  return found;
}

std::optional<ptx::ScalarType> InstructionDecoder::take_type() {
  for (auto it = modifiers_.begin(); it != modifiers_.end(); ++it)
    if (const auto type = ptx::scalar_type(*it)) {
      modifiers_.erase(it);
      return type;
    }
  return std::nullopt;
}

Operand InstructionDecoder::value(std::size_t i, unsigned bytes, bool floating, bool any_width) {
  if (i >= source_.operands.size()) {
    fail("operand " + std::to_string(i + 1) + " is missing");
    return {.none = true};
  }
  return value(source_.operands[i], bytes, floating, any_width);
}

Operand InstructionDecoder::value(const ptx::Operand& operand, unsigned bytes, bool floating, bool any_width) {
  if (operand.as<ptx::Sink>()) return {.none = true};
  if (const auto* r = operand.as<ptx::RegisterRef>()) {
    const Operand o = layout_.register_operand(r->index);
    if (o.bytes != bytes && !any_width)
      fail("register " + layout_.function().registers[r->index].name + " is " + std::to_string(o.bytes * 8) +
           " bits wide where " + std::to_string(bytes * 8) + " are needed");
    return o;
  }
  if (const auto* integer = operand.as<ptx::IntegerLiteral>()) {
    if (!floating) return layout_.constant(integer->value, bytes);
    const auto number = static_cast<double>(static_cast<std::int64_t>(integer->value));
    return bytes == 4 ? layout_.constant(std::bit_cast<std::uint32_t>(static_cast<float>(number)), 4)
                      : layout_.constant(std::bit_cast<std::uint64_t>(number), bytes);
  }
  if (const auto* literal = operand.as<ptx::FloatLiteral>()) {
    if (literal->is_f32 || bytes == 8) return layout_.constant(literal->bits, bytes);
    return layout_.constant(std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(literal->bits))), bytes);
  }
  if (const auto* special = operand.as<ptx::SpecialRegister>()) {
    if (special->name == "WARP_SZ") return layout_.constant(kWarpSize, bytes);
    const auto it = special_names().find(special->name);
    if (it == special_names().end()) {
      fail("special register " + special->name + " is not modelled");
      return {.none = true};
    }
    return layout_.special(it->second, bytes);
  }
  if (const auto* symbol = operand.as<ptx::SymbolRef>())
    if (const auto o = layout_.symbol(*symbol, symbol->offset, bytes)) return *o;
  fail("an operand of this kind is not modelled here");
  return {.none = true};
}

Operand InstructionDecoder::predicate(std::size_t i) {
  if (i >= source_.operands.size()) {
    fail("operand " + std::to_string(i + 1) + " is missing");
    return {.none = true};
  }
  return predicate(source_.operands[i]);
}

Operand InstructionDecoder::predicate(const ptx::Operand& operand) {
  if (operand.as<ptx::Sink>()) return {.none = true};
  if (const auto* integer = operand.as<ptx::IntegerLiteral>()) return layout_.predicate_constant(integer->value != 0);
  if (const auto* r = operand.as<ptx::RegisterRef>()) {
    Operand o = layout_.register_operand(r->index);
    o.negated = operand.negated;
    if (o.bytes == 0) return o;
  }
  fail("a predicate is needed");
  return {.none = true};
}

AddressOperand InstructionDecoder::address(const ptx::Address& a) {
  AddressOperand out;
  out.offset = a.offset;
  if (const auto* r = std::get_if<ptx::RegisterRef>(&a.base)) {
    out.base = layout_.register_operand(r->index);
    if (out.base.bytes != 4 && out.base.bytes != 8) fail("an address register must have 32 or 64 bits");
  } else if (const auto* symbol = std::get_if<ptx::SymbolRef>(&a.base)) {
    const auto o = layout_.symbol(*symbol, symbol->offset, 8);
    if (o) out.base = *o;
    else fail("the address of this symbol is not modelled");
  } else {
    out.base.none = true;
    out.offset += static_cast<std::int64_t>(std::get<ptx::IntegerLiteral>(a.base).value);
  }
  return out;
}

AddressOperand InstructionDecoder::address(std::size_t i) {
  if (i < source_.operands.size())
    if (const auto* a = source_.operands[i].as<ptx::Address>()) return address(*a);
  fail("operand " + std::to_string(i + 1) + " must be an address");
  return {};
}

const ptx::Address* InstructionDecoder::tensor_address(std::size_t i) const noexcept {
  return i < source_.operands.size() ? source_.operands[i].as<ptx::Address>() : nullptr;
}

std::vector<const ptx::Operand*> InstructionDecoder::elements(std::size_t i) const {
  std::vector<const ptx::Operand*> out;
  if (i >= source_.operands.size()) return out;
  if (const auto* list = source_.operands[i].as<ptx::OperandList>())
    for (const ptx::Operand& element : list->elements) out.push_back(&element);
  else
    out.push_back(&source_.operands[i]);
  return out;
}

std::optional<std::int64_t> InstructionDecoder::integer(std::size_t i) const noexcept {
  if (i >= source_.operands.size()) return std::nullopt;
  const auto* literal = source_.operands[i].as<ptx::IntegerLiteral>();
  return literal == nullptr ? std::nullopt : std::optional(static_cast<std::int64_t>(literal->value));
}

std::optional<std::uint32_t> InstructionDecoder::label(std::size_t i) const noexcept {
  if (i >= source_.operands.size()) return std::nullopt;
  const auto* ref = source_.operands[i].as<ptx::LabelRef>();
  return ref == nullptr ? std::nullopt : std::optional(layout_.function().labels[ref->index].instruction);
}

void InstructionDecoder::fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

}  // namespace mlaindex::emulator
