#include "control/report/traffic_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <utility>

#include "control/report/json.h"
#include "control/report/text_table.h"

namespace splitnic::control {
namespace {

// The counters of one row: NAME + `in` and the like.
struct RowForm {
  std::string_view begins, ends;  // around what names the row, in the counter `in_frames`
  std::string_view in_frames, out_frames, in_bytes, out_bytes;  // no bytes: ""
  std::string_view label;
};

constexpr std::array kRateForms{
    RowForm{"tap", ".rx.frames", ".rx.frames", ".tx.frames", ".rx.bytes", ".tx.bytes", "tap"},
    RowForm{"lan", ".port.rx.frames", ".port.rx.frames", ".port.tx.frames", ".port.rx.bytes",
            ".port.tx.bytes", "lan"},
    RowForm{"host.", ".iou.from_host.frames", ".iou.from_host.frames", ".iou.to_host.frames",
            ".iou.from_host.ethernet_bytes", ".iou.to_host.ethernet_bytes", "host "},
    RowForm{"switch.port", ".rx.cell", ".rx.cell", ".tx.cell", "", "", "port "},
};

class Changes {
 public:
  Changes(const CounterValues& before, const CounterValues& now, double seconds)
      : before_(before), now_(now), seconds_(seconds) {}
  double of(const std::string& name) const {
    const auto at = now_.find(name);
    if (at == now_.end()) return 0;
    return static_cast<double>(change_of(before_, name, at->second)) / seconds_;
  }
  // The sum over all causes, of names that `is_counted` returns true for.
  template <class Predicate>
  double drops(Predicate&& is_counted) const {
    double sum = 0;
    for (const auto& [name, value] : now_) {
      if (name.find(".drop.") != std::string::npos && is_counted(name)) sum += of(name);
    }
    return sum;
  }
  const CounterValues& now() const { return now_; }

 private:
  const CounterValues& before_;
  const CounterValues& now_;
  const double seconds_;
};

TrafficRow row_of(const Changes& changes, const RowForm& form, const std::string& middle) {
  const std::string head = std::string(form.begins) + middle;
  const auto rate = [&](std::string_view end) { return changes.of(head + std::string(end)); };
  TrafficRow row;
  row.name = std::string(form.label) + middle;
  row.in_frames = rate(form.in_frames);
  row.out_frames = rate(form.out_frames);
  if (!form.in_bytes.empty()) {
    row.in_bits = 8 * rate(form.in_bytes);
    row.out_bits = 8 * rate(form.out_bytes);
  }
  row.drops = changes.drops([&](const std::string& name) { return name.starts_with(head + "."); });
  return row;
}

std::string bits_text(std::optional<double> bits) {
  if (!bits) return {};
  constexpr std::array<std::string_view, 4> kUnits{"bit/s", "kbit/s", "Mbit/s", "Gbit/s"};
  std::size_t unit = 0;
  double value = *bits;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 2, kUnits[unit]);
}

std::string number_text(double value) { return fmt::format("{:.1f}", value); }

}  // namespace

std::uint64_t change_of(const CounterValues& before, const std::string& name, std::uint64_t value) {
  const auto old = before.find(name);
  return old == before.end() || old->second > value ? value : value - old->second;
}

TrafficRates traffic_rates(const CounterValues& before, const CounterValues& now, double seconds) {
  const Changes changes(before, now, seconds);
  TrafficRates rates;
  rates.seconds = seconds;
  // At an I/O unit the counters of a host are a part of others.
  const bool is_unit = now.contains("iou.hosts.ups");
  for (const auto& [name, value] : now) {
    for (const RowForm& form : kRateForms) {
      const bool is_row = name.size() >= form.begins.size() + form.ends.size() &&
                          name.starts_with(form.begins) && name.ends_with(form.ends);
      if (!is_row) continue;
      const std::size_t bytes = name.size() - form.begins.size() - form.ends.size();
      const std::string middle = name.substr(form.begins.size(), bytes);
      const bool is_number =
          std::ranges::all_of(middle, [](char c) { return c >= '0' && c <= '9'; });
      if (form.begins == "host." ? is_unit : is_number)
        rates.rows.push_back(row_of(changes, form, middle));
    }
  }
  rates.drops = changes.drops(
      [&](const std::string& name) { return !(is_unit && name.starts_with("host.")); });
  return rates;
}

std::string rates_text(const TrafficRates& rates) {
  TextTable table({"RATE", "IN", "IN/S", "OUT", "OUT/S", "DROPS/S"});
  for (const TrafficRow& row : rates.rows) {
    table.add({row.name, bits_text(row.in_bits), number_text(row.in_frames),
               bits_text(row.out_bits), number_text(row.out_frames), number_text(row.drops)});
  }
  table.add({"all", "", "", "", "", number_text(rates.drops)});
  return table.text();
}

std::string with_rates(const std::string& show, const TrafficRates& rates) {
  boost::json::error_code failed;
  boost::json::value parsed = boost::json::parse(show, failed);
  if (failed || !parsed.is_object()) return show;
  boost::json::array rows;
  for (const TrafficRow& row : rates.rows) {
    boost::json::object one{{"name", json_string(row.name)},
                            {"in_frames", row.in_frames},
                            {"out_frames", row.out_frames},
                            {"drops", row.drops}};
    if (row.in_bits) one["in_bits"] = *row.in_bits;
    if (row.out_bits) one["out_bits"] = *row.out_bits;
    rows.push_back(std::move(one));
  }
  parsed.as_object()["rates"] = boost::json::object{
      {"seconds", rates.seconds}, {"rows", std::move(rows)}, {"drops", rates.drops}};
  return boost::json::serialize(parsed) + "\n";
}

}  // namespace splitnic::control
