#include "engine/inferplan/text_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace inferd::engine {
namespace {

using Row = std::vector<std::string>;

void AppendRow(const Row& row, const std::vector<size_t>& widths, std::string& text) {
  for (size_t i = 0; i < row.size(); ++i) {
    absl::StrAppend(&text, row[i]);
    if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
  }
  text.push_back('\n');
}

std::string MarkdownRow(const Row& row) {
  return absl::StrCat(
      "| ",
      absl::StrJoin(row, " | ",
                    [](std::string* out, const std::string& cell) {
                      absl::StrAppend(out, absl::StrReplaceAll(cell, {{"|", "\\|"}}));
                    }),
      " |\n");
}

}  // namespace

std::string TextTable(const Row& header, const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const std::string& cell : header) widths.push_back(cell.size());
  for (const Row& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  AppendRow(header, widths, text);
  for (const Row& row : rows) AppendRow(row, widths, text);
  return text;
}

std::string MarkdownTable(const Row& header, const std::vector<Row>& rows) {
  std::string text = MarkdownRow(header);
  absl::StrAppend(&text, MarkdownRow(Row(header.size(), "---")));
  for (const Row& row : rows) absl::StrAppend(&text, MarkdownRow(row));
  return text;
}

}  // namespace inferd::engine
