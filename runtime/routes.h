// The route tables in effect: those of the library, and the user's own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "generator/route.h"
#include "generator/route_table.h"
#include "runtime/config.h"
#include "runtime/log.h"

namespace mlaindex {

class Routes {
 public:
  // A table of config.routes_path stands in for the shipped one of its arch. One that cannot be used is a warning of
  // the log, once, and the shipped one is in effect.
  Routes(const Config& config, const Log& log);

  const RouteTable& table(Arch arch) const;
  std::string origin(Arch arch) const;  // "shipped", or the path

 private:
  std::string path_;
  std::optional<RouteTable> own_;
};

// Errors: invalid_file, with the path.
Result<RouteTable> read_route_table(const std::string& path);

// The plan of that name, or of no name the route's choice. Checked.
Result<Plan> find_plan(const Spec& spec, std::string_view name, const ProblemSize& size, const Routes& routes);

}  // namespace mlaindex
