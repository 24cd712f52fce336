#include "tests/bench/fabric/bench_options.h"

#include <getopt.h>

#include <charconv>
#include <string>
#include <tuple>
#include <utility>

namespace splitnic::bench {
namespace {

std::vector<std::size_t> sizes_of(std::string_view text) {
  if (text == "all") return {kSizes.begin(), kSizes.end()};
  return {static_cast<std::size_t>(number_of("--size", text, 1, kSizeMax))};
}

Op op_of(std::string_view text) {
  for (const Op op : {Op::kWrite, Op::kSend, Op::kRead, Op::kDatagrams}) {
    if (name(op) == text) return op;
  }
  fail("--op takes no '" + std::string(text) + "'");
}

void take_netns(std::string_view text, Ends& ends) {
  std::tie(ends.active_netns, ends.passive_netns) =
      two_of(text, "--netns takes two names: ACTIVE,PASSIVE");
}

std::vector<BenchOption> options_of(CommonOptions& common) {
  return {{"op", true,
           [&](std::string_view value) {
             if (value != "all") common.ops = {op_of(value)};
           }},
          {"size", true, [&](std::string_view value) { common.sizes = sizes_of(value); }},
          number_option("seconds", common.seconds, 0.001, 3600),
          {"pin", false, [&](std::string_view) { common.ends.is_pinned = true; }},
          {"netns", true, [&](std::string_view value) { take_netns(value, common.ends); }},
          {"no-head", false, [&](std::string_view) { common.has_head = false; }}};
}

}  // namespace

double number_of(std::string_view option, std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end() || !(value >= least && value <= most)) {
    fail(std::string(option) + " takes no '" + std::string(text) + "'");
  }
  return value;
}

std::pair<std::string, std::string> two_of(std::string_view text, const std::string& error) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) fail(error);
  return {std::string(text.substr(0, comma)), std::string(text.substr(comma + 1))};
}

void parse_options(int argc, char** argv, CommonOptions& common, std::vector<BenchOption> others,
                   std::string_view source) {
  std::vector<BenchOption> all = options_of(common);
  for (BenchOption& one : others) all.push_back(std::move(one));
  std::vector<option> names;
  for (const BenchOption& one : all) {
    names.push_back({one.name, one.has_value ? required_argument : no_argument, nullptr, 0});
  }
  names.push_back({nullptr, 0, nullptr, 0});
  int index = 0;
  for (int c = 0; (c = ::getopt_long(argc, argv, "", names.data(), &index)) != -1;) {
    if (c != 0) fail("unknown option; the head of " + std::string(source) + " lists them");
    all[static_cast<std::size_t>(index)].take(::optarg == nullptr ? "" : ::optarg);
  }
  if (::optind != argc) fail("there are options only");
}

int run_rows(const CommonOptions& options,
             const std::function<bool(Op op, std::size_t bytes)>& run_row) {
  if (options.has_head) print_head();
  bool succeeded = true;
  for (const Op op : options.ops) {
    for (const std::size_t bytes : options.sizes) succeeded &= run_row(op, bytes);
  }
  return succeeded ? 0 : 1;
}

}  // namespace splitnic::bench
