#include "tools/bench/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "generator/base/format.h"

namespace mlaindex::tools {
namespace {

// Pixels: the frame of a panel and what is around it.
constexpr double frame_left = 80, frame_top = 40, frame_width = 560, frame_height = 340;
constexpr double panel_height = 450, legend_width = 200;
constexpr double total_width = frame_left + frame_width + legend_width;

// Okabe and Ito's colours, which the colour-blind tell apart; yellow left out.
constexpr std::array<const char*, 7> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#56b4e9", "#e69f00", "#000000"};

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

bool is_drawn(const PlotPoint& point) {
  return point.x > 0 && point.y > 0 && std::isfinite(point.x) && std::isfinite(point.y);
}

// A logarithmic axis: values to pixels.
struct Axis {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  double begin = 0, end = 0;

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double at(double value) const { return begin + (end - begin) * std::log(value / low) / std::log(high / low); }
};

// "65536" as "64K", "1048576" as "1M".
std::string binary_text(double value) {
  constexpr double k = 1024;
  if (value >= k * k) return fmt::format("{:g}M", value / k / k);
  return value >= k ? fmt::format("{:g}K", value / k) : fmt::format("{:g}", value);
}

std::vector<double> ticks_of_two(const Axis& axis) {
  constexpr double most_ticks = 12;
  const double step = std::exp2(std::ceil(std::log2(axis.high / axis.low) / most_ticks));
  std::vector<double> ticks;
  for (double tick = std::exp2(std::ceil(std::log2(axis.low) - 1e-9)); tick <= axis.high * 1.0001; tick *= step) {
    ticks.push_back(tick);
  }
  return ticks;
}

std::vector<double> decimal_ticks(const Axis& axis) {
  std::vector<double> ticks;
  for (double decade = std::pow(10.0, std::floor(std::log10(axis.low))); decade <= axis.high; decade *= 10) {
    for (double tick : {decade, 2 * decade, 5 * decade}) {
      if (tick >= axis.low * 0.9999 && tick <= axis.high * 1.0001) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

std::string line_at(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

std::string axes(const PlotPanel& panel, const Axis& x, const Axis& y) {
  constexpr std::string_view grid = "stroke=\"#dddddd\"";
  std::string svg;
  for (double tick : ticks_of_two(x)) {
    svg += line_at(x.at(tick), y.begin, x.at(tick), y.end, grid) +
           text_at(x.at(tick), y.begin + 18, "middle", binary_text(tick));
  }
  for (double tick : decimal_ticks(y)) {
    svg += line_at(x.begin, y.at(tick), x.end, y.at(tick), grid) +
           text_at(x.begin - 8, y.at(tick) + 4, "end", fmt::format("{:g}", tick));
  }
  svg += text_at((x.begin + x.end) / 2, y.begin + 38, "middle", panel.x_label);
  svg += fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", 18.0,
                     (y.begin + y.end) / 2, escaped(panel.y_label));
  return svg;
}

std::string curve(const PlotSeries& series, const char* colour, const Axis& x, const Axis& y) {
  std::string path, markers;
  for (const PlotPoint& point : series.points) {
    if (!is_drawn(point)) continue;
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x.at(point.x), y.at(point.y));
    markers += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x.at(point.x), y.at(point.y), colour);
  }
  if (path.empty()) return {};
  const std::string line = fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"{}/>\n", path,
                                       colour, series.is_roof ? " stroke-dasharray=\"5 4\"" : "");
  return series.is_roof ? line : line + markers;
}

// The ranges of the points with some room around them.
std::pair<Axis, Axis> axes_of(const PlotPanel& panel, double top) {
  Axis x, y;
  for (const PlotSeries& series : panel.series) {
    for (const PlotPoint& point : series.points) {
      if (!is_drawn(point)) continue;
      x.take(point.x);
      y.take(point.y);
    }
  }
  if (x.high == 0) x.take(1), y.take(1);
  x = {x.low / 1.2, x.high * 1.2, frame_left, frame_left + frame_width};
  y = {y.low / 1.5, y.high * 1.5, top + frame_top + frame_height, top + frame_top};
  return {x, y};
}

std::string panel_svg(const PlotPanel& panel, double top) {
  const auto [x, y] = axes_of(panel, top);
  std::string svg = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>\n", frame_left,
                                top + frame_top - 14, escaped(panel.title));
  svg += axes(panel, x, y);
  svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#555555\"/>\n",
                     frame_left, top + frame_top, frame_width, frame_height);
  std::size_t coloured = 0;
  bool any = false;
  double legend_y = top + frame_top + 12;
  for (const PlotSeries& series : panel.series) {
    if (!series.is_roof) ++coloured;
    const char* colour = colours[(std::max<std::size_t>(coloured, 1) - 1) % colours.size()];
    const std::string drawn = curve(series, colour, x, y);
    any = any || !drawn.empty();
    svg += drawn;
    if (series.is_roof) continue;
    svg += line_at(x.end + 14, legend_y - 4, x.end + 34, legend_y - 4, fmt::format("stroke=\"{}\" stroke-width=\"2\"", colour));
    svg += text_at(x.end + 40, legend_y, "start", series.label);
    legend_y += 18;
  }
  if (!any) svg += text_at((x.begin + x.end) / 2, (y.begin + y.end) / 2, "middle", "no points");
  return svg;
}

}  // namespace

std::string svg_plot(const std::vector<PlotPanel>& panels) {
  const double height = panel_height * static_cast<double>(std::max<std::size_t>(panels.size(), 1));
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      total_width, height);
  double top = 0;
  for (const PlotPanel& panel : panels) {
    svg += panel_svg(panel, top);
    top += panel_height;
  }
  return svg + "</svg>\n";
}

}  // namespace mlaindex::tools
