// Curves on logarithmic axes, as an SVG file.
#pragma once

#include <string>
#include <vector>

namespace mlaindex::tools {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

struct PlotSeries {
  std::string label;
  std::vector<PlotPoint> points;  // with x and y above zero: others are left out
  bool is_roof = false;           // dashed, no markers, the colour of the series before, not in the legend
};

struct PlotPanel {
  std::string title, x_label, y_label;
  std::vector<PlotSeries> series;
};

// The panels below each other. x is marked at powers of two, "64K" being 65536; y at 1, 2 and 5 of each
// decade. Text needs no escaping. A panel without points has axes and says so.
std::string svg_plot(const std::vector<PlotPanel>& panels);

}  // namespace mlaindex::tools
