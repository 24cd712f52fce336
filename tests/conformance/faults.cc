#include "tests/conformance/faults.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "base/crc32c.h"
#include "base/endian.h"

namespace splitnic::conformance {

RelayBytes flit_of(const fabric::FlitHeader& header, base::Bytes payload) {
  RelayBytes out(fabric::kFlitHeaderBytes + payload.size());
  fabric::emit_flit(out, header, payload);
  return out;
}

void renew_cell_crc(RelayBytes& cell) {
  const std::size_t end = cell.size() - fabric::kCrcBytes;
  base::store_be(cell.data() + end, base::crc32c(base::Bytes(cell).first(end)));
}

Rule init_rule(To direction, ChangeInit change) {
  return [direction, change = std::move(change)](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::Init init;
    if (to != direction || fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
        flit.header.type != fabric::FlitType::kInit || (flit.header.ctl & 0x20U) != 0 ||
        fabric::parse_init(flit.payload, init) != fabric::InitError::kNone) {
      return true;
    }
    const RelayBytes filler(datagram.begin() + static_cast<std::ptrdiff_t>(flit.bytes()),
                            datagram.end());
    if (!change(init)) return false;
    std::array<std::byte, fabric::kInitBytes> payload{};
    fabric::emit_init(payload.data(), init);
    datagram = flit_of(flit.header, payload);
    datagram.insert(datagram.end(), filler.begin(), filler.end());
    return true;
  };
}

Rule flit_rule(To direction, ChangeFlit change) {
  return [direction, change = std::move(change)](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    if (to != direction || fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
        flit.header.type != fabric::FlitType::kData) {
      return true;
    }
    fabric::FlitHeader header = flit.header;
    RelayBytes cell(flit.payload.begin(), flit.payload.end());
    RelayBytes behind;
    if (!change(header, cell, behind)) return false;
    datagram = flit_of(header, cell);
    datagram.insert(datagram.end(), behind.begin(), behind.end());
    return true;
  };
}

Rule cell_rule(To direction, ChangeCell change) {
  return [direction, change = std::move(change)](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::CellView view;
    if (to != direction || fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
        flit.header.type != fabric::FlitType::kData || flit.bytes() != datagram.size() ||
        flit.payload.size() < fabric::kCellBytesMin) {
      return true;
    }
    RelayBytes cell(flit.payload.begin(), flit.payload.end());
    // The header is there whatever else is wrong.
    if (fabric::parse_cell(cell, view) != fabric::CellError::kNone) {
      view = fabric::CellView{};
      fabric::MacHeader::parse(cell.data(), view.header);
    }
    const RelayBytes before = cell;
    if (!change(view, cell)) return false;
    if (cell == before) return true;
    renew_cell_crc(cell);
    datagram = flit_of(flit.header, cell);
    return true;
  };
}

Rule mgmt_rule(To direction, ChangeMgmt change) {
  return cell_rule(direction,
                   [change = std::move(change)](const fabric::CellView& view, RelayBytes& cell) {
                     fabric::Mgmt mgmt;
                     if (view.header.op != fabric::Op::kMgmt ||
                         fabric::parse_mgmt(view.payload, mgmt) != fabric::MgmtError::kNone) {
                       return true;
                     }
                     const std::size_t bytes = mgmt.bytes();
                     if (!change(mgmt)) return false;
                     if (mgmt.bytes() != bytes) return true;
                     RelayBytes payload(bytes);
                     fabric::emit_mgmt(payload, mgmt);
                     std::ranges::copy(payload, cell.begin() + (view.payload.data() - cell.data()));
                     return true;
                   });
}

Rule capabilities_rule(To direction, fabric::MgmtKind kind, RelayBytes from, RelayBytes to) {
  auto changed = std::make_shared<RelayBytes>();
  return mgmt_rule(direction, [=](fabric::Mgmt& mgmt) {
    if (mgmt.kind != kind) return true;
    changed->assign(mgmt.private_data.begin(), mgmt.private_data.end());
    if (replace(*changed, from, to)) mgmt.private_data = *changed;
    return true;
  });
}

// The node name of the suite makes room for idata_form_in 2: the target writes without idata.
Rule without_idata_out(fabric::MgmtKind theirs, fabric::MgmtKind ours) {
  return both(
      capabilities_rule(To::kSuite, theirs, bytes_of({0x38, 1}), bytes_of({0x38, 2})),
      capabilities_rule(To::kTarget, ours, bytes_of({0x42, 7, 'c', 'o', 'n', 'f', 'o', 'r', 'm'}),
                        bytes_of({0x42, 5, 'c', 'o', 'n', 'f', 'o', 0x30, 2})));
}

Rule message_rule(To direction, messaging::Function function, ChangeMessage change) {
  return cell_rule(direction, [function, change = std::move(change)](const fabric::CellView& view,
                                                                     RelayBytes& cell) {
    if (view.header.op != fabric::Op::kSend || view.header.csn != 0 || view.payload.empty()) {
      return true;
    }
    const auto header = messaging::MessageHeader::parse(view.payload);
    if (!header || header->function_code != static_cast<std::uint16_t>(function)) return true;
    const auto at = static_cast<std::size_t>(view.payload.data() - cell.data());
    return change(base::MutableBytes(cell).subspan(at, view.payload.size()));
  });
}

Rule both(Rule first, Rule second) {
  return [first = std::move(first), second = std::move(second)](To to, RelayBytes& datagram) {
    return first(to, datagram) && second(to, datagram);
  };
}

Fault of_unit(const std::string& name, const std::string& what, const std::string& noticed_by,
              std::function<Rule()> make) {
  return {.name = name, .what = what, .noticed_by = noticed_by, .make = std::move(make)};
}

Fault of_cells(const std::string& name, const std::string& what, const std::string& noticed_by,
               To direction, const ChangeCell& change) {
  return of_unit(name, what, noticed_by, [=] { return cell_rule(direction, change); });
}

Fault of_messages(const std::string& name, const std::string& what, const std::string& noticed_by,
                  To direction, messaging::Function function, const ChangeMessage& change) {
  return of_unit(name, what, noticed_by, [=] { return message_rule(direction, function, change); });
}

std::uint32_t word_of(base::Bytes message, std::size_t number) {
  if (message.size() < 4 * number + 4) return ~std::uint32_t{0};
  return base::load_be<std::uint32_t>(&message[4 * number]);
}

void set_word(base::MutableBytes message, std::size_t number, std::uint32_t value) {
  if (message.size() < 4 * number + 4) return;
  base::store_be(&message[4 * number], value);
}

RelayBytes bytes_of(std::initializer_list<unsigned> values) {
  RelayBytes out;
  for (const unsigned value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

bool replace(base::MutableBytes in, const RelayBytes& from, const RelayBytes& to) {
  const auto at = std::search(in.begin(), in.end(), from.begin(), from.end());
  if (at == in.end()) return false;
  std::ranges::copy(to, at);
  return true;
}

void become_frame(base::MutableBytes message) {
  messaging::emit_header(messaging::Function::kSendData, messaging::kUnsolicited, message);
  set_word(message, 3, static_cast<std::uint32_t>(message.size() - 16));
}

std::vector<Fault> all_faults() {
  std::vector<Fault> all;
  for (auto* part :
       {&link_faults, &cell_faults, &message_faults, &blind_faults, &key_faults, &lane_faults,
        &lane_restart_faults, &rule_faults, &agreement_faults, &repair_faults, &completion_faults,
        &spacing_faults, &cfg_faults, &host_faults, &switch_faults, &manager_faults, &agent_faults,
        &agent_node_faults, &variant_faults}) {
    auto some = part();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace splitnic::conformance
