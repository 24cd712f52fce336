// The forms of the map of a fabric.
#include "control/report/fabric_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitnic::control {
namespace fabric_map_test {

using ::testing::HasSubstr;
using ::testing::Not;

FabricMap ring_of_two() {
  return {.manager = "sw1",
          .switches = {{"sw1", 1, "up"}, {"sw2", 2, "silent"}},
          .nodes = {{"host \"a\"\n", 11, {"sw1", 3}, "up", 1, "laptop\n"}},
          .cables = {{{"sw1", 1}, {"sw2", 2}, "down"}}};
}

TEST(FabricMapTest, S004_19_as_a_table) {
  EXPECT_EQ(fabric_map_text(ring_of_two(), FabricMapForm::kText),
            "subnet manager: sw1\n"
            "\nswitch  lid  state\nsw1     1    up\nsw2     2    silent\n"
            "\nnode       lid  at     state  program  cells/s\n"
            "host \"a\"?  11   sw1:3  up     laptop?  -\n"
            "\ncable  to     state  cells/s  back\nsw1:1  sw2:2  down   -        -\n");
}

TEST(FabricMapTest, S004_19_as_json) {
  EXPECT_EQ(
      fabric_map_text(ring_of_two(), FabricMapForm::kJson),
      R"({"manager":"sw1","switches":[{"name":"sw1","lid":1,"state":"up"},)"
      R"({"name":"sw2","lid":2,"state":"silent"}],)"
      R"("nodes":[{"name":"host \"a\"\n","lid":11,"lids":1,"at":"sw1:3","state":"up",)"
      R"("program":"laptop\n","cells_per_second":null}],)"
      R"("cables":[{"ends":["sw1:1","sw2:2"],"state":"down","cells_per_second":[null,null]}]})"
      "\n");
}

TEST(FabricMapTest, S004_19_as_a_graph) {
  const std::string dot = fabric_map_text(ring_of_two(), FabricMapForm::kDot);
  EXPECT_THAT(dot, HasSubstr(R"x("switch sw1" [shape=box, label="sw1 (LID 1)", penwidth=2];)x"));
  EXPECT_THAT(dot, HasSubstr(R"("switch sw1" -- "switch sw2" [style=dashed, color=red, )"
                             R"(label="down", taillabel="1", headlabel="2"];)"));
  EXPECT_THAT(dot, HasSubstr(R"x(label="host \"a\"? (LID 11)")x")) << "a quote is escaped";
  EXPECT_THAT(dot, Not(HasSubstr("label=\"up\"")));
}

TEST(FabricMapTest, S004_18_the_lids_of_a_port) {
  FabricMap map = ring_of_two();
  map.nodes[0].lid = 12;
  map.nodes[0].lids = 4;
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kText),
              HasSubstr("  12 to 15  sw1:3  up     laptop?  -\n"));
  map.nodes[0].program.clear();
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kText),
              HasSubstr("  sw1:3  up     -        -\n"));
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kJson), HasSubstr(R"("lid":12,"lids":4,)"));
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kDot), HasSubstr("(LID 12 to 15)"));
}

// Of a node out of the switch, of a cable out of both ends.
TEST(FabricMapTest, S004_19_loads) {
  FabricMap map = ring_of_two();
  map.nodes[0].at.cells_per_second = 12345;
  map.cables[0].a.cells_per_second = 700;
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kText), HasSubstr("  laptop?  12345\n"));
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kText),
              HasSubstr("\nsw1:1  sw2:2  down   700      -\n"));
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kDot), Not(HasSubstr("700")))
      << "the label of a cable that is down is its state";
  map.cables[0].state = "up";
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kDot),
              HasSubstr(R"("switch sw2" [label="700 / - cells/s", taillabel="1")"));
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kDot),
              HasSubstr(R"([label="12345 cells/s", taillabel="3"])"));
  map.cables[0].b.cells_per_second = 0;
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kText),
              HasSubstr("\nsw1:1  sw2:2  up     700      0\n"));
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kJson),
              HasSubstr(R"("state":"up","cells_per_second":[700,0]})"));
  EXPECT_THAT(fabric_map_text(map, FabricMapForm::kJson),
              HasSubstr(R"("program":"laptop\n","cells_per_second":12345})"));
}

TEST(FabricMapTest, forms_by_name) {
  for (const auto form :
       {FabricMapForm::kText, FabricMapForm::kJson, FabricMapForm::kDot, FabricMapForm::kSvg}) {
    EXPECT_EQ(parse_fabric_map_form(name(form)), form);
  }
  EXPECT_EQ(name(FabricMapForm::kSvg), "svg");
  EXPECT_FALSE(parse_fabric_map_form("png").has_value());
  EXPECT_FALSE(parse_fabric_map_form("").has_value());
}

}  // namespace fabric_map_test
}  // namespace splitnic::control
