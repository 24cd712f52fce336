#include "host_module/nic_report.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "control/report/json.h"
#include "control/report/text_table.h"

namespace splitnic::host {
namespace {

std::string text_of(const std::string& value) { return value; }
std::string text_of(std::uint64_t value) { return std::to_string(value); }
std::string text_of(bool value) { return value ? "yes" : "no"; }

std::string key_of(std::string name) {
  for (char& c : name) {
    if (c == ' ') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

}  // namespace

void NicReport::add(const std::string& name, std::uint64_t value) {
  const auto row = std::ranges::find_if(rows, [&](const auto& r) { return r.first == name; });
  if (row == rows.end()) {
    rows.emplace_back(name, value);
  } else if (auto* number = std::get_if<std::uint64_t>(&row->second)) {
    *number += value;
  }
}

std::string NicReport::nics_text() const {
  control::TextTable table({"NIC", "LINK", "MTU", "MAC", "SPEED", "IN USE"});
  for (const ReportedNic& nic : nics) {
    const std::string speed =
        std::to_string(nic.speed_mbps) + " Mbit/s" + (nic.is_full_duplex ? "" : " half duplex");
    table.add({std::to_string(nic.number), nic.is_up ? "up" : "down", std::to_string(nic.mtu),
               nic.mac, nic.speed_mbps == 0 ? "" : speed, nic.is_in_use ? "yes" : "no"});
  }
  return table.text().substr(1);  // without the empty line in front
}

std::string NicReport::nics_json() const {
  boost::json::array all;
  for (const ReportedNic& nic : nics) {
    boost::json::object one{{"number", nic.number},
                            {"link", nic.is_up ? "up" : "down"},
                            {"mtu", nic.mtu},
                            {"mac", control::json_string(nic.mac)},
                            {"in_use", nic.is_in_use}};
    if (nic.speed_mbps > 0) {
      one["speed_mbps"] = nic.speed_mbps;
      one["duplex"] = nic.is_full_duplex ? "full" : "half";
    }
    all.push_back(std::move(one));
  }
  return boost::json::serialize(boost::json::object{{"nics", std::move(all)}}) + "\n";
}

std::string NicReport::rings_text() const {
  const auto part = [](const char* name, std::uint64_t rx, std::uint64_t tx) {
    return std::string(name) + ":\nRX:\t\t" + std::to_string(rx) + "\nRX Mini:\tn/a\n" +
           "RX Jumbo:\tn/a\nTX:\t\t" + std::to_string(tx) + "\n";
  };
  return heading + ":\n" + part("Pre-set maximums", rings->rx_max, rings->tx_max) +
         part("Current hardware settings", rings->rx, rings->tx);
}

std::string NicReport::channels_text() const {
  const auto part = [](const char* name, std::uint64_t combined) {
    return std::string(name) + ":\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\tn/a\nCombined:\t" +
           std::to_string(combined) + "\n";
  };
  return heading + ":\n" + part("Pre-set maximums", channels->max) +
         part("Current hardware settings", channels->used);
}

std::string NicReport::text() const {
  if (!nics.empty()) return nics_text();
  if (rings) return rings_text();
  if (channels) return channels_text();
  std::string out = heading.empty() ? "" : heading + ":\n";
  for (const auto& [name, value] : rows) {
    const std::string shown = std::visit([](const auto& v) { return text_of(v); }, value);
    out += indent + control::printable(name) + ": " + control::printable(shown) + "\n";
  }
  return out;
}

std::string NicReport::json() const {
  if (!nics.empty()) return nics_json();
  boost::json::object all;
  if (rings) {
    all = {
        {"rx-max", rings->rx_max}, {"tx-max", rings->tx_max}, {"rx", rings->rx}, {"tx", rings->tx}};
  }
  if (channels) all = {{"combined-max", channels->max}, {"combined", channels->used}};
  for (const auto& [name, value] : rows) {
    const auto key = control::json_string(key_of(name));
    if (const auto* text = std::get_if<std::string>(&value)) {
      all[key] = control::json_string(*text);
    } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
      all[key] = *number;
    } else {
      all[key] = std::get<bool>(value);
    }
  }
  return boost::json::serialize(all) + "\n";
}

}  // namespace splitnic::host
