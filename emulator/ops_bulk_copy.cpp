// cp.async.bulk: tensor and linear copies, their groups and prefetches.
#include "emulator/bulk_copy.h"

namespace mlaindex::emulator {
namespace {

Step nothing(Execution&) { return Step::next; }

void decode_tensor(InstructionDecoder& d) {
  CopySettings s{};
  const auto dimension = d.take_any({"1d", "2d", "3d", "4d", "5d"});
  if (!dimension) return d.fail("the dimension is missing");
  s.rank = static_cast<std::uint32_t>((*dimension)[0] - '0');
  s.gather = d.take("tile::gather4");
  s.multicast = d.take("multicast::cluster");
  s.cta_pair = d.take("cta_group::2");
  d.ignore({"tile", "cta_group::1", "L2::cache_hint"});
  const bool load = d.take("mbarrier::complete_tx::bytes");
  const bool store = d.take("bulk_group");
  if (load == store) return d.fail("completion by mbarrier or by bulk group is needed");
  d.ignore({"shared::cluster", "shared::cta", "global"});
  s.add = d.take("add");
  if (s.add && !store) return d.fail("a reducing load");
  const ptx::Address* map = d.tensor_address(load ? 1 : 0);
  if (map == nullptr || map->coordinates.empty()) return d.fail("coordinates are missing");
  const std::size_t count = s.gather ? 5 : s.rank;
  std::vector<const ptx::Operand*> coordinates;
  for (const ptx::Operand& c : map->coordinates) {
    if (const auto* list = c.as<ptx::OperandList>())
      for (const ptx::Operand& element : list->elements) coordinates.push_back(&element);
    else
      coordinates.push_back(&c);
  }
  if (coordinates.size() != count) return d.fail(std::to_string(coordinates.size()) + " coordinates for " + std::to_string(count));
  for (const ptx::Operand* c : coordinates) d.out().operands.push_back(d.value(*c, 4));
  d.out().addresses.push_back(d.address(0));
  d.out().addresses.push_back(d.address(1));
  if (load) {
    d.out().addresses.push_back(d.address(2));
    if (s.multicast) d.add(3, 2);
  }
  d.out().set(s);
  d.handler(load ? bulk_tensor_load : bulk_tensor_store);
}

void decode_linear(InstructionDecoder& d) {
  CopySettings s{};
  s.multicast = d.take("multicast::cluster");
  d.ignore({"L2::cache_hint"});
  const bool load = d.take("mbarrier::complete_tx::bytes");
  if (load == d.take("bulk_group")) return d.fail("completion by mbarrier or by bulk group is needed");
  // Destination first: shared::cluster.global, shared::cluster.shared::cta or global.shared::cta.
  const bool global = d.take("global");
  d.ignore({"shared::cluster", "shared::cta"});
  d.out().addresses.push_back(d.address(0));
  d.out().addresses.push_back(d.address(1));
  d.add(2, 4);
  if (load) {
    d.out().addresses.push_back(d.address(3));
    if (s.multicast) d.add(4, 2);
  }
  d.out().set(s);
  d.handler(!load ? bulk_store : global ? bulk_load_global : bulk_load_shared);
}

}  // namespace

bool decode_bulk_copy(InstructionDecoder& d) {
  if (d.name() != "cp" || !d.has("bulk")) return false;
  d.ignore({"async", "bulk"});
  const bool reduce = d.take("reduce");
  if (d.take("commit_group")) {
    d.handler(bulk_commit_group);
  } else if (d.take("wait_group")) {
    const auto allowed = d.integer(0);
    if (!allowed || *allowed < 0) { d.fail("the group count must be an immediate"); return true; }
    d.out().set(GroupSettings{static_cast<std::uint32_t>(*allowed), d.take("read")});
    d.handler(bulk_wait_group);
  } else if (d.take("prefetch")) {
    while (!d.modifiers().empty()) (void)d.take(d.modifiers().front());
    d.handler(nothing);
  } else if (d.take("tensor")) {
    if (reduce && !d.has("add")) { d.fail("reducing stores other than .add are not modelled"); return true; }
    decode_tensor(d);
  } else if (reduce) {
    d.fail("linear reducing copies are not modelled");
  } else {
    decode_linear(d);
  }
  return true;
}

}  // namespace mlaindex::emulator
