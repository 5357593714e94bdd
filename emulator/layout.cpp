// Where a kernel's registers, constants and variables live.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "emulator/decoder.h"

namespace mlaindex::emulator {
namespace {

std::uint32_t round_up(std::uint64_t value, std::uint64_t step) noexcept {
  return static_cast<std::uint32_t>((value + step - 1) / step * step);
}

// Calls visit(SymbolRef) for every symbol an operand names.
template <class F>
void for_symbols(const ptx::Operand& operand, F& visit) {
  if (const auto* symbol = operand.as<ptx::SymbolRef>()) visit(*symbol);
  if (const auto* list = operand.as<ptx::OperandList>())
    for (const ptx::Operand& element : list->elements) for_symbols(element, visit);
  if (const auto* address = operand.as<ptx::Address>()) {
    if (const auto* symbol = std::get_if<ptx::SymbolRef>(&address->base)) visit(*symbol);
    for (const ptx::Operand& element : address->coordinates) for_symbols(element, visit);
  }
}

bool unsized(const ptx::Variable& v) noexcept {
  return std::find(v.dimensions.begin(), v.dimensions.end(), 0u) != v.dimensions.end();
}

// One element of an initialiser as raw bits.
std::optional<std::uint64_t> initial_bits(const std::string& text, ptx::ScalarType type) {
  if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") || text.starts_with("0D"))
    return std::strtoull(text.c_str() + 2, nullptr, 16);
  if (text.find('.') != std::string::npos) {
    const double value = std::strtod(text.c_str(), nullptr);
    return type == ptx::ScalarType::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                        : std::bit_cast<std::uint64_t>(value);
  }
  std::string digits = text;
  if (!digits.empty() && (digits.back() == 'U' || digits.back() == 'u')) digits.pop_back();
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(digits.c_str(), &end, 0);
  if (end == nullptr || *end != 0) return std::nullopt;
  return value;
}

}  // namespace

Layout::Layout(const ptx::Module& module, const ptx::Function& function, Program& program)
    : module_(module), function_(function), program_(program) {
  for (const ptx::Register& r : function.registers) {
    Operand operand;
    operand.bytes = r.type == ptx::ScalarType::pred ? std::uint8_t{0} : static_cast<std::uint8_t>(ptx::bit_width(r.type) / 8);
    operand.offset = allocate(operand.bytes == 0 ? 4 : operand.bytes * kWarpSize);
    operand.slot = static_cast<std::int32_t>(program_.num_slots++);
    program_.slot_names.push_back(r.name);
    registers_.push_back(operand);
  }
}

std::uint32_t Layout::allocate(std::uint32_t bytes) {
  if (bytes >= 32) program_.file_bytes = round_up(program_.file_bytes, 32);
  const std::uint32_t at = program_.file_bytes;
  program_.file_bytes += round_up(bytes, 4);
  return at;
}

Operand Layout::constant(std::uint64_t bits, unsigned bytes) {
  if (bytes < 8) bits &= (std::uint64_t{1} << (bytes * 8)) - 1;
  const auto [it, fresh] = constants_.try_emplace({bits, bytes});
  if (fresh) {
    auto& pool = program_.constants;
    pool.resize(round_up(pool.size(), 64));
    it->second.offset = static_cast<std::uint32_t>(pool.size());
    it->second.bytes = static_cast<std::uint8_t>(bytes);
    it->second.constant = true;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      const auto* from = reinterpret_cast<const std::byte*>(&bits);
      pool.insert(pool.end(), from, from + std::min(bytes, 8u));
      pool.resize(pool.size() + bytes - std::min(bytes, 8u));
    }
  }
  return it->second;
}

Operand Layout::predicate_constant(bool value) {
  Operand o = constant(value ? ~std::uint64_t{0} : 0, 4);
  o.bytes = 0;
  return o;
}

Operand Layout::special(Special special, unsigned bytes) {
  const auto [it, fresh] = specials_.try_emplace({special, bytes});
  if (fresh) {
    it->second.bytes = static_cast<std::uint8_t>(bytes);
    it->second.offset = allocate(bytes * kWarpSize);
    program_.specials.push_back({special, it->second});
  }
  return it->second;
}

const ptx::Variable* Layout::variable(const ptx::SymbolRef& symbol) const noexcept {
  switch (symbol.table) {
    case ptx::SymbolTable::module_variable: return &module_.variables[symbol.index];
    case ptx::SymbolTable::parameter: return &function_.parameters[symbol.index];
    case ptx::SymbolTable::local_variable: return &function_.variables[symbol.index];
    default: return nullptr;
  }
}

std::optional<Operand> Layout::symbol(const ptx::SymbolRef& symbol, std::int64_t offset, unsigned bytes) {
  const ptx::Variable* v = variable(symbol);
  if (v == nullptr) return std::nullopt;
  if (v->space == ptx::StateSpace::global || v->space == ptx::StateSpace::constant) {
    const auto address = global_address(*v);
    return address ? std::optional(constant(*address + static_cast<std::uint64_t>(offset), bytes)) : std::nullopt;
  }
  const auto place = places_.find(v);
  if (place == places_.end()) return std::nullopt;
  const std::uint64_t address = place->second + static_cast<std::uint64_t>(offset);
  if (v->space != ptx::StateSpace::shared) return constant(address, bytes);
  const auto [it, fresh] = shared_symbols_.try_emplace({address, bytes});
  if (fresh) {
    it->second.bytes = static_cast<std::uint8_t>(bytes);
    it->second.offset = allocate(bytes * kWarpSize);
    program_.shared_symbols.push_back({static_cast<std::uint32_t>(address), it->second});
  }
  return it->second;
}

// Module variables get storage when the kernel first names them.
std::optional<std::uint64_t> Layout::global_address(const ptx::Variable& v) {
  const auto found = places_.find(&v);
  if (found != places_.end()) return found->second;
  const std::uint64_t size = v.size_bytes();
  if (size == 0 || size > (std::uint64_t{1} << 30)) return std::nullopt;
  auto storage = std::make_unique<std::byte[]>(size + 256);
  auto* data = storage.get();
  data += (256 - reinterpret_cast<std::uintptr_t>(data) % 256) % 256;
  const unsigned element = ptx::bit_width(v.type) / 8;
  for (std::size_t i = 0; i < v.initialisers.size() && (i + 1) * element <= size; ++i) {
    const auto bits = v.initialisers[i].is_symbol ? std::nullopt : initial_bits(v.initialisers[i].text, v.type);
    if (!bits) return std::nullopt;
    std::memcpy(data + i * element, &*bits, std::min<std::size_t>(element, 8));
  }
  program_.globals.push_back(std::move(storage));
  program_.global_variables.push_back({v.name, data, size, v.space == ptx::StateSpace::global});
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data));
  places_.emplace(&v, address);
  return address;
}

Status Layout::place_shared(std::uint32_t shared_base) {
  std::vector<const ptx::Variable*> sized, dynamic;
  const auto consider = [&](const ptx::Variable* v) {
    if (v == nullptr || v->space != ptx::StateSpace::shared) return;
    auto& list = unsized(*v) ? dynamic : sized;
    if (std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
  };
  for (const ptx::Variable& v : function_.variables) consider(&v);
  const auto visit = [&](const ptx::SymbolRef& symbol) { consider(variable(symbol)); };
  for (const ptx::Instruction& in : function_.instructions)
    for (const ptx::Operand& operand : in.operands) for_symbols(operand, visit);
  // With the toolchain's own base, 0x400, this is its layout; other bases keep declared alignments.
  std::uint64_t end = shared_base;
  for (const ptx::Variable* v : sized) {
    end = round_up(end, v->effective_alignment());
    places_[v] = end;
    end += v->size_bytes();
  }
  std::uint64_t alignment = 16;
  for (const ptx::Variable* v : dynamic) alignment = std::max<std::uint64_t>(alignment, v->effective_alignment());
  program_.shared_base = shared_base;
  program_.dynamic_start = round_up(end, alignment);
  for (const ptx::Variable* v : dynamic) places_[v] = program_.dynamic_start;
  return {};
}

Status Layout::place_variables(std::uint32_t shared_base) {
  std::uint64_t param = 0;
  for (const ptx::Variable& v : function_.parameters) {
    param = round_up(param, v.effective_alignment());
    places_[&v] = param;
    param += v.size_bytes();
  }
  program_.param_bytes = static_cast<std::uint32_t>(param);
  std::uint64_t local = 0;
  for (const ptx::Variable& v : function_.variables) {
    if (v.space == ptx::StateSpace::param)
      return Error{ErrorCode::invalid_argument, "entry '" + function_.name + "' declares call parameters in its body",
                   "calls are not modelled; compile with everything inlined"};
    if (v.space != ptx::StateSpace::local) continue;
    local = round_up(local, v.effective_alignment());
    places_[&v] = local;
    local += v.size_bytes();
  }
  program_.local_bytes = round_up(local, 16);
  return place_shared(shared_base);
}

}  // namespace mlaindex::emulator
