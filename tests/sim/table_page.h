// The main function of a program that computes tables of a page in docs/performance. Its results
// are the same in every build, so a ctest compares them with the page.
#pragma once

#include <string>
#include <string_view>

namespace splitnic::sim {

// PROGRAM                 prints tables()
// PROGRAM --write FILE    puts them between the marks of the page,
//                         `<!-- PROGRAM begin -->` and `<!-- PROGRAM end -->`
// PROGRAM --check FILE    compares them with what is there
// Returns the exit status: 1 if they differ or the page has no marks, 2 after wrong usage.
int run_table_page(std::string_view program, std::string (*tables)(), int argc, char** argv);

}  // namespace splitnic::sim
