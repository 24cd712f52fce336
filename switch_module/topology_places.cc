#include "switch_module/topology_places.h"

#include <optional>

#include "control/config/values.h"
#include "fabric_emul/switching/queue_lid.h"

namespace splitnic::fabric_switch {

using control::TomlField;
using control::TomlValue;
using fabric::PortPlace;

base::Result<PortPlace> TopologyPlaces::take(const TomlField& field, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto port = colon == std::string_view::npos
                        ? std::nullopt
                        : control::parse_number(text.substr(colon + 1), fabric::kSwitchPortsMax);
  if (!port || *port == 0 || !control::is_node_name(text.substr(0, colon))) {
    return field.is_not("SWITCH:PORT with a port from 1 to " +
                        std::to_string(fabric::kSwitchPortsMax));
  }
  PortPlace place{std::string(text.substr(0, colon)), static_cast<std::uint8_t>(*port)};
  const auto [taken, is_new] = taken_.try_emplace(place, field.at());
  if (!is_new) {
    return field.error(std::string(text) + " is taken in line " +
                       std::to_string(taken->second.line));
  }
  used_.push_back({field, place});
  return place;
}

base::Result<std::vector<PortPlace>> TopologyPlaces::take_all(const TomlValue& value,
                                                              const TomlField& field) {
  std::vector<PortPlace> places;
  const auto read = [&](const TomlField& one) -> base::Status {
    const auto text = one.text("SWITCH:PORT");
    if (!text) return text.error();
    const auto place = take(one, *text);
    if (!place) return place.error();
    places.push_back(*place);
    return {};
  };
  const bool is_list = value.kind == TomlValue::Kind::kList;
  if (auto done = is_list ? field.each(fabric::kNodeQueuesMax, read) : read(field); !done)
    return done.error();
  return places;
}

base::Status TopologyPlaces::check(const std::set<std::string_view>& switches) const {
  for (const Used& used : used_) {
    if (!switches.contains(used.place.of_switch)) {
      return used.field.error("there is no [switches." + used.place.of_switch + "]");
    }
  }
  return {};
}

}  // namespace splitnic::fabric_switch
