// Svg: a drawing as text, put together from a few shapes. Colours are the style sheet's (classes),
// so that one drawing serves light, dark and print. Numbers are short, text is escaped.
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

struct Point {
  double x = 0;
  double y = 0;
};
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// The d of a <path>.
class Path {
 public:
  Path& move(Point p);
  Path& line(Point p);
  Path& curve(Point control1, Point control2, Point end);
  Path& box(const Box& box);
  Path& close();
  bool empty() const { return d_.empty(); }
  const std::string& d() const { return d_; }

 private:
  std::string d_;
};

class Svg {
 public:
  // `title` is what a pointer that rests on the shape shows; empty: none.
  void box(const Box& box, std::string_view cls, std::string_view title = {}, double radius = 0);
  void line(Point from, Point to, std::string_view cls);
  void path(const Path& path, std::string_view cls, std::string_view title = {});
  void dot(Point center, double radius, std::string_view cls, std::string_view title = {});
  // p is the start of the base line; classes "end" and "mid" anchor it otherwise.
  void text(Point p, std::string_view text, std::string_view cls, std::string_view title = {});

  size_t size() const { return body_.size(); }

  // The element; `label` says what it shows to those who cannot see it.
  std::string finish(double width, double height, std::string_view label) const;

 private:
  std::string body_;
};

// Hatchings and arrow heads, by id "hatch-partition" and so on: once per page, before the drawings.
std::string svg_definitions();

// About as wide as the text will be in the drawings' font of so many px.
double text_width(std::string_view text, double size = 11);

std::string number(double x);  // at most one decimal

}  // namespace assay::report
