#include "results/report/svg.h"

#include <algorithm>
#include <cmath>

#include "results/report/markup.h"

namespace assay::report {
namespace {

std::string attribute(std::string_view name, double value) {
  std::string out = " ";
  return out.append(name).append("=\"").append(number(value)).append("\"");
}

std::string attribute(std::string_view name, std::string_view value) {
  if (value.empty()) return "";
  std::string out = " ";
  return out.append(name).append("=\"").append(escape(value)).append("\"");
}

void finish_element(std::string& out, std::string_view element, std::string_view title) {
  if (title.empty()) {
    out += "/>";
    return;
  }
  out.append("><title>").append(escape(title)).append("</title></").append(element).append(">");
}

std::string pair(Point p) { return number(p.x) + " " + number(p.y); }

// Diagonal or crossed lines, dots: kinds differ in shape, not only in colour.
std::string hatch(std::string_view id, std::string_view content) {
  std::string out = "<pattern id=\"hatch-";
  return out.append(id)
      .append("\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">")
      .append(content)
      .append("</pattern>");
}

}  // namespace

std::string number(double x) {
  const double rounded = std::round(x * 10) / 10;
  return fixed(rounded, rounded == std::floor(rounded) ? 0 : 1);
}

double text_width(std::string_view text, double size) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  return 0.56 * size * static_cast<double>(characters);
}

Path& Path::move(Point p) {
  d_ += "M" + pair(p);
  return *this;
}
Path& Path::line(Point p) {
  d_ += "L" + pair(p);
  return *this;
}
Path& Path::curve(Point control1, Point control2, Point end) {
  d_ += "C" + pair(control1) + " " + pair(control2) + " " + pair(end);
  return *this;
}
Path& Path::box(const Box& box) {
  d_ += "M" + pair({box.x, box.y}) + "h" + number(box.width) + "v" + number(box.height) + "h" +
        number(-box.width) + "z";
  return *this;
}
Path& Path::close() {
  d_ += "z";
  return *this;
}

void Svg::box(const Box& box, std::string_view cls, std::string_view title, double radius) {
  body_ += "<rect" + attribute("x", box.x) + attribute("y", box.y) +
           attribute("width", std::max(0.0, box.width)) +
           attribute("height", std::max(0.0, box.height)) +
           (radius > 0 ? attribute("rx", radius) : "") + attribute("class", cls);
  finish_element(body_, "rect", title);
}

void Svg::line(Point from, Point to, std::string_view cls) {
  body_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) +
           attribute("y2", to.y) + attribute("class", cls) + "/>";
}

void Svg::path(const Path& path, std::string_view cls, std::string_view title) {
  if (path.empty()) return;
  body_ += "<path" + attribute("d", path.d()) + attribute("class", cls);
  finish_element(body_, "path", title);
}

void Svg::dot(Point center, double radius, std::string_view cls, std::string_view title) {
  body_ += "<circle" + attribute("cx", center.x) + attribute("cy", center.y) +
           attribute("r", radius) + attribute("class", cls);
  finish_element(body_, "circle", title);
}

void Svg::text(Point p, std::string_view text, std::string_view cls, std::string_view title) {
  body_ += "<text" + attribute("x", p.x) + attribute("y", p.y) + attribute("class", cls) + ">" +
           escape(text);
  if (!title.empty()) body_ += "<title>" + escape(title) + "</title>";
  body_ += "</text>";
}

std::string Svg::finish(double width, double height, std::string_view label) const {
  return "<svg viewBox=\"0 0 " + number(width) + " " + number(height) + "\" width=\"" +
         number(width) + "\" height=\"" + number(height) + "\" role=\"img\"" +
         attribute("aria-label", label) + ">" + body_ + "</svg>\n";
}

std::string svg_definitions() {
  std::string out =
      "<svg class=\"definitions\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>";
  out += hatch("partition", "<path class=\"h-partition\" d=\"M-2 2L2 -2M0 8L8 0M6 10L10 6\"/>");
  out += hatch("pause", "<path class=\"h-pause\" d=\"M2 0V8M6 0V8\"/>");
  out += hatch("kill", "<path class=\"h-kill\" d=\"M0 0L8 8M0 8L8 0\"/>");
  out += hatch("delay", "<path class=\"h-delay\" d=\"M0 8L8 0M-2 2L2 -2M6 10L10 6\" stroke-dasharray=\"2 2\"/>");
  out += hatch("starve", "<path class=\"h-starve\" d=\"M0 4H8\" stroke-dasharray=\"4 4\"/>");
  out += hatch("memory", "<path class=\"h-memory\" d=\"M0 4H8M4 0V8\"/>");
  out += hatch("clock", "<path class=\"h-clock\" d=\"M0 8L4 2L8 8\"/>");
  out += hatch("other", "<path class=\"h-other\" d=\"M0 2H8M0 6H8\"/>");
  out += hatch("info", "<path class=\"h-info\" d=\"M-2 2L2 -2M0 8L8 0M6 10L10 6\"/>");
  out +=
      "<marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path class=\"arrow-head\" d=\"M0 0L8 4L0 "
      "8z\"/></marker>";
  return out + "</defs></svg>\n";
}

}  // namespace assay::report
