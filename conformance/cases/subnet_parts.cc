#include "conformance/cases/subnet_parts.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace splitnic::conformance {

using fabric::ManagerId;
using fabric::SmpAttribute;
using fabric::SmpMethod;
using fabric::SmpStatus;
using fabric::SmpTable;

bool await_right(Subnet& s) {
  return s.await(
      "tables that follow from what is up", [&] { return s.are_tables_right(); },
      std::chrono::seconds{3});
}

std::optional<ManagerId> better_than_target(Subnet& s) {
  if (!s.manager()) return std::nullopt;
  if (s.manager()->priority == UINT8_MAX) {
    s.outcome().skip("the manager has the highest priority: start it with a lower one");
    return std::nullopt;
  }
  return ManagerId{kFarSwitchLid, UINT8_MAX};
}

std::optional<OwnedSmp> set_manager(Subnet& s, ManagerId id) {
  return s.ask(Subnet::request(SmpMethod::kSet, SmpAttribute::kManager, id),
               "a reply to SET MANAGER");
}

bool obtain(Subnet& s) {
  const auto better = better_than_target(s);
  return better && expect_status(s, set_manager(s, *better), SmpStatus::kDone, *better);
}

void keep(Subnet& s) { obtain(s); }

bool expect_status(Subnet& s, const std::optional<OwnedSmp>& reply, SmpStatus status,
                   ManagerId manager) {
  if (!reply) return false;
  return s.expect(reply->smp.status == status, "status " + std::string(name(status))) &&
         s.expect(reply->smp.manager == manager, "the manager that the switch obeys");
}

std::optional<fabric::SmpNode> node_of_target(Subnet& s) {
  const auto better = better_than_target(s);
  return better ? s.own_node(*better) : std::nullopt;
}

void drop_cable(Subnet& s, std::size_t port) {
  Node& end = s.end(port);
  end.send(end.init(fabric::InitStep::kBye));
  end.begin_instance(end.config().instance ^ 0x100);
}

OwnedSmp table_part(const PlayedSwitch::Table& table, std::uint16_t block, const SmpTable& about) {
  OwnedSmp set = Subnet::request(SmpMethod::kSet, SmpAttribute::kTable, {kFarSwitchLid, UINT8_MAX});
  SmpTable part = about;
  part.block = block;
  part.ports = base::Bytes(table).subspan(block * fabric::kSmpBlockLids, fabric::kSmpBlockLids);
  if (part.check == 0) part.check = PlayedSwitch::check_of(table);
  set.body.resize(part.bytes());
  fabric::emit_smp_table(set.body, part);
  return set;
}

std::optional<SmpStatus> set_table(Subnet& s, const PlayedSwitch::Table& table,
                                   SmpTable::Stage stage, std::uint32_t changes) {
  std::optional<SmpStatus> status;
  for (const std::uint16_t block : std::array<std::uint16_t, 2>{0, 1}) {
    const auto reply =
        s.ask(table_part(table, block, {.stage = stage, .parts = 2, .changes = changes}),
              "a reply to SET TABLE");
    if (!reply) return std::nullopt;
    status = reply->smp.status;
  }
  return status;
}

}  // namespace splitnic::conformance
