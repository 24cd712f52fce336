// Wrong implementations that repeat something less often than their clause has it, or more often.
#include <memory>
#include <optional>

#include "messaging/wire/message_header.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::FlitType;
using fabric::MgmtKind;
using messaging::Function;

bool is_idle(base::Bytes datagram) {
  fabric::FlitView flit;
  return fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
         flit.header.type == FlitType::kIdle;
}

// Of what `is_one` is true only each third one passes.
Rule each_third(To direction, const std::function<bool(base::Bytes datagram)>& is_one) {
  const auto count = std::make_shared<unsigned>(0);
  return [=](To to, RelayBytes& datagram) {
    return to != direction || !is_one(datagram) || ++*count % 3 == 1;
  };
}

// Behind each IDLE for which `has_more` is true comes a flit of the target once more.
Rule behind_idle(const std::shared_ptr<RelayBytes>& flit, const std::function<bool()>& has_more) {
  return [=](To to, RelayBytes& datagram) {
    if (to == To::kSuite && is_idle(datagram) && !flit->empty() && has_more()) {
      datagram.insert(datagram.end(), flit->begin(), flit->end());
    }
    return true;
  };
}

bool is_mgmt(base::Bytes datagram, MgmtKind kind) {
  fabric::FlitView flit;
  CellView view;
  fabric::Mgmt mgmt;
  return fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
         flit.header.type == FlitType::kData &&
         fabric::parse_cell(flit.payload, view) == fabric::CellError::kNone &&
         view.header.op == fabric::Op::kMgmt &&
         fabric::parse_mgmt(view.payload, mgmt) == fabric::MgmtError::kNone && mgmt.kind == kind;
}

// Of ten DISC each fourth, and the others behind each second IDLE: 400 ms apart.
Rule slow_disc() {
  const auto disc = std::make_shared<RelayBytes>();
  const auto seen = std::make_shared<unsigned>(0);
  const auto sent = std::make_shared<unsigned>(0);
  const auto idles = std::make_shared<unsigned>(0);
  const Rule thin = [=](To to, RelayBytes& datagram) {
    if (to != To::kSuite || !is_mgmt(datagram, MgmtKind::kDisc)) return true;
    *disc = datagram;
    const bool passes = ++*seen % 4 == 1;
    *sent += passes ? 1U : 0U;
    return passes;
  };
  return both(thin, behind_idle(disc, [=] { return ++*idles % 2 == 0 && ++*sent <= 10; }));
}

// The third try of INIT_NIC once more, as the next cell.
Rule fourth_try() {
  const auto next = std::make_shared<RelayBytes>();
  const auto request = std::make_shared<std::uint64_t>(0);
  const auto tries = std::make_shared<unsigned>(0);
  const Rule note = flit_rule(
      To::kSuite, [=](const fabric::FlitHeader& header, const RelayBytes& cell, RelayBytes&) {
        CellView view;
        if (fabric::parse_cell(cell, view) != fabric::CellError::kNone || view.payload.empty()) {
          return true;
        }
        const auto message = messaging::MessageHeader::parse(view.payload);
        if (view.header.op != fabric::Op::kSend || !message ||
            message->function() != Function::kCfgUtilRequest) {
          return true;
        }
        if (std::exchange(*request, message->context.value) != message->context.value) *tries = 0;
        if (++*tries != 3) return true;
        RelayBytes again = cell;
        fabric::MacHeader numbers = view.header;
        ++numbers.psn;
        ++numbers.lcn;
        numbers.emit(again.data());
        renew_cell_crc(again);
        *next = flit_of(header, again);
        return true;
      });
  return both(note, behind_idle(next, [done = std::make_shared<bool>(false)] {
                return !std::exchange(*done, true);
              }));
}

}  // namespace

std::vector<Fault> spacing_faults() {
  std::vector<Fault> all;
  all.push_back(of_unit("idle_slow", "IDLE leaves every 600 ms", "link.idle",
                        [] { return each_third(To::kSuite, is_idle); }));
  all.push_back(
      of_unit("disc_slow", "DISC leaves every 400 ms", "state.disc_ten_times", slow_disc));
  const auto of_host = [&](const std::string& name, const std::string& what,
                           const std::string& noticed_by, std::function<Rule()> make) {
    all.push_back({.name = name,
                   .what = what,
                   .noticed_by = noticed_by,
                   .make = std::move(make),
                   .role = Role::kUnit});
  };
  of_host("host_request_slow", "CONNECT_REQ leaves every 600 ms", "cm.request_repeated", [] {
    return each_third(
        To::kSuite, [](base::Bytes datagram) { return is_mgmt(datagram, MgmtKind::kConnectReq); });
  });
  of_host("host_fourth_try", "a request is tried four times", "cfg.request_is_given_up",
          fourth_try);
  return all;
}

}  // namespace splitnic::conformance
