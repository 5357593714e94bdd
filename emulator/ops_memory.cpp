// ld and st in every space.
#include <algorithm>

#include "emulator/lane_ops.h"
#include "emulator/memory_access.h"

namespace mlaindex::emulator {
namespace {

struct AccessSettings {
  Space space;
  std::uint8_t bytes;    // of one element
  std::uint8_t count;    // elements
  bool is_signed;
};

Step load(Execution& x) {
  const auto s = x.in.settings<AccessSettings>();
  const AddressOperand& address = x.in.addresses[0];
  x.require_written(address);
  const std::uint32_t total = std::uint32_t{s.bytes} * s.count;
  std::byte* targets[8];
  for (std::size_t e = 0; e < s.count; ++e) targets[e] = x.given(e) ? x.destination<std::byte>(e) : nullptr;
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const Location at = locate(x, s.space, x.address(address, l), l, total, false);
    if (at.data == nullptr) return Step::fatal;
    note_read(x, at, total);
    for (std::size_t e = 0; e < s.count; ++e) {
      if (targets[e] == nullptr) continue;
      const unsigned width = x.in.operands[e].bytes;
      std::uint64_t value[2]{};
      std::memcpy(value, at.data + e * s.bytes, s.bytes);
      if (s.is_signed && s.bytes < 8) {
        const unsigned shift = 64 - s.bytes * 8;
        value[0] = static_cast<std::uint64_t>(static_cast<std::int64_t>(value[0] << shift) >> shift);
      }
      std::memcpy(targets[e] + l * width, value, width);
    }
  }
  return Step::next;
}

Step store(Execution& x) {
  const auto s = x.in.settings<AccessSettings>();
  const AddressOperand& address = x.in.addresses[0];
  x.require_written(address);
  const std::uint32_t total = std::uint32_t{s.bytes} * s.count;
  const std::byte* sources[8];
  for (std::size_t e = 0; e < s.count; ++e) sources[e] = x.source<std::byte>(e);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const Location at = locate(x, s.space, x.address(address, l), l, total, true);
    if (at.data == nullptr) return Step::fatal;
    note_write(x, at, total);
    for (std::size_t e = 0; e < s.count; ++e)
      std::memcpy(at.data + e * s.bytes, sources[e] + l * x.in.operands[e].bytes, s.bytes);
  }
  return Step::next;
}

// st.bulk: zero fill of shared memory by one instruction of each executing thread.
Step bulk_zero(Execution& x) {
  const auto* size = x.source<std::uint64_t>(0);
  for (LaneMask rest = x.mask; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    std::uint32_t offset = 0;
    if (size[l] % 8 != 0 || size[l] > 0xFFFFFF)
      return x.fault(FaultKind::illegal_operand, "st.bulk of " + std::to_string(size[l]) + " bytes: a multiple of 8 is needed");
    if (!own_shared(x, x.address(x.in.addresses[0], l), static_cast<std::uint32_t>(size[l]), 8, offset)) return Step::fatal;
    for (std::uint32_t done = 0; done < size[l]; done += 8) {
      note_write(x, {x.cta().shared.at(offset + done), &x.cta(), offset + done}, 8);
      std::memset(x.cta().shared.at(offset + done), 0, 8);
    }
  }
  return Step::next;
}

Space take_space(InstructionDecoder& d) {
  if (d.take("global") || d.take("const")) return Space::global;
  if (d.take("shared") || d.take("shared::cta")) return Space::shared;
  if (d.take("shared::cluster")) return Space::shared_cluster;
  if (d.take("local")) return Space::local;
  if (d.take("param") || d.take("param::entry")) return Space::param;
  return Space::generic;
}

void decode_access(InstructionDecoder& d) {
  const bool is_load = d.name() != "st";
  if (d.take("bulk")) {
    d.ignore({"weak", "shared::cta"});
    d.out().addresses.push_back(d.address(0));
    d.add(1, 8);
    if (d.integer(2).value_or(-1) != 0) d.fail("st.bulk fills with 0 only");
    return d.handler(bulk_zero);
  }
  if (d.has("async")) return;
  AccessSettings s{};
  s.space = take_space(d);
  // Ordering and caching: every access takes effect at once, in program order.
  d.ignore({"weak", "volatile", "relaxed", "acquire", "release", "cta", "cluster", "gpu", "sys", "nc", "ca", "cg", "cs", "lu",
            "cv", "wb", "wt", "mmio", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
            "L1::no_allocate", "L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::64B", "L2::128B", "L2::256B",
            "L2::cache_hint", "unified"});
  const auto vector = d.take_any({"v2", "v4", "v8"});
  s.count = vector ? static_cast<std::uint8_t>((*vector)[1] - '0') : std::uint8_t{1};
  const auto type = d.take_type();
  if (!type || *type == ptx::ScalarType::pred) return d.fail("this type is not modelled");
  s.bytes = static_cast<std::uint8_t>(bytes_of(*type));
  s.is_signed = is_signed(*type);
  if (s.bytes * s.count > 32) return d.fail("more than 32 bytes a thread");
  const std::size_t data = is_load ? 0 : 1;
  const auto elements = d.elements(data);
  if (elements.size() != s.count) return d.fail("the operand list does not match the vector");
  for (const ptx::Operand* e : elements) {
    d.out().operands.push_back(d.value(*e, s.bytes, is_floating(*type), true));
    if (!d.out().operands.back().none && d.out().operands.back().bytes < s.bytes) d.fail("a register is narrower than the type");
    if (!is_load && d.out().operands.back().none) d.fail("a stored value is missing");
  }
  d.out().addresses.push_back(d.address(is_load ? 1 : 0));
  d.out().set(s);
  d.handler(is_load ? load : store);
}

}  // namespace

bool decode_memory(InstructionDecoder& d) {
  if (d.name() == "ld" || d.name() == "ldu" || d.name() == "st") {
    decode_access(d);
    return true;
  }
  return false;
}

}  // namespace mlaindex::emulator
