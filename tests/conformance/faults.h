// Wrong implementations: each breaks one rule of the protocol, by a filter between the suite and
// the I/O unit or the host (relay.h). What the target does not check the relay repairs on its way
// in; what the target gets wrong the relay changes on its way out.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "conformance/case.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/mgmt.h"
#include "messaging/wire/message_header.h"
#include "tests/conformance/relay.h"

namespace splitnic::conformance {

struct Fault {
  std::string name;
  std::string what;        // is wrong
  std::string noticed_by;  // the case that is for it
  bool is_keyed = false;
  // A fresh rule, which may keep state.
  std::function<Rule()> make{};
  Role role = Role::kHost;  // of the suite
  // Of a switch: the same for each of its ports.
  std::function<Rule(std::size_t port)> at_port{};
  bool is_full = false;  // the target has the full profile
};

std::vector<Fault> link_faults();
std::vector<Fault> cell_faults();
std::vector<Fault> lane_faults();
std::vector<Fault> lane_restart_faults();  // of I/O units and hosts
std::vector<Fault> rule_faults();
std::vector<Fault> agreement_faults();
std::vector<Fault> repair_faults();
std::vector<Fault> completion_faults();
std::vector<Fault> spacing_faults();
std::vector<Fault> cfg_faults();
std::vector<Fault> message_faults();
std::vector<Fault> blind_faults();
std::vector<Fault> key_faults();
std::vector<Fault> host_faults();
std::vector<Fault> switch_faults();
std::vector<Fault> manager_faults();
std::vector<Fault> agent_faults();
std::vector<Fault> agent_node_faults();
std::vector<Fault> variant_faults();  // of I/O units and hosts
std::vector<Fault> all_faults();

// A rule of INITs in one direction: `change` may change the INIT, and returns false to drop it.
using ChangeInit = std::function<bool(fabric::Init& init)>;
Rule init_rule(To direction, ChangeInit change);
// The same of DATA flits. What `change` puts into `behind` follows the flit in its datagram.
using ChangeFlit =
    std::function<bool(fabric::FlitHeader& header, RelayBytes& cell, RelayBytes& behind)>;
Rule flit_rule(To direction, ChangeFlit change);
// The same of whole cells. `cell` is as it came; after `change` it is sealed again.
using ChangeCell = std::function<bool(const fabric::CellView& view, RelayBytes& cell)>;
Rule cell_rule(To direction, ChangeCell change);
// Of MGMT whose length stays.
using ChangeMgmt = std::function<bool(fabric::Mgmt& mgmt)>;
Rule mgmt_rule(To direction, ChangeMgmt change);
// Of messages in one cell on channel 0.
using ChangeMessage = std::function<bool(base::MutableBytes message)>;
Rule message_rule(To direction, messaging::Function function, ChangeMessage change);
// Bytes of the capabilities in MGMT of one kind: fields of Protobuf with their numbers.
Rule capabilities_rule(To direction, fabric::MgmtKind kind, RelayBytes from, RelayBytes to);
// The target states that it can produce no idata, and its writes have none. `theirs` is its message
// with capabilities, `ours` that of the suite.
Rule without_idata_out(fabric::MgmtKind theirs, fabric::MgmtKind ours);
// Passes on what both pass on; the second sees what the first has changed.
Rule both(Rule first, Rule second);
// The 32-bit words of a message. A word behind its end is ~0, and is not set.
std::uint32_t word_of(base::Bytes message, std::size_t number);
void set_word(base::MutableBytes message, std::size_t number, std::uint32_t value);
inline constexpr std::size_t kContextWord = 1;  // and the next one
inline constexpr std::size_t kCodeWord = 3;     // of CfgUtil
inline constexpr std::size_t kStatusWord = 4;   // of CfgUtilReply
inline constexpr std::size_t kRecordWord = 3;   // the first one of pools
inline constexpr std::size_t kRecordWords = 8;
RelayBytes bytes_of(std::initializer_list<unsigned> values);
// The bytes of a flit with this payload.
RelayBytes flit_of(const fabric::FlitHeader& header, base::Bytes payload);
// A cell that was changed gets the CRC of what it is now.
void renew_cell_crc(RelayBytes& cell);
// The first place where `from` is gets `to`, which has the same length.
bool replace(base::MutableBytes in, const RelayBytes& from, const RelayBytes& to);
// The message becomes SendData of the same length, which nobody waits for.
void become_frame(base::MutableBytes message);

// Faults of an I/O unit, with a new rule for each run.
Fault of_unit(const std::string& name, const std::string& what, const std::string& noticed_by,
              std::function<Rule()> make);
Fault of_cells(const std::string& name, const std::string& what, const std::string& noticed_by,
               To direction, const ChangeCell& change);
Fault of_messages(const std::string& name, const std::string& what, const std::string& noticed_by,
                  To direction, messaging::Function function, const ChangeMessage& change);

}  // namespace splitnic::conformance
