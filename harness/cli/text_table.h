// A table as people read it or, where that is wider than the terminal, a paragraph for each row.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace proctor::cli {

using TextRow = std::vector<std::string>;  // the first column names the row

// Of the terminal on stdout; 0: it is none.
std::size_t columns_of_stdout();

// `rows` are as long as `headings`; an empty cell is shown as "-". `columns` 0: of any width.
std::string text_table(const TextRow& headings, std::vector<TextRow> rows, std::size_t columns);

}  // namespace proctor::cli
