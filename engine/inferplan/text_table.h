// Tables for people: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace inferd::engine {

// Two spaces between columns; the last is not padded. Rows may have fewer cells than the header.
std::string TextTable(const std::vector<std::string>& header,
                      const std::vector<std::vector<std::string>>& rows);
// The same as a Markdown table; "|" in cells is escaped.
std::string MarkdownTable(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows);

}  // namespace inferd::engine
