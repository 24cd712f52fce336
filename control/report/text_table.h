// A table for people: columns as wide as their widest cell, two spaces between; the first row is
// the heading. Thread: one owner.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace splitnic::control {

// Names come from peers: they must not control a terminal.
inline std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7F') c = '?';
  }
  return text;
}

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void add(std::vector<std::string> row) {
    for (std::string& cell : row) {
      cell = cell.empty() ? "-" : printable(std::move(cell));
    }
    rows_.push_back(std::move(row));
  }
  // Nothing if only the heading is there.
  std::string text() const {
    if (rows_.size() < 2) return {};
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out = "\n";
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace splitnic::control
