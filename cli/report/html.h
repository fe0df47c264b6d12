// Pages that commands write: one HTML file each, which shows everything without a network.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchlet::cli::report {

// As text of HTML, also inside of a quoted attribute. What is no UTF-8, or no character that HTML
// can hold, becomes U+FFFD.
std::string escape(std::string_view text);

// A cell of a table. Texts everywhere here are plain and escaped when they are written.
struct Cell {
  std::string text;
  // By what a column of numbers is sorted; the text itself if it is no number.
  double order = 0;
};
struct Column {
  std::string title;
  bool is_number = false;  // aligned to the right, and sorted by Cell::order
  bool is_short = false;   // text that stays on one line
};

// A click on a column's title sorts the rows.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns. A row that is marked stands out.
  void add(std::vector<Cell> cells, bool is_marked = false);
  bool empty() const { return rows_.empty(); }
  std::string html() const;

 private:
  struct Row {
    std::vector<Cell> cells;
    bool is_marked;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}
  void heading(std::string_view text);
  void paragraph(std::string_view text);
  // A list of names and what they are.
  void facts(const std::vector<std::pair<std::string, std::string>>& facts);
  void table(const Table& table);
  // Folded behind its title.
  void folded_table(std::string_view title, const Table& table);
  void list(const std::vector<std::string>& items);
  // Of report/plot.h and report/placement_plot.h.
  void figure(const std::string& svg, std::string_view caption);
  // One that may be long, in a frame of the height of a screen.
  void scrolled_figure(const std::string& svg, std::string_view caption);
  // The devices with their colours in report/placement_plot.h.
  void legend(const std::vector<std::string>& devices);
  // The whole file.
  std::string html() const;

 private:
  std::string title_, body_;
};

}  // namespace torchlet::cli::report
