#include "generator/route_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

#include "generator/base/format.h"
#include "generator/plan.h"
#include "generator/templates.h"

namespace mlaindex {
namespace {

constexpr std::string_view format_line = "mlaindex-routes 1";
constexpr double most_microseconds = 1e9;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Goes through the lines; every function gives the error of the line it is at.
class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

  Result<RouteTable> parse() {
    if (!next_line() || line_ != format_line) return wrong("the first line", fmt::format("expected '{}'", format_line));
    if (Status arch = read_arch(); !arch) return arch.error();
    if (Status gpu = read_gpu(); !gpu) return gpu.error();
    while (next_line()) {
      if (Status row = read_row(); !row) return row.error();
    }
    return std::move(table_);
  }

 private:
  // The next line that is neither blank nor a comment.
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
      ++number_;
      words_ = words_of(line_.substr(0, line_.find('#')));
      if (!words_.empty()) return true;
    }
    line_ = {};
    words_.clear();
    return false;
  }

  Error wrong(std::string_view what, std::string hint) const {
    return {ErrorCode::invalid_file, fmt::format("{}:{}: {}, in '{}'", name_, number_, what, line_), std::move(hint)};
  }

  Status read_arch() {
    if (!next_line() || words_[0] != "arch" || words_.size() != 2) return wrong("no arch", "expected 'arch sm_90a' or 'arch sm_100a'");
    const Result<Arch> arch = parse_arch(words_[1]);
    if (!arch) return wrong(arch.error().message, arch.error().hint);
    table_.arch = *arch;
    return {};
  }

  Status read_gpu() {
    if (!next_line() || (words_[0] != "measured" && words_[0] != "predicted") || words_.size() < 2)
      return wrong("no GPU", "expected 'measured GPU' or 'predicted GPU', with the GPU's name");
    table_.measured = words_[0] == "measured";
    table_.gpu = fmt::format("{}", fmt::join(words_.begin() + 1, words_.end(), " "));
    return {};
  }

  Status read_row() {
    constexpr std::size_t numbers = 5;
    RouteRow row;
    const Result<Layout> layout = parse_layout(words_[0]);
    if (!layout) return wrong(layout.error().message, layout.error().hint);
    if (words_.size() < 2 + numbers) {
      return wrong(fmt::format("{} words", words_.size()),
                   "expected: layout, heads, depth, requests, tokens, keys, then PLAN=MICROSECONDS once or more");
    }
    row.layout = *layout;
    int* const fields[numbers] = {&row.padded_heads, &row.depth, &row.point.requests, &row.point.tokens, &row.point.keys};
    for (std::size_t i = 0; i < numbers; ++i) {
      if (!read_number(words_[i + 1], *fields[i]) || *fields[i] < 1)
        return wrong(fmt::format("'{}'", words_[i + 1]), "allowed: whole numbers from 1 to 2147483647");
    }
    if (row.padded_heads > max_num_heads || padded_heads(row.padded_heads) != row.padded_heads)
      return wrong(fmt::format("{} heads", row.padded_heads), "allowed: 4, 8, 16, 32, 64, 128");
    if (row.depth != 32 && row.depth != 64 && row.depth != 128)
      return wrong(fmt::format("depth {}", row.depth), "allowed: 32, 64, 128");
    if (row.layout == Layout::contiguous && row.point.requests != 1)
      return wrong(fmt::format("{} requests with contiguous keys", row.point.requests), "allowed: 1");
    for (std::size_t i = 1 + numbers; i < words_.size(); ++i) {
      if (Status time = read_time(words_[i], row); !time) return time;
    }
    table_.rows.push_back(std::move(row));
    return {};
  }

  Status read_time(std::string_view word, RouteRow& row) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view plan = word.substr(0, equals);
    const std::vector<std::string_view> allowed = routable_plans(table_.arch, row.layout);
    if (std::find(allowed.begin(), allowed.end(), plan) == allowed.end())
      return wrong(fmt::format("no plan '{}' for {} and {} keys", plan, arch_name(table_.arch), layout_name(row.layout)),
                   fmt::format("allowed: {}", fmt::join(allowed, ", ")));
    if (std::any_of(row.times.begin(), row.times.end(), [&](const PlanTime& time) { return time.plan == plan; }))
      return wrong(fmt::format("plan '{}' twice", plan), "allowed: once");
    double microseconds = 0;
    const bool is_number = equals < word.size() && read_number(word.substr(equals + 1), microseconds);
    if (!is_number || !(microseconds > 0 && microseconds <= most_microseconds))
      return wrong(fmt::format("'{}'", word), "expected PLAN=MICROSECONDS, above 0 and up to 1e9");
    row.times.push_back({std::string(plan), microseconds});
    return {};
  }

  std::string_view rest_;
  std::string_view name_;
  std::string_view line_;
  std::vector<std::string_view> words_;
  int number_ = 0;
  RouteTable table_;
};

// How many times one is the other, 1 or more.
double ratio(int one, int other) noexcept {
  return static_cast<double>(std::max(one, other)) / static_cast<double>(std::max(1, std::min(one, other)));
}

// Tokens of a request in steps of 64 columns, the least that a plan computes at a time.
int token_steps(int tokens, int padded_heads) noexcept {
  return static_cast<int>((static_cast<long long>(tokens) * padded_heads + 63) / 64);
}

// Keys for each place in the tiles of 256 that they take.
double fill_of_tiles(int keys) noexcept {
  constexpr long long tile = 256;
  return static_cast<double>(keys) / static_cast<double>((keys + tile - 1) / tile * tile);
}

// In factors of two. Where tokens fill more columns, times go up in steps, and of paged keys what plans differ by is how
// they fill them. Of contiguous keys the plans differ by how full the tiles of resident keys are.
double distance(const RouteRow& row, int padded_heads, const RoutePoint& point) noexcept {
  constexpr double steps_of_paged = 10, fills = 2;
  const double steps =
      std::log2(ratio(token_steps(row.point.tokens, padded_heads), token_steps(point.tokens, padded_heads)));
  const double keys = std::log2(ratio(row.point.keys, point.keys));
  if (row.layout == Layout::paged)
    return steps_of_paged * steps + keys + std::log2(ratio(row.point.requests, point.requests));
  return steps + keys + fills * std::abs(std::log2(fill_of_tiles(row.point.keys) / fill_of_tiles(point.keys)));
}

double weight_at(double distance) noexcept {
  constexpr double nearest = 0.05;  // times that near are not told apart
  return 1 / ((distance + nearest) * (distance + nearest));
}

std::string counted(int count, std::string_view noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"); }

RouteTable parse_shipped(Arch arch) {
  const std::string name = fmt::format("{}.routes", arch_name(arch));
  for (const Template& file : all_route_tables()) {
    if (file.path != name) continue;
    Result<RouteTable> table = parse_route_table(file.text, name);
    if (table && table->arch == arch) return *std::move(table);
  }
  return {arch, true, "", {}};  // not with a tested build: tests read every file
}

}  // namespace

Result<RouteTable> parse_route_table(std::string_view text, std::string_view name) { return Parser(text, name).parse(); }

std::string to_string(const RouteTable& table) {
  std::string text = fmt::format("{}\narch {}\n{} {}\n", format_line, arch_name(table.arch),
                                 table.measured ? "measured" : "predicted", table.gpu);
  if (table.rows.empty()) return text;
  text += "# layout  heads  depth  requests  tokens     keys  microseconds\n";
  for (const RouteRow& row : table.rows) {
    text += fmt::format("{:<10} {:>4} {:>6} {:>9} {:>7} {:>8}", layout_name(row.layout), row.padded_heads, row.depth,
                        row.point.requests, row.point.tokens, row.point.keys);
    for (const PlanTime& time : row.times) text += fmt::format("  {}={}", time.plan, time.microseconds);
    text += '\n';
  }
  return text;
}

std::vector<NearRow> near_rows(const RouteTable& table, const Spec& spec, const RoutePoint& point) {
  struct Candidate {
    const RouteRow* row = nullptr;
    double heads = 0, depth = 0, distance = 0;

    bool operator<(const Candidate& other) const noexcept {
      return std::tie(heads, depth, distance) < std::tie(other.heads, other.depth, other.distance);
    }
  };
  const int heads = padded_heads(spec.num_heads);
  Candidate first, second;
  for (const RouteRow& row : table.rows) {
    if (row.layout != spec.layout) continue;
    Candidate candidate{&row, ratio(row.padded_heads, heads), ratio(row.depth, spec.depth)};
    if (second.row != nullptr && candidate.heads > second.heads) continue;  // most of a large table
    candidate.distance = distance(row, heads, point);
    if (first.row == nullptr || candidate < first) std::swap(first, candidate);
    if (candidate.row != nullptr && (second.row == nullptr || candidate < second)) second = candidate;
  }
  if (first.row == nullptr) return {};
  const bool alike = second.row != nullptr && first.heads == second.heads && first.depth == second.depth;
  if (first.distance == 0 || !alike) return {{first.row, 1}};
  return {{first.row, weight_at(first.distance)}, {second.row, weight_at(second.distance)}};
}

std::string describe(Layout layout, const RoutePoint& point) {
  const std::string size = fmt::format("{} x {}", counted(point.tokens, "token"), counted(point.keys, "key"));
  return layout == Layout::paged ? fmt::format("{} x {}", counted(point.requests, "request"), size) : size;
}

const RouteTable& shipped_route_table(Arch arch) {
  static const RouteTable sm_90a = parse_shipped(Arch::sm_90a);
  static const RouteTable sm_100a = parse_shipped(Arch::sm_100a);
  return arch == Arch::sm_90a ? sm_90a : sm_100a;
}

}  // namespace mlaindex
