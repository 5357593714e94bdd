// Rule "transaction_bytes".
#include "generator/ptx/instruction_kinds.h"
#include "generator/ptx/verify_rules.h"

namespace mlaindex::ptx {
namespace {

bool expects_bytes(const Instruction& instruction) {
  return instruction.opcode.name == "mbarrier" && instruction.opcode.has("expect_tx");
}

const Address* first_address(const Instruction& instruction, std::size_t from) {
  for (std::size_t i = from; i < instruction.operands.size(); ++i)
    if (const auto* address = instruction.operands[i].as<Address>()) return address;
  return nullptr;
}

class Transactions {
 public:
  explicit Transactions(Examination& examination) : examination_(examination) {}

  void check(std::uint32_t expecting) {
    const Instruction& instruction = examination_.at(expecting);
    const auto expected = examination_.values.constant(instruction.operands.back());
    const Address* barrier = first_address(instruction, 0);
    if (!expected || !barrier || !collect_loads(expecting, *barrier) || loads_.empty()) return;
    if (more_loads_follow()) return;
    std::uint64_t bytes = 0;
    for (std::uint32_t load : loads_) {
      const auto parameter = examination_.values.tensor_map_parameter(examination_.at(load));
      const auto& boxes = examination_.context.tensor_map_box_bytes;
      const auto box = parameter ? boxes.find(*parameter) : boxes.end();
      if (box == boxes.end()) return;
      bytes += box->second;
    }
    if (bytes != *expected)
      examination_.report("transaction_bytes", instruction,
                          "expects " + std::to_string(*expected) + " bytes, the " +
                              std::to_string(loads_.size()) + " loads that follow bring " + std::to_string(bytes));
  }

 private:
  // The loads on this barrier in the straight line of code behind `expecting`. False when a load
  // there counts on another barrier.
  bool collect_loads(std::uint32_t expecting, const Address& barrier) {
    loads_.clear();
    std::uint32_t node = expecting;
    while (examination_.flow.successors(node).size() == 1) {
      node = examination_.flow.successors(node)[0];
      if (node >= examination_.size() || node <= expecting || expects_bytes(examination_.at(node))) break;
      if (!is_tma_load(examination_.at(node))) continue;
      const Address* counted = first_address(examination_.at(node), 2);
      if (!counted || !(*counted == barrier)) return false;
      loads_.push_back(node);
    }
    return true;
  }

  // Whether a branch leads to other loads before the next expectation, so that the sum is not known.
  bool more_loads_follow() const {
    const std::vector<bool> reached = examination_.flow.reachable(
        loads_.back(), [&](std::uint32_t node) { return expects_bytes(examination_.at(node)); });
    for (std::uint32_t node = 0; node < examination_.size(); ++node)
      if (reached[node] && is_tma_load(examination_.at(node))) return true;
    return false;
  }

  Examination& examination_;
  std::vector<std::uint32_t> loads_;
};

}  // namespace

void check_transactions(Examination& examination) {
  if (examination.context.tensor_map_box_bytes.empty()) return;
  Transactions transactions(examination);
  for (std::uint32_t i = 0; i < examination.size(); ++i)
    if (expects_bytes(examination.at(i)) && !examination.at(i).operands.empty()) transactions.check(i);
}

}  // namespace mlaindex::ptx
