// A matrix of outcomes, as a stand-alone SVG: fits a README and a page.
#pragma once

#include <string>
#include <vector>

namespace assay {

struct MatrixCell {
  // yes: it goes on; no: it does not, rightly; off: not what was expected; none: there is no such cell.
  enum class Kind { kNone, kYes, kNo, kOff };
  Kind kind = Kind::kNone;
  std::string text;
  std::string title;  // what a pointer that rests on it shows
};

struct Matrix {
  std::string title;
  std::string columns_label;
  std::string rows_label;
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  std::vector<std::vector<MatrixCell>> cells;  // by row, then by column
  std::vector<std::string> notes;              // lines below it
};

// A figure that is fit for both light and dark pages; it needs nothing outside of itself.
std::string matrix_svg(const Matrix& matrix);
// The same as a table in Markdown; what was not expected is in bold.
std::string matrix_text(const Matrix& matrix);

}  // namespace assay
