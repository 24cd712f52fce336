#include "fabric_emul/routing/routing.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fabric_emul/routing/fat_tree.h"
#include "fabric_emul/routing/layered.h"
#include "fabric_emul/routing/shortest_path.h"
#include "fabric_emul/routing/up_down.h"

namespace splitnic::fabric {
namespace {

constexpr auto kNameOfRouting =
    std::to_array<std::pair<RoutingKind, std::string_view>>({{RoutingKind::kShortest, "shortest"},
                                                             {RoutingKind::kUpDown, "updown"},
                                                             {RoutingKind::kFatTree, "fattree"},
                                                             {RoutingKind::kLayered, "layered"}});

}  // namespace

std::unique_ptr<const Routing> make_routing(RoutingKind kind, TablesPer per) {
  switch (kind) {
    case RoutingKind::kUpDown:
      return std::make_unique<UpDownRouting>(per);
    case RoutingKind::kFatTree:
      return std::make_unique<FatTreeRouting>(per);
    case RoutingKind::kLayered:
      return std::make_unique<LayeredRouting>(per);
    case RoutingKind::kShortest:
      break;
  }
  return std::make_unique<ShortestPathRouting>(per);
}

std::string_view name(RoutingKind kind) {
  return kNameOfRouting.at(static_cast<std::size_t>(kind)).second;
}

std::optional<RoutingKind> parse_routing(std::string_view text) {
  const auto* const found =
      std::ranges::find(kNameOfRouting, text, &std::pair<RoutingKind, std::string_view>::second);
  if (found == kNameOfRouting.end()) return std::nullopt;
  return found->first;
}

std::string_view name(TablesPer per) {
  return per == TablesPer::kSwitch ? "per_switch" : "per_input";
}

std::optional<TablesPer> parse_tables_per(std::string_view text) {
  for (const TablesPer per : {TablesPer::kSwitch, TablesPer::kInput}) {
    if (text == name(per)) return per;
  }
  return std::nullopt;
}

}  // namespace splitnic::fabric
