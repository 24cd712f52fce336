#include "fabric_emul/simulation/topology_maker.h"

#include <cstdint>
#include <optional>
#include <string>

#include "base/parse_number.h"

namespace splitnic::fabric::simulation {
namespace {

constexpr std::uint32_t kSideMax = 1024;

PortPlace place(const std::string& of_switch, std::uint32_t port) {
  return {of_switch, static_cast<std::uint8_t>(port)};
}

// Adds switches and nodes with their LIDs; nodes have theirs when all switches are there.
class TopologyMaker {
 public:
  const std::string& add_switch(std::string name) {
    const auto lid = static_cast<std::uint16_t>(made_.switches.size() + 1);
    return made_.switches.emplace_back(Topology::Switch{std::move(name), Lid(lid)}).name;
  }
  void add_node(PortPlace at) {
    made_.nodes.push_back({"n" + std::to_string(made_.nodes.size()), Lid(), std::move(at)});
  }
  void add_cable(PortPlace a, PortPlace b) { made_.cables.push_back({std::move(a), std::move(b)}); }
  Topology finish(RoutingKind routing) {
    auto lid = static_cast<std::uint16_t>(made_.switches.size());
    for (Topology::Node& node : made_.nodes) node.lid = Lid(++lid);
    made_.routing = routing;
    return std::move(made_);
  }

 private:
  Topology made_;
};

// Leaf E of pod P, switch A above it, spine S: A of every pod leads to the spines A * K/2 and on.
Topology fat_tree(std::uint32_t k, std::uint32_t pods) {
  const std::uint32_t half = k / 2;
  const auto name_of = [](std::uint32_t pod, const char* level, std::uint32_t number) {
    return "p" + std::to_string(pod) + level + std::to_string(number);
  };
  const auto spine = [](std::uint32_t number) { return "spine" + std::to_string(number); };
  TopologyMaker maker;
  for (const char* level : {"e", "a"}) {
    for (std::uint32_t pod = 0; pod < pods; ++pod) {
      for (std::uint32_t i = 0; i < half; ++i) maker.add_switch(name_of(pod, level, i));
    }
  }
  for (std::uint32_t i = 0; i < half * half; ++i) maker.add_switch(spine(i));
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    for (std::uint32_t i = 0; i < half; ++i) {
      for (std::uint32_t j = 0; j < half; ++j) {
        maker.add_node(place(name_of(pod, "e", i), j + 1));
        maker.add_cable(place(name_of(pod, "e", i), half + j + 1),
                        place(name_of(pod, "a", j), i + 1));
        maker.add_cable(place(name_of(pod, "a", i), half + j + 1),
                        place(spine(i * half + j), pod + 1));
      }
    }
  }
  return maker.finish(RoutingKind::kFatTree);
}

std::string switch_name(std::uint32_t number) { return "sw" + std::to_string(number + 1); }

// Port 1 leads to the next switch, port 2 to the one before; the node is at port 3.
Topology ring(std::uint32_t count) {
  TopologyMaker maker;
  for (std::uint32_t i = 0; i < count; ++i) {
    maker.add_switch(switch_name(i));
    maker.add_node(place(switch_name(i), 3));
    maker.add_cable(place(switch_name(i), 1), place(switch_name((i + 1) % count), 2));
  }
  return maker.finish(RoutingKind::kUpDown);
}

// Ports 1 and 2 lead to the next and the previous column, 3 and 4 to the rows; the node is at
// port 5. In a torus the first one of each is next to the last one.
Topology mesh(std::uint32_t rows, std::uint32_t columns, bool is_torus) {
  TopologyMaker maker;
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      const std::uint32_t here = row * columns + column;
      maker.add_switch(switch_name(here));
      maker.add_node(place(switch_name(here), 5));
      if (column + 1 < columns || is_torus) {
        const std::uint32_t next = row * columns + (column + 1) % columns;
        maker.add_cable(place(switch_name(here), 1), place(switch_name(next), 2));
      }
      if (row + 1 < rows || is_torus) {
        const std::uint32_t next = (row + 1) % rows * columns + column;
        maker.add_cable(place(switch_name(here), 3), place(switch_name(next), 4));
      }
    }
  }
  return maker.finish(RoutingKind::kUpDown);
}

base::Result<Topology> make_fat_tree(std::string_view numbers) {
  const std::size_t colon = numbers.find(':');
  const auto k = base::parse_number<std::uint32_t>(numbers.substr(0, colon), 4, kSwitchPortsMax);
  const auto pods =
      colon == std::string_view::npos
          ? k
          : base::parse_number<std::uint32_t>(numbers.substr(colon + 1), 2, k.value_or(0));
  if (!k || *k % 2 != 0 || !pods) {
    return base::Error("fattree:K has an even K from 4 to " + std::to_string(kSwitchPortsMax) +
                       ", fattree:K:PODS up to K pods and at least 2");
  }
  return fat_tree(*k, *pods);
}

base::Result<Topology> make_mesh(std::string_view numbers, bool is_torus) {
  const std::uint32_t rows_min = is_torus ? 3 : 1, columns_min = is_torus ? 3 : 2;
  const std::size_t by = numbers.find('x');
  const auto rows = base::parse_number<std::uint32_t>(numbers.substr(0, by), rows_min, kSideMax);
  const auto columns =
      by == std::string_view::npos
          ? std::nullopt
          : base::parse_number<std::uint32_t>(numbers.substr(by + 1), columns_min, kSideMax);
  if (!rows || !columns || *rows * *columns > kSideMax) {
    return base::Error(
        std::string(is_torus ? "torus:RxC has 3 rows and 3" : "mesh:RxC has 1 row and 2") +
        " columns at least, and at most " + std::to_string(kSideMax) + " switches");
  }
  return mesh(*rows, *columns, is_torus);
}

}  // namespace

base::Result<Topology> make_topology(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view form = text.substr(0, colon);
  const std::string_view numbers =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (form == "fattree") return make_fat_tree(numbers);
  if (form == "mesh" || form == "torus") return make_mesh(numbers, form == "torus");
  if (form == "ring") {
    const auto count = base::parse_number<std::uint32_t>(numbers, 3, kSideMax);
    if (count) return ring(*count);
    return base::Error("ring:N has from 3 to " + std::to_string(kSideMax) + " switches");
  }
  return base::Error("'" + std::string(text) +
                     "' is not fattree:K[:PODS], ring:N, mesh:RxC or torus:RxC");
}

}  // namespace splitnic::fabric::simulation
