#include "tests/sim/table_page.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>

namespace splitnic::sim {
namespace {

struct Page {
  std::string before, tables, after;
};

std::optional<Page> read_page(const std::string& program, const std::string& file) {
  std::ifstream in(file);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const std::string begin_mark = "<!-- " + program + " begin -->\n";
  const std::size_t begin = all.find(begin_mark);
  const std::size_t end = all.find("<!-- " + program + " end -->\n");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  const std::size_t at = begin + begin_mark.size();
  return Page{all.substr(0, at), all.substr(at, end - at), all.substr(end)};
}

}  // namespace

int run_table_page(std::string_view program, std::string (*tables)(), int argc, char** argv) {
  const std::string name(program);
  if (argc == 1) {
    std::fputs(tables().c_str(), stdout);
    return 0;
  }
  const std::string_view what = argc == 3 ? argv[1] : "";
  if (what != "--write" && what != "--check") {
    std::fprintf(stderr, "usage: %s [--check FILE | --write FILE]\n", name.c_str());
    return 2;
  }
  const std::string file = argv[2];
  const auto page = read_page(name, file);
  if (!page) {
    std::fprintf(stderr, "%s: %s has no marks for the table\n", name.c_str(), file.c_str());
    return 1;
  }
  const std::string fresh = tables();
  if (what == "--write") {
    std::ofstream(file) << page->before << fresh << page->after;
    return 0;
  }
  if (fresh == page->tables) return 0;
  std::printf("The table of %s:\n%sis now:\n%s", file.c_str(), page->tables.c_str(), fresh.c_str());
  std::printf("If that is meant: %s --write %s\n", name.c_str(), file.c_str());
  return 1;
}

}  // namespace splitnic::sim
