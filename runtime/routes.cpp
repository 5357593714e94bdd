#include "runtime/routes.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "generator/base/format.h"

namespace mlaindex {

Routes::Routes(const Config& config, const Log& log) : path_(config.routes_path.string()) {
  if (path_.empty()) return;
  Result<RouteTable> table = read_route_table(path_);
  if (table) own_ = *std::move(table);
  else log.warn_once(path_, "the shipped route tables are used: " + table.error().text());
}

const RouteTable& Routes::table(Arch arch) const {
  return own_ && own_->arch == arch ? *own_ : shipped_route_table(arch);
}

std::string Routes::origin(Arch arch) const { return own_ && own_->arch == arch ? path_ : "shipped"; }

Result<RouteTable> read_route_table(const std::string& path) {
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // an iterator over the file would throw where a read fails
  if (!std::filesystem::is_regular_file(path, error) || !file || file.bad()) {
    return Error{ErrorCode::invalid_file, fmt::format("'{}' cannot be read", path), "give a file that 'mlaindex tune' wrote"};
  }
  return parse_route_table(text.str(), path);
}

Result<Plan> find_plan(const Spec& spec, std::string_view name, const ProblemSize& size, const Routes& routes) {
  if (name.empty()) {
    Result<Route> chosen = choose_route(spec, size, routes.table(spec.arch));
    if (!chosen) return chosen.error();
    return std::move(chosen->plan);
  }
  Result<Plan> plan = make_plan(spec, name);
  if (!plan) return plan;
  if (Status runs = check_plan(*plan, spec.arch); !runs) return runs.error();
  return plan;
}

}  // namespace mlaindex
