#include "results/report/matrix.h"

#include "results/report/svg.h"

namespace assay::matrix_drawing {
namespace {

using report::Box;
using report::Svg;

constexpr double kCellWidth = 140, kCellHeight = 34, kLeft = 84, kTop = 72;

constexpr std::string_view kStyle = R"css(<style>
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #56616c; }
.title { font-size: 14px; font-weight: 600; } .end { text-anchor: end; } .mid { text-anchor: middle; }
.yes { fill: #009e73; fill-opacity: 0.22; } .no { fill: #8d98a4; fill-opacity: 0.22; }
.off { fill: #d55e00; fill-opacity: 0.45; }
</style>
)css";

std::string_view class_of(MatrixCell::Kind kind) {
  switch (kind) {
    case MatrixCell::Kind::kYes:
      return "yes";
    case MatrixCell::Kind::kNo:
      return "no";
    default:
      return "off";
  }
}

}  // namespace
}  // namespace assay::matrix_drawing

namespace assay {

std::string matrix_svg(const Matrix& matrix) {
  using namespace matrix_drawing;
  Svg svg;
  svg.text({kLeft, 18}, matrix.title, "title");
  svg.text({kLeft, 40}, matrix.columns_label, "");
  for (size_t column = 0; column < matrix.columns.size(); ++column)
    svg.text({kLeft + kCellWidth * (static_cast<double>(column) + 0.5), kTop - 8},
             matrix.columns[column], "mid");
  svg.text({kLeft - 10, kTop - 8}, matrix.rows_label, "end");
  for (size_t row = 0; row < matrix.rows.size(); ++row) {
    const double y = kTop + kCellHeight * static_cast<double>(row);
    svg.text({kLeft - 10, y + kCellHeight / 2 + 4}, matrix.rows[row], "end");
    for (size_t column = 0; column < matrix.cells[row].size(); ++column) {
      const MatrixCell& cell = matrix.cells[row][column];
      if (cell.kind == MatrixCell::Kind::kNone) continue;
      const double x = kLeft + kCellWidth * static_cast<double>(column);
      svg.box(Box{x + 1, y + 1, kCellWidth - 2, kCellHeight - 2}, class_of(cell.kind), cell.title, 3);
      svg.text({x + kCellWidth / 2, y + kCellHeight / 2 + 4}, cell.text, "mid", cell.title);
    }
  }
  double y = kTop + kCellHeight * static_cast<double>(matrix.rows.size()) + 20;
  for (const std::string& note : matrix.notes) {
    svg.text({kLeft, y}, note, "");
    y += 18;
  }
  const double width = kLeft + kCellWidth * static_cast<double>(matrix.columns.size()) + 12;
  std::string text = svg.finish(width, y, matrix.title);
  const size_t inside = text.find('>') + 1;
  text.insert(inside, "\n" + std::string(kStyle));
  if (text.find("xmlns=") > inside) text.insert(4, " xmlns=\"http://www.w3.org/2000/svg\"");
  return text;
}

std::string matrix_text(const Matrix& matrix) {
  std::string text = matrix.title + "\n\n| " + matrix.rows_label + " |";
  for (const std::string& column : matrix.columns) text += " " + column + " |";
  text += "\n|---|";
  for (size_t i = 0; i < matrix.columns.size(); ++i) text += "---|";
  for (size_t row = 0; row < matrix.rows.size(); ++row) {
    text += "\n| " + matrix.rows[row] + " |";
    for (const MatrixCell& cell : matrix.cells[row])
      text += " " + (cell.kind == MatrixCell::Kind::kOff ? "**" + cell.text + "**" : cell.text) + " |";
  }
  text += "\n\n" + matrix.columns_label + "\n";
  for (const std::string& note : matrix.notes) text += note + "\n";
  return text;
}

}  // namespace assay
