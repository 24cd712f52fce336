// Wrong implementations of what a CONNECT_REQ asks for, and of messages of pools and CfgUtil: I/O
// units.
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/endian.h"
#include "messaging/wire/cfg_util.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::Op;
using messaging::Function;

void add_pools(std::vector<Fault>& all) {
  all.push_back(of_messages("context_checked", "a pool with a context is refused",
                            "pool.any_context", To::kTarget, Function::kBufferRecvPool,
                            [](base::MutableBytes m) {
                              constexpr std::size_t kContext = kRecordWord + 6;
                              if (m.size() >= 4 * kContext + 4 && word_of(m, kContext) != 0)
                                set_word(m, kRecordWord + 1, 0);
                              return true;
                            }));
  all.push_back(of_messages("records_apart", "each good record of a message is applied",
                            "pool.one_bad_record", To::kTarget, Function::kBufferRecvPool,
                            [](base::MutableBytes m) {
                              constexpr std::size_t kElements = kRecordWord + kRecordWords + 1;
                              const bool has_two = m.size() == 4 * (kRecordWord + 2 * kRecordWords);
                              if (has_two && word_of(m, kElements) == 0) set_word(m, kElements, 16);
                              return true;
                            }));
  all.push_back(of_messages(
      "grants_all", "BufferRecvPoolGet is granted whatever it asks for", "pool.get_is_bounded",
      To::kSuite, Function::kBufferRecvPool, [](base::MutableBytes m) {
        const bool is_granted = word_of(m, kContextWord) != 0 || word_of(m, kContextWord + 1) != 0;
        if (is_granted) set_word(m, kRecordWord + 1, 1600);
        return true;
      }));
  all.push_back(of_messages("update_of_none", "an Update of 0 elements makes none available",
                            "state.elements_returned", To::kTarget, Function::kBufferRecvPoolUpdate,
                            [](base::MutableBytes m) {
                              if (word_of(m, kRecordWord + 2) == 0) set_word(m, kRecordWord, 77777);
                              return true;
                            }));
}

void add_flushes(std::vector<Fault>& all) {
  all.push_back(of_unit("flushes_of_eight", "of the flush requests that wait only eight are kept",
                        "frame.flushes_wait", [] {
                          const auto count = std::make_shared<unsigned>(0);
                          return both(
                              init_rule(To::kSuite,
                                        [count](const fabric::Init& init) {
                                          if (init.step == fabric::InitStep::kReady) *count = 0;
                                          return true;
                                        }),
                              message_rule(To::kSuite, Function::kBufferPoolFlushReply,
                                           [count](base::MutableBytes) { return ++*count <= 8; }));
                        }));
}

void add_replies(std::vector<Fault>& all) {
  const auto of_status = [&all](const std::string& name, const std::string& what,
                                const std::string& noticed_by, messaging::CfgStatus status) {
    all.push_back(of_messages(name, what, noticed_by, To::kSuite, Function::kCfgUtilReply,
                              [status](base::MutableBytes m) {
                                if (word_of(m, kStatusWord) == static_cast<std::uint32_t>(status)) {
                                  set_word(m, kStatusWord, 0);
                                }
                                return true;
                              }));
  };
  of_status("too_long_is_ok", "a reply that would be too long has status 0", "cfg.echo_too_long",
            messaging::CfgStatus::kDeviceError);
  of_status("cfg_on_each_queue", "CfgUtil is served on each queue", "cm.second_queue",
            messaging::CfgStatus::kNotPermitted);
  all.push_back(of_unit(
      "settings_forgotten", "a new connection has the settings of power-on", "nic.settings_kept",
      [] {
        const auto connects = std::make_shared<unsigned>(0);
        const Rule links = init_rule(To::kSuite, [connects](fabric::Init& init) {
          if (init.step == fabric::InitStep::kReady) *connects = 0;
          return true;
        });
        const Rule requests = mgmt_rule(To::kTarget, [connects](const Mgmt& m) {
          if (m.kind == MgmtKind::kConnectReq) ++*connects;
          return true;
        });
        const Rule replies =
            message_rule(To::kSuite, Function::kCfgUtilReply, [connects](base::MutableBytes m) {
              const auto code = static_cast<std::uint32_t>(messaging::CfgCode::kGetState);
              if (*connects > 1 && word_of(m, kCodeWord) == code && m.size() > 40) {
                m[40] ^= std::byte{1};  // of the digest
              }
              return true;
            });
        return both(links, both(requests, replies));
      }));
  all.push_back(
      of_unit("short_dropped", "frames of fewer than 60 bytes are dropped", "frame.short", [] {
        return cell_rule(To::kSuite, [](const CellView& view, RelayBytes&) {
          constexpr std::size_t kShortest = 12 + 60;
          return view.header.op != Op::kRdmaWrite || view.header.csn != 0 ||
                 view.payload.size() >= kShortest;
        });
      }));
}

// A rule of cells that the target gets, behind a CONNECT_REQ of which this holds.
Fault behind_request(const std::string& name, const std::string& what,
                     const std::string& noticed_by,
                     const std::function<bool(const Mgmt& request)>& holds,
                     const ChangeCell& change) {
  return of_unit(name, what, noticed_by, [=] {
    const auto is_on = std::make_shared<bool>(false);
    return both(mgmt_rule(To::kTarget,
                          [is_on, holds](const Mgmt& m) {
                            if (m.kind == MgmtKind::kConnectReq) *is_on = holds(m);
                            return true;
                          }),
                cell_rule(To::kTarget, [is_on, change](const CellView& view, RelayBytes& cell) {
                  return !*is_on || change(view, cell);
                }));
  });
}

// Bytes of a CONNECT_REQ, as the target sees them.
Fault of_request(const std::string& name, const std::string& what, const std::string& noticed_by,
                 const RelayBytes& from, const RelayBytes& to) {
  return of_unit(name, what, noticed_by, [=] {
    return cell_rule(To::kTarget, [=](const CellView& view, RelayBytes& cell) {
      if (view.header.op != Op::kMgmt) return true;
      replace(cell, from, to);
      return true;
    });
  });
}

// After another CONNECT_REQ of the host its first connection still takes cells: the next ACK has
// one for the first connection behind it.
Rule first_connection_stays() {
  struct Seen {
    std::set<std::uint32_t> current, ended;
    std::optional<fabric::MacHeader> late;
  };
  const auto seen = std::make_shared<Seen>();
  return both(
      cell_rule(To::kTarget,
                [seen](const CellView& view, RelayBytes&) {
                  if (view.header.op == Op::kMgmt && view.payload.size() > 1 &&
                      view.payload[1] == static_cast<std::byte>(fabric::MgmtKind::kConnectReq)) {
                    seen->ended.merge(seen->current);
                  }
                  if (view.header.op != Op::kSend) return true;
                  if (seen->ended.contains(view.header.sqpn.value)) {
                    seen->late = view.header;
                  } else {
                    seen->current.insert(view.header.sqpn.value);
                  }
                  return true;
                }),
      flit_rule(To::kSuite, [seen](fabric::FlitHeader& flit, RelayBytes& cell, RelayBytes& behind) {
        fabric::MacHeader header = fabric::MacHeader::parse(cell.data());
        if (!seen->late || header.op != Op::kAck) return true;
        header.dqpn = seen->late->sqpn;
        header.sqpn = seen->late->dqpn;
        RelayBytes ack = cell;
        header.emit(ack.data());
        renew_cell_crc(ack);
        behind = flit_of(flit, ack);
        seen->late.reset();
        return true;
      }));
}

void add_requests_of_one_host(std::vector<Fault>& all) {
  all.push_back(of_unit("first_connection_stays",
                        "the first connection of a host takes cells after the second began",
                        "cm.second_ends_the_first", first_connection_stays));
  all.push_back(
      of_cells("kind_unchecked", "MGMT of an unknown kind is taken for CONNECT_REQ",
               "cm.kind_unknown", To::kTarget, [](const CellView& view, RelayBytes& cell) {
                 if (view.header.op != Op::kMgmt || view.payload.size() < 2) return true;
                 const auto at = static_cast<std::size_t>(view.payload.data() - cell.data());
                 if (view.payload[1] == std::byte{0x42}) cell[at + 1] = std::byte{1};
                 return true;
               }));
}

void add_connect_requests(std::vector<Fault>& all) {
  all.push_back(behind_request(
      "idata_of_flag", "the flag of CONNECT_REQ decides the form of idata", "cm.idata_flag",
      [](const Mgmt& m) { return (m.pairs[0].flags & fabric::kPairIdataFormB) != 0; },
      [](const CellView& view, RelayBytes& cell) {
        const auto at = static_cast<std::size_t>(view.payload.data() - cell.data());
        if (view.idata) base::store_be(&cell.at(at - 4), std::uint32_t{0xFFFFFFFF});
        return true;
      }));
  all.push_back(behind_request(
      "msg_max_of_pair", "MSG_MAX is that of the queue pair", "cm.msg_max_of_pair",
      [](const Mgmt& m) { return m.pairs[0].msg_max == 16; },
      [](const CellView& view, RelayBytes&) {
        return view.header.op != Op::kSend || view.payload.size() <= 16;
      }));
  all.push_back(
      of_unit("no_go_back_n", "the flag of go-back-N is not looked at", "cm.go_back_n", [] {
        return mgmt_rule(To::kTarget, [](Mgmt& m) {
          for (auto& pair : m.pairs) {
            pair.flags &= static_cast<std::uint16_t>(~fabric::kPairGoBackN);
          }
          return true;
        });
      }));
  all.push_back(of_request("any_level", "a level of any number is taken", "cm.level_of_16",
                           bytes_of({0x90, 0x01, 0x10}), bytes_of({0x90, 0x01, 0x01})));
  all.push_back(of_request("no_first_nic", "4294967295 is the number of no NIC", "cm.any_nic",
                           bytes_of({0x68, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F}),
                           bytes_of({0x68, 0xFF, 0xFF, 0xFF, 0xFF, 0x07})));
}

}  // namespace

std::vector<Fault> agreement_faults() {
  std::vector<Fault> all;
  add_pools(all);
  add_flushes(all);
  add_replies(all);
  add_connect_requests(all);
  add_requests_of_one_host(all);
  return all;
}

}  // namespace splitnic::conformance
