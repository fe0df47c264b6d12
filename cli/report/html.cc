#include "cli/report/html.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "cli/report/placement_plot.h"

namespace torchlet::cli::report {
namespace {

// The length of the UTF-8 character at `at`, 0 if there is none (Unicode 15, table 3-7).
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool is_overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool is_surrogate = first == 0xED && byte(1) >= 0xA0;
    return follows(1) && follows(2) && !is_overlong && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool is_overlong = first == 0xF0 && byte(1) < 0x90;
    const bool is_beyond = first == 0xF4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !is_overlong && !is_beyond ? 4 : 0;
  }
  return 0;
}

constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --text: #222; --page: #fff; --soft: #666; --line: #e4e4e4;
  --head: #f4f4f4; --marked: #fde8e6 }
@media (prefers-color-scheme: dark) {
  :root { --text: #ddd; --page: #181a1b; --soft: #a4a4a4; --line: #3a3d3f; --head: #26292b;
    --marked: #4a2623 }
}
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em;
  color: var(--text); background: var(--page) }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 1.8em }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em 1.2em }
dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
table { border-collapse: collapse; font-size: 13px }
th, td { padding: .2em .7em; text-align: left; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere }
th { position: sticky; top: 0; background: var(--head); cursor: pointer }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.s, th.s { white-space: nowrap }
tr.marked td { background: var(--marked) }
figure { margin: 1em 0 } figcaption { color: var(--soft) }
svg { max-width: 100%; height: auto; fill: var(--soft) } svg .grid { stroke: var(--line) }
.scrolled { max-height: 80vh; overflow: auto; border: 1px solid var(--line) }
.device { color: #fff; padding: .1em .6em; border-radius: 3px }
summary { cursor: pointer; margin: .6em 0 }
)";

// Sorts the rows of a table by the column that was clicked; once more, the other way round.
constexpr char kScript[] = R"(
for (const th of document.querySelectorAll("th")) th.onclick = () => {
  const body = th.closest("table").tBodies[0], i = th.cellIndex;
  const down = th.dataset.down = th.dataset.down === "1" ? "0" : "1";
  const key = row => { const o = row.cells[i].dataset.order;
    return o === undefined ? row.cells[i].textContent : +o; };
  const sign = down === "1" ? 1 : -1;
  [...body.rows].sort((a, b) => { const x = key(a), y = key(b);
    return x < y ? -sign : x > y ? sign : 0; }).forEach(row => body.append(row));
};
)";

}  // namespace

std::string escape(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_length(text, at);
    const char c = text[at];
    const bool is_control = static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n';
    if (length == 0 || is_control || c == '\x7f') {
      result += "\xEF\xBF\xBD";
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\'') {
      result += "&#39;";
    } else {
      result += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  return result;
}

void Table::add(std::vector<Cell> cells, bool is_marked) {
  TORCHLET_ASSERT(cells.size() == columns_.size());
  rows_.push_back({std::move(cells), is_marked});
}

std::string Table::html() const {
  std::string text = "<table><thead><tr>";
  for (const Column& column : columns_) {
    text += std::string(column.is_number  ? "<th class=\"n\">"
                        : column.is_short ? "<th class=\"s\">"
                                          : "<th>") +
            escape(column.title) + "</th>";
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const Row& row : rows_) {
    text += row.is_marked ? "<tr class=\"marked\">" : "<tr>";
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const Cell& cell = row.cells[i];
      // JavaScript reads "Infinity", not "inf".
      const std::string order = format("%.9g", std::clamp(cell.order, -1e300, 1e300));
      text += columns_[i].is_number  ? "<td class=\"n\" data-order=\"" + order + "\">"
              : columns_[i].is_short ? "<td class=\"s\">"
                                     : "<td>";
      text += escape(cell.text) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table>\n";
}

void Page::heading(std::string_view text) { body_ += "<h2>" + escape(text) + "</h2>\n"; }

void Page::paragraph(std::string_view text) { body_ += "<p>" + escape(text) + "</p>\n"; }

void Page::facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  body_ += "<dl>\n";
  for (const auto& [name, what] : facts) {
    body_ += "<dt>" + escape(name) + "</dt><dd>" + escape(what) + "</dd>\n";
  }
  body_ += "</dl>\n";
}

void Page::table(const Table& table) { body_ += table.html(); }

void Page::folded_table(std::string_view title, const Table& table) {
  body_ += "<details><summary>" + escape(title) + "</summary>\n" + table.html() + "</details>\n";
}

void Page::figure(const std::string& svg, std::string_view caption) {
  body_ += "<figure>" + svg + "<figcaption>" + escape(caption) + "</figcaption></figure>\n";
}

void Page::list(const std::vector<std::string>& items) {
  body_ += "<ul>\n";
  for (const std::string& item : items) body_ += "<li>" + escape(item) + "</li>\n";
  body_ += "</ul>\n";
}

void Page::scrolled_figure(const std::string& svg, std::string_view caption) {
  body_ += "<figure><div class=\"scrolled\">" + svg + "</div><figcaption>" + escape(caption) +
           "</figcaption></figure>\n";
}

void Page::legend(const std::vector<std::string>& devices) {
  body_ += "<p>";
  for (size_t i = 0; i < devices.size(); ++i) {
    body_ += std::string("<span class=\"device\" style=\"background: ") + device_colour(i) + "\">" +
             escape(devices[i]) + "</span> ";
  }
  body_ += "</p>\n";
}

std::string Page::html() const {
  // The policy lets a browser load nothing, whatever the page holds.
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
         "<title>" +
         escape(title_) + "</title>\n<style>" + kStyle + "</style></head>\n<body>\n<h1>" +
         escape(title_) + "</h1>\n" + body_ + "<script>" + kScript + "</script>\n</body></html>\n";
}

}  // namespace torchlet::cli::report
