#include "cli/report/plot.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cli/report/html.h"

namespace torchlet::cli::report {

std::vector<double> ticks(double low, double high, int parts) {
  constexpr size_t kMost = 50;
  const double rough = (high - low) / parts;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (rough <= factor * power) step = factor * power;
  }
  std::vector<double> all;
  for (double k = std::ceil(low / step); k * step <= high && all.size() < kMost; ++k) {
    all.push_back(k * step);
  }
  return all;
}

namespace {

constexpr double kWidth = 900, kHeight = 280, kLeft = 64, kRight = 12, kTop = 12, kBottom = 44;

// From numbers to places in the picture.
class Frame {
 public:
  Frame(double x0, double x1, double y0, double y1) : x0_(x0), x1_(x1), y0_(y0), y1_(y1) {
    if (!(x1_ > x0_)) x1_ = x0_ + 1;
    if (!(y1_ > y0_)) y1_ = y0_ + 1;
  }
  double x(double value) const {
    return kLeft + (value - x0_) / (x1_ - x0_) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    const double part = (std::clamp(value, y0_, y1_) - y0_) / (y1_ - y0_);
    return kHeight - kBottom - part * (kHeight - kTop - kBottom);
  }

  std::string begin(const Axes& axes) const {
    std::string svg = format(
        "<svg viewBox=\"0 0 %g %g\" width=\"%g\" xmlns=\"http://www.w3.org/2000/svg\" "
        "font-size=\"11\" fill=\"#555\">\n",
        kWidth, kHeight, kWidth);
    for (const double at : ticks(y0_, y1_, 5)) {
      svg += line(kLeft, y(at), kWidth - kRight, y(at), "#e4e4e4", "grid");
      svg += text(kLeft - 6, y(at) + 4, "end", format("%g", at));
    }
    for (const double at : ticks(x0_, x1_, 10)) {
      svg += line(x(at), kHeight - kBottom, x(at), kHeight - kBottom + 4, "#999");
      svg += text(x(at), kHeight - kBottom + 16, "middle", format("%g", at));
    }
    svg += text((kLeft + kWidth) / 2, kHeight - 8, "middle", axes.x);
    svg += format("<g transform=\"translate(14 %g) rotate(-90)\">", (kHeight - kBottom) / 2) +
           text(0, 0, "middle", axes.y) + "</g>\n";
    if (axes.level && *axes.level >= y0_ && *axes.level <= y1_) {
      svg += line(kLeft, y(*axes.level), kWidth - kRight, y(*axes.level), "#c33");
    }
    return svg;
  }

  static std::string line(double x0, double y0, double x1, double y1, const char* colour,
                          const char* style = "") {
    return format(
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\" stroke=\"%s\"/>\n", x0,
        y0, x1, y1, style, colour);
  }
  static std::string text(double x, double y, const char* anchor, const std::string& what) {
    return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escape(what) +
           "</text>\n";
  }

 private:
  double x0_, x1_, y0_, y1_;
};

}  // namespace

std::string line_plot(const Axes& axes, const std::vector<Point>& points) {
  double low = 0, high = axes.level.value_or(0);
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) continue;
    low = std::min(low, point.y);
    high = std::max(high, point.y);
  }
  // What is infinite lies above all others.
  const Frame frame(0, static_cast<double>(points.size()), low, high > low ? high * 1.08 : low + 1);
  std::string svg = frame.begin(axes), path, dots;
  for (size_t i = 0; i < points.size(); ++i) {
    const double x = frame.x(static_cast<double>(i) + 0.5);
    const double y = frame.y(std::isnan(points[i].y) ? low : points[i].y);
    path += format("%.1f,%.1f ", x, y);
    dots += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"><title>", x, y,
                   points[i].is_marked ? "5" : "3", points[i].is_marked ? "#c33" : "#36c") +
            escape(points[i].label) + "</title></circle>\n";
  }
  return svg + "<polyline fill=\"none\" stroke=\"#9bd\" points=\"" + path + "\"/>\n" + dots +
         "</svg>\n";
}

std::string histogram_plot(const Axes& axes, const Histogram& histogram) {
  double most = 0;
  for (const double count : histogram.counts) most = std::max(most, count);
  const Frame frame(histogram.low, histogram.high, 0, most * 1.05);
  std::string svg = frame.begin(axes);
  const double bin =
      (histogram.high - histogram.low) / static_cast<double>(histogram.counts.size());
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    const double left = histogram.low + static_cast<double>(i) * bin;
    const double x = frame.x(left), y = frame.y(histogram.counts[i]);
    svg += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"#36c\">", x, y,
                  std::max(frame.x(left + bin) - x - 0.3, 0.3), frame.y(0) - y) +
           "<title>" + escape(format("%.4g to %.4g: %g", left, left + bin, histogram.counts[i])) +
           "</title></rect>\n";
  }
  for (const double mark : histogram.marks) {
    if (mark < histogram.low || mark > histogram.high) continue;
    svg += Frame::line(frame.x(mark), kTop, frame.x(mark), kHeight - kBottom, "#c33");
  }
  return svg + "</svg>\n";
}

}  // namespace torchlet::cli::report
