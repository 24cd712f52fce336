#include "conformance/states/state_list.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "conformance/states/states_json.h"

namespace splitnic::conformance {
namespace {

std::string text_in(const boost::json::object& object, const char* name) {
  return std::string(object.at(name).as_string());
}

// `true`, or the reason.
std::string reason_in(const boost::json::object& object, const char* name) {
  const boost::json::value& value = object.at(name);
  return value.is_bool() && value.as_bool() ? std::string() : std::string(value.as_string());
}

Edge edge_of(const boost::json::object& object, bool is_of_manager) {
  Edge edge{.id = text_in(object, "id"),
            .from = text_in(object, "from"),
            .event = text_in(object, "event"),
            .to = text_in(object, "to")};
  if (is_of_manager) {
    edge.not_of_manager = reason_in(object, "manager");
  } else {
    edge.not_of_unit = reason_in(object, "unit");
    edge.not_of_host = reason_in(object, "host");
  }
  if (object.contains("slow")) edge.slow = text_in(object, "slow");
  edge.row = object.contains("row") ? text_in(object, "row") : edge.from;
  return edge;
}

std::vector<StateTable> parse() {
  std::vector<StateTable> tables;
  const boost::json::value all = boost::json::parse(kStatesJson);
  for (const boost::json::value& one : all.as_object().at("tables").as_array()) {
    const boost::json::object& object = one.as_object();
    StateTable table{.name = text_in(object, "name"),
                     .page = text_in(object, "page"),
                     .heading = text_in(object, "heading"),
                     .is_keyed = object.contains("keyed"),
                     .is_of_manager = object.contains("of") && text_in(object, "of") == "manager"};
    for (const boost::json::value& edge : object.at("edges").as_array()) {
      table.edges.push_back(edge_of(edge.as_object(), table.is_of_manager));
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace

const std::vector<StateTable>& state_tables() {
  static const std::vector<StateTable> tables = parse();
  return tables;
}

}  // namespace splitnic::conformance
