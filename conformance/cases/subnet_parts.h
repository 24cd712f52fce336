// Parts of cases in which the suite is a manager too.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "conformance/subnet.h"

namespace splitnic::conformance {

// An entry of a table that no manager of these cases sets.
inline constexpr std::size_t kUnsetLid = 77;

// A manager sweeps at least that often.
inline constexpr base::Duration kSweepEvery = std::chrono::milliseconds(500);

// Waits, 3 s at most, until the tables of all played switches follow from what is up.
bool await_right(Subnet& s);
// A manager of the suite that the target must obey, of far: its LID is the highest one, so the
// target takes over when its priority is low. None: the target has the highest priority, and the
// case is skipped.
std::optional<fabric::ManagerId> better_than_target(Subnet& s);
// SET MANAGER by the cable of east; the reply.
std::optional<OwnedSmp> set_manager(Subnet& s, fabric::ManagerId id);
// Makes the target obey better_than_target(). Returns whether it does.
bool obtain(Subnet& s);
// Once more, before it is silent.
void keep(Subnet& s);
// The reply has this status and names this manager.
bool expect_status(Subnet& s, const std::optional<OwnedSmp>& reply, fabric::SmpStatus status,
                   fabric::ManagerId manager);
// GET NODE of the target by better_than_target(); its body.
std::optional<fabric::SmpNode> node_of_target(Subnet& s);
// The link at this port of the target ends, and can come up again as that of another process.
void drop_cable(Subnet& s, std::size_t port);
// SET TABLE with one block of a table; `about` has what is not of the block, and check 0 stands for
// the right one.
OwnedSmp table_part(const PlayedSwitch::Table& table, std::uint16_t block,
                    const fabric::SmpTable& about);
// Sets both blocks of a table of the target, as better_than_target(). The status of the last part.
std::optional<fabric::SmpStatus> set_table(Subnet& s, const PlayedSwitch::Table& table,
                                           fabric::SmpTable::Stage stage, std::uint32_t changes);

}  // namespace splitnic::conformance
