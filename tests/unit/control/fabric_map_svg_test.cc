// The picture of a fabric: valid XML, and the colour of each end of a link.
#include "control/report/fabric_map_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "control/report/fabric_layout.h"
#include "control/report/fabric_map.h"
#include "control/report/load_colours.h"

namespace splitnic::control {
namespace fabric_map_svg_test {

using ::testing::HasSubstr;
using ::testing::Not;
using Point = FabricLayout::Point;

// Leaves l1 and l2 with two nodes each, each with a cable to both spines, and two to s1.
FabricMap tree() {
  FabricMap map;
  map.manager = "l1";
  map.switches = {{"l1", 1, "up"}, {"s1", 3, "up"}, {"s2", 4, "silent"}, {"l2", 2, "up"}};
  map.nodes = {{"n1", 11, {"l1", 5}, "up", 1, "a"},
               {"n2", 12, {"l1", 6}, "down", 1, ""},
               {"n3", 13, {"l2", 5}, "up", 1, ""},
               {"n4", 14, {"l2", 6}, "no LID", 1, ""}};
  map.cables = {{{"l1", 1}, {"s1", 1}, "up"},
                {{"l1", 2}, {"s2", 1}, "unknown"},
                {{"l2", 1}, {"s1", 2}, "up"},
                {{"l2", 2}, {"s2", 2}, "unknown"},
                {{"s1", 3}, {"l1", 3}, "held"}};
  return map;
}

// The line of the picture with this text; the first one.
std::string line_with(const std::string& svg, const std::string& text) {
  const std::size_t at = svg.find(text);
  if (at == std::string::npos) return "no " + text;
  const std::size_t begin = svg.rfind('\n', at) + 1;
  return svg.substr(begin, svg.find('\n', at) - begin);
}

std::string stroke(std::string_view colour) {
  return "<path stroke=\"" + std::string(colour) + "\"";
}

constexpr std::array<std::string_view, 4> kEntities{"amp;", "lt;", "gt;", "quot;"};

bool is_text(std::string_view text) {
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    const auto begins = [&](std::string_view entity) { return rest.starts_with(entity); };
    if (std::ranges::none_of(kEntities, begins)) return false;
  }
  return text.find('<') == std::string_view::npos;
}

bool are_attributes(std::string_view text) {
  while (!text.empty()) {
    const std::size_t value = text.find("=\"");
    if (text.front() != ' ' || value == std::string_view::npos) return false;
    const std::size_t end = text.find('"', value + 2);
    if (end == std::string_view::npos) return false;
    if (!is_text(text.substr(value + 2, end - value - 2))) return false;
    text = text.substr(end + 1);
  }
  return true;
}

// Reads it as XML without comments. Returns where it is none, or nothing.
std::string fault_of(std::string_view xml) {
  std::vector<std::string_view> open;
  while (!xml.empty()) {
    const std::size_t begin = xml.find('<'), end = xml.find('>', begin);
    if (begin == std::string_view::npos) return is_text(xml) && open.empty() ? "" : "at the end";
    if (end == std::string_view::npos) return "a tag without end";
    if (!is_text(xml.substr(0, begin))) return std::string(xml.substr(0, begin));
    std::string_view tag = xml.substr(begin + 1, end - begin - 1);
    xml = xml.substr(end + 1);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return std::string(tag);
      open.pop_back();
      continue;
    }
    const bool is_closed = tag.ends_with('/');
    if (is_closed) tag.remove_suffix(1);
    const std::string_view name = tag.substr(0, tag.find(' '));
    if (!are_attributes(tag.substr(name.size()))) return std::string(tag);
    if (!is_closed) open.push_back(name);
  }
  return open.empty() ? "" : "not closed: " + std::string(open.back());
}

TEST(FabricMapSvgTest, the_reader_of_xml_finds_faults) {
  EXPECT_EQ(fault_of("<a b=\"1\"><c/>x &amp; y</a>\n"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=1/>", "<a b=\"<\"/>", "<a>&x</a>", "</a>",
                          "<a b=\"&\"/>", "<a", "<a/>&"}) {
    EXPECT_NE(fault_of(bad), "") << bad;
  }
}

TEST(FabricMapSvgTest, S004_19_it_is_valid_xml_whatever_names_there_are) {
  FabricMap map = tree();
  EXPECT_EQ(fault_of(fabric_map_svg(map)), "");
  map.manager = map.switches[0].name = map.nodes[0].at.of_switch = map.cables[0].a.of_switch =
      "<l&1>\"\n\xFF";
  map.nodes[0].name = "a\"b";
  map.nodes[2].state = "<down>";
  const std::string svg = fabric_map_svg(map);
  EXPECT_EQ(fault_of(svg), "");
  EXPECT_THAT(svg, HasSubstr("&lt;l&amp;1&gt;&quot;?\xEF\xBF\xBD"));
  EXPECT_THAT(svg, HasSubstr(">a&quot;b</text>"));
  EXPECT_THAT(svg, HasSubstr("l2:5 to n3: &lt;down&gt;</title>"));
  // A place that the map does not have is left out.
  map.cables[1].a.of_switch = map.nodes[2].at.of_switch = "nowhere";
  EXPECT_EQ(fault_of(fabric_map_svg(map)), "");
  EXPECT_THAT(fabric_map_svg(map), Not(HasSubstr("nowhere")));
  EXPECT_EQ(fault_of(fabric_map_svg({})), "") << "nothing";
}

TEST(FabricMapSvgTest, S004_19_each_end_of_a_link_has_the_colour_of_its_load) {
  FabricMap map = tree();
  map.cables[0].a.cells_per_second = 2'000'000;  // the most
  map.cables[0].b.cells_per_second = 0;
  map.cables[2].b.cells_per_second = 1'000'000;
  map.nodes[0].at.cells_per_second = 1'960'000;
  map.nodes[1].at.cells_per_second = 2'000'000;
  const std::string svg = fabric_map_svg(map);
  const auto expect_colour = [&](const std::string& title, std::string_view colour) {
    EXPECT_THAT(line_with(svg, "<title>" + title + "</title></path>"), HasSubstr(stroke(colour)));
  };
  expect_colour("l1:1 to s1:1: 2000000 cells/s", kLoadColours.at(10));
  expect_colour("s1:1 to l1:1: 0 cells/s", kLoadColours.at(0));
  expect_colour("s1:2 to l2:1: 1000000 cells/s", kLoadColours.at(5));
  expect_colour("l1:5 to n1: 1960000 cells/s", kLoadColours.at(10));
  expect_colour("l2:1 to s1:2: load not known", "#44546a");
  for (const char* down :
       {"l1:2 to s2:1: unknown", "s1:3 to l1:3: held", "l1:6 to n2: down", "l2:6 to n4: no LID"}) {
    expect_colour(down, kLoadColours.at(kColourOfDown));
    EXPECT_THAT(line_with(svg, std::string("<title>") + down + "</title></path>"),
                HasSubstr("stroke-dasharray"));
  }
  EXPECT_THAT(svg, HasSubstr(">200.0 k</text>")) << "a tenth of the greatest";
  EXPECT_THAT(svg, HasSubstr(">2.0 M</text>"));
  EXPECT_THAT(line_with(svg, "<title>l1, LID 1, up</title>"), HasSubstr("stroke-width=\"3\""));
  EXPECT_THAT(line_with(svg, "<title>s2, LID 4, silent</title>"), HasSubstr("stroke-dasharray"));
}

TEST(FabricMapSvgTest, colours_of_loads) {
  EXPECT_EQ(colour_of_load(0), 0U);
  EXPECT_EQ(colour_of_load(0.04), 0U);
  EXPECT_EQ(colour_of_load(0.06), 1U);
  EXPECT_EQ(colour_of_load(1), kColourOfDown - 1);
  EXPECT_EQ(colour_of_load(7), kColourOfDown - 1);
}

TEST(FabricLayoutTest, a_tree_has_its_spines_above_its_leaves_and_these_above_their_nodes) {
  const FabricLayout layout = layout_of(tree(), 100);
  const auto place = [&](const char* name) { return layout.switches.at(name); };
  EXPECT_EQ(place("s1").y, 100);
  EXPECT_EQ(place("s2").y, 100);
  EXPECT_EQ(place("l1").y, place("l2").y);
  EXPECT_GT(place("l1").y, 100);
  EXPECT_LT(place("l1").x, place("l2").x);
  EXPECT_LT(place("s1").x, place("s2").x);
  ASSERT_EQ(layout.nodes.size(), 4U);
  for (const Point node : layout.nodes) EXPECT_GT(node.y, place("l1").y);
  EXPECT_EQ(layout.nodes[0].x + layout.nodes[1].x, 2 * place("l1").x) << "in the middle above them";
  EXPECT_LT(layout.nodes[1].x, layout.nodes[2].x);
  std::vector<Point> all = layout.nodes;
  for (const auto& [name, at] : layout.switches) all.push_back(at);
  for (const Point at : all) {
    EXPECT_TRUE(at.x > 0 && at.x < layout.width && at.y > 0 && at.y < layout.height);
  }
}

// In a ring no switch is higher, and a line passes none in the middle.
TEST(FabricLayoutTest, a_ring_is_one_row_whose_cables_bend) {
  FabricMap map;
  map.switches = {{"a", 1, "up"}, {"b", 2, "up"}, {"c", 3, "up"}};
  map.nodes = {{"n", 11, {"a", 3}, "up", 1, ""},
               {"m", 12, {"b", 3}, "up", 1, ""},
               {"o", 13, {"c", 3}, "up", 1, ""}};
  map.cables = {{{"a", 1}, {"b", 2}, "up"}, {{"b", 1}, {"c", 2}, "up"}, {{"c", 1}, {"a", 2}, "up"}};
  const FabricLayout layout = layout_of(map, 100);
  for (const auto& [name, at] : layout.switches) EXPECT_EQ(at.y, 100) << name;
  // Both halves of the cable between a and c bend upwards.
  const std::string half = line_with(fabric_map_svg(map), "<title>c:1 to a:2: ");
  const std::size_t way = half.find("d=\"M");
  ASSERT_NE(way, std::string::npos) << half;
  const std::size_t y_at = half.find(' ', half.find('Q', way));
  const std::size_t from_y_at = half.find(' ', half.find('M', way));
  EXPECT_LT(std::stoi(half.substr(y_at)), std::stoi(half.substr(from_y_at))) << half;
}

// A switch without nodes and cables is in the lowest row; rows are sorted by what is below.
TEST(FabricLayoutTest, a_row_follows_the_order_of_what_is_below) {
  FabricMap map;
  map.switches = {{"a", 1, "up"},
                  {"b", 2, "up"},
                  {"above_b", 3, "up"},
                  {"above_a", 4, "up"},
                  {"alone", 5, "up"}};
  map.nodes = {{"n", 11, {"a", 3}, "up", 1, ""}, {"m", 12, {"b", 3}, "up", 1, ""}};
  map.cables = {{{"above_b", 1}, {"b", 1}, "up"}, {{"a", 1}, {"above_a", 1}, "up"}};
  const FabricLayout layout = layout_of(map, 100);
  EXPECT_LT(layout.switches.at("above_a").x, layout.switches.at("above_b").x);
  EXPECT_EQ(layout.switches.at("above_a").y, 100);
  EXPECT_EQ(layout.switches.at("alone").y, layout.switches.at("a").y);
}

}  // namespace fabric_map_svg_test
}  // namespace splitnic::control
