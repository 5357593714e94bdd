#include "tools/model_report.h"

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

using model::LoopCosts;
using model::PipeClocks;
using model::Prediction;
using model::TileClocks;

std::string opcodes_text(const LoopCosts& loop) {
  constexpr std::size_t shown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, loop.opcodes.size()); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", loop.opcodes[i].count, loop.opcodes[i].opcode);
  return loop.opcodes.size() > shown ? text + ", ..." : text;
}

std::string microseconds_text(double microseconds) {
  return fmt::format("{:.{}f} us", microseconds, microseconds < 10 ? 2 : microseconds < 100 ? 1 : 0);
}

Json clocks_json(const PipeClocks& clocks) {
  return {{"issue", clocks.issue}, {"alu", clocks.alu}, {"fma", clocks.fma}, {"lsu", clocks.lsu}, {"uniform", clocks.uniform}};
}

}  // namespace

std::string model_text(const model::Gpu& gpu) {
  return fmt::format("{}: {}", gpu.name,
                     gpu.calibrated ? "fitted to times measured on it (docs/measurements.md, \"Cycle model\")"
                                    : "published rates and the H200's constants; nobody has timed it");
}

void print_loop(Output& output, const LoopCosts& loop, const model::Gpu& gpu) {
  output.row("model", model_text(gpu));
  const double fold = loop.fold.issue, all = fold + loop.other.issue;
  output.row("loop", fmt::format("a warp's pass: {:.0f} instructions, {:.0f} of them the fold, for {} relu elements a thread:\n"
                                 "{:.2f} issue slots an element\n{}",
                                 all, fold, loop.elements, loop.slots_per_element(), opcodes_text(loop)));
}

Json loop_json(const LoopCosts& loop) {
  Json opcodes = Json::object();
  for (const model::OpcodeCount& one : loop.opcodes) opcodes[one.opcode] = one.count;
  return {{"elements", loop.elements}, {"issue_slots", loop.fold.issue + loop.other.issue},
          {"slots_per_element", loop.slots_per_element()}, {"fold", clocks_json(loop.fold)},
          {"other", clocks_json(loop.other)}, {"opcodes", std::move(opcodes)}};
}

void print_prediction(Output& output, const Prediction& prediction) {
  const TileClocks& tile = prediction.tile;
  output.row("tile", fmt::format("{:.0f} clocks from one to the next; tensor pipe {:.0f}, issue slots {:.0f}, FMA pipe {:.0f},\n"
                                 "ALU pipe {:.0f}, LSU pipe {:.0f}, uniform pipe {:.0f}, shared memory {:.0f}",
                                 tile.time, tile.tensor, tile.warps.issue, tile.warps.fma, tile.warps.alu, tile.warps.lsu,
                                 tile.warps.uniform, tile.shared_memory));
  const model::TileShares& shares = prediction.shares;
  output.row("work", fmt::format("{} tile(s) for {} CTA(s) at a time; {} of them, in {} token block(s), for the busiest",
                                 shares.total.tiles, shares.ctas, shares.longest.tiles, shares.longest.blocks));
  output.row("time", fmt::format("{}, {:.0f} TFLOP/s at {:.2f} GHz", microseconds_text(prediction.microseconds),
                                 prediction.teraflops, prediction.gigahertz));
  const model::Term& first = prediction.terms[0];
  const model::Term& second = prediction.terms[1];
  std::string text = fmt::format("{} ({}), then {} ({:.0f} % of that)", limiter_name(first.limiter),
                                 microseconds_text(first.microseconds), limiter_name(second.limiter),
                                 100 * second.microseconds / first.microseconds);
  for (std::size_t i = 2; i < prediction.terms.size(); ++i) {
    const model::Term& term = prediction.terms[i];
    text += fmt::format("{}{} {}", i % 5 == 2 ? "\n" : ", ", limiter_name(term.limiter), microseconds_text(term.microseconds));
  }
  output.row("limits", text);
}

Json prediction_json(const Prediction& prediction) {
  Json terms = Json::object();
  for (const model::Term& term : prediction.terms) terms[std::string(limiter_name(term.limiter))] = term.microseconds;
  Json tile = clocks_json(prediction.tile.warps);
  tile["tensor"] = prediction.tile.tensor;
  tile["shared_memory"] = prediction.tile.shared_memory;
  tile["time"] = prediction.tile.time;
  const model::TileShares& shares = prediction.shares;
  return {{"us", prediction.microseconds}, {"tflops", prediction.teraflops}, {"gigahertz", prediction.gigahertz},
          {"limiter", limiter_name(prediction.terms[0].limiter)}, {"next", limiter_name(prediction.terms[1].limiter)},
          {"terms_us", std::move(terms)}, {"tile_clocks", std::move(tile)},
          {"work", {{"tiles", shares.total.tiles}, {"ctas", shares.ctas}, {"longest_tiles", shares.longest.tiles},
                    {"longest_blocks", shares.longest.blocks}, {"visible_pairs", shares.pairs}}}};
}

}  // namespace mlaindex::tools
