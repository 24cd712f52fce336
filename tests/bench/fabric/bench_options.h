// The command lines of fabric_bench, libfabric_bench, forward_bench and cell_trip_bench: the
// options that they share, a parser for those of one of them, and the rows that they ask for. A
// wrong option ends the process with a line on standard error.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/fabric/two_ends.h"
#include "tools/bench/run.h"

namespace splitnic::bench {

struct CommonOptions {
  Ends ends;                                                     // --netns, --pin
  std::vector<Op> ops{Op::kWrite, Op::kSend, Op::kRead};         // --op
  std::vector<std::size_t> sizes{kSizes.begin(), kSizes.end()};  // --size
  double seconds = 1;                                            // --seconds
  bool has_head = true;                                          // --no-head
};

struct BenchOption {
  const char* name;  // without "--"
  bool has_value;
  std::function<void(std::string_view value)> take;
};

// Fills `common` and calls `take` of each of `others` that was given. `source` is the file whose
// head lists the options.
void parse_options(int argc, char** argv, CommonOptions& common, std::vector<BenchOption> others,
                   std::string_view source);

// Prints the head of the table, unless there is to be none, and calls `run_row` for each operation
// and size. Returns the exit status: 1 if it has returned false for one of them.
int run_rows(const CommonOptions& options,
             const std::function<bool(Op op, std::size_t bytes)>& run_row);

// Returns the value of `option`, from `least` to `most`.
double number_of(std::string_view option, std::string_view text, double least, double most);
// The option --`name`, whose value is such a number. `into` outlives it.
template <class Number>
BenchOption number_option(const char* name, Number& into, double least, double most) {
  return {name, true, [=, &into](std::string_view value) {
            into = static_cast<Number>(number_of("--" + std::string(name), value, least, most));
          }};
}

// Returns what is before and behind the comma. Without one the process ends with this error.
std::pair<std::string, std::string> two_of(std::string_view text, const std::string& error);

}  // namespace splitnic::bench
