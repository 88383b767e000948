// Rows of cells as text in aligned columns. Pure.
#pragma once

#include <string>
#include <vector>

namespace windrow::app {

// The first row is the heading, and has as many cells as the others. The first `left` columns are
// aligned at their left, those behind them, which are numbers, at their right. Each line ends with
// a line end.
std::string text_columns(const std::vector<std::vector<std::string>>& rows, size_t left);

}  // namespace windrow::app
