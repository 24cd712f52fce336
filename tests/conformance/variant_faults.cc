// Wrong implementations of the variants of a connection, and of the options of CfgUtil: I/O units,
// and hosts.
#include <memory>
#include <set>
#include <utility>

#include "messaging/wire/cfg_util.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::Op;
using messaging::CfgCode;
using messaging::Function;

// Bytes of the data of CfgUtil messages of one code.
Rule cfg_data(To direction, CfgCode code, RelayBytes from, RelayBytes to) {
  const bool is_request = direction == To::kTarget;
  const auto function = is_request ? Function::kCfgUtilRequest : Function::kCfgUtilReply;
  const std::size_t head = is_request ? 20 : 24;
  return message_rule(direction, function, [=](base::MutableBytes message) {
    if (message.size() <= head) return true;
    if (word_of(message, kCodeWord) == static_cast<std::uint32_t>(code)) {
      replace(message.subspan(head), from, to);
    }
    return true;
  });
}

// One word of a message, where it has this value.
Rule word_rule(To direction, Function function, std::size_t number, std::uint32_t from,
               std::uint32_t to) {
  return message_rule(direction, function, [=](base::MutableBytes message) {
    if (word_of(message, number) == from) set_word(message, number, to);
    return true;
  });
}

// Writes on queue pairs that carry Sends too are dropped: those of one channel.
Rule no_writes_on_one_channel(To direction) {
  auto with_sends = std::make_shared<std::set<std::uint32_t>>();
  return cell_rule(direction, [=](const CellView& view, RelayBytes&) {
    if (view.header.op == Op::kSend) with_sends->insert(view.header.dqpn.value);
    return view.header.op != Op::kRdmaWrite || !with_sends->contains(view.header.dqpn.value);
  });
}

Rule no_sends_on_uc(To direction, std::optional<Function> function) {
  return cell_rule(direction, [=](const CellView& view, RelayBytes&) {
    if (view.header.service != fabric::Service::kUc || view.header.op != Op::kSend) return true;
    const auto header = messaging::MessageHeader::parse(view.payload);
    return function && header && header->function() != *function;
  });
}

// DISC gets DISC_REP, and nothing ends.
Rule disc_ends_nothing() {
  return [in = mgmt_rule(To::kTarget,
                         [](Mgmt& m) {
                           if (m.kind == MgmtKind::kDisc) m.transaction ^= 1U;
                           return true;
                         }),
          out = mgmt_rule(To::kSuite, [](Mgmt& m) {
            if (m.kind == MgmtKind::kDiscRep) m.transaction ^= 1U;
            return true;
          })](To to, RelayBytes& datagram) { return in(to, datagram) && out(to, datagram); };
}

void add(std::vector<Fault>& all, Role role, const std::string& name, const std::string& what,
         const std::string& noticed_by, std::function<Rule()> make) {
  all.push_back({.name = name,
                 .what = what,
                 .noticed_by = "variant." + noticed_by,
                 .make = std::move(make),
                 .role = role});
}

const RelayBytes kFormA = bytes_of({0x30, 0}), kFormB = bytes_of({0x30, 1});
const RelayBytes kFormNone = bytes_of({0x30, 2});
const RelayBytes kOpaque = bytes_of({0x80, 1, 0}), kSelects = bytes_of({0x80, 1, 1});

void add_arrangements(std::vector<Fault>& all) {
  add(all, Role::kHost, "arrangement_other", "CONNECT_REP has another arrangement than the request",
      "one_channel", [] {
        return capabilities_rule(To::kSuite, MgmtKind::kConnectRep, bytes_of({0x70, 1}),
                                 bytes_of({0x70, 2}));
      });
  add(all, Role::kHost, "one_channel_takes_no_writes", "with one channel, writes are dropped",
      "one_channel_write", [] { return no_writes_on_one_channel(To::kTarget); });
  add(all, Role::kHost, "one_channel_sends_no_writes", "with one channel, no frame is written",
      "one_channel_frame", [] { return no_writes_on_one_channel(To::kSuite); });
  add(all, Role::kHost, "separate_takes_nothing", "messages on separate connections are dropped",
      "separate", [] { return no_sends_on_uc(To::kTarget, std::nullopt); });
  add(all, Role::kHost, "separate_sends_no_frames", "no SendData is sent on separate connections",
      "separate_frame", [] { return no_sends_on_uc(To::kSuite, Function::kSendData); });
  add(all, Role::kHost, "disc_ends_nothing", "DISC gets its reply and ends nothing", "separate_end",
      disc_ends_nothing);
  add(all, Role::kUnit, "host_any_arrangement", "the arrangement of CONNECT_REP is not checked",
      "host_other_arrangement", [] {
        return capabilities_rule(To::kTarget, MgmtKind::kConnectRep, bytes_of({0x70, 1}),
                                 bytes_of({0x70, 0}));
      });
}

void add_agreements(std::vector<Fault>& all) {
  const auto of_request = [](const RelayBytes& from, const RelayBytes& to) {
    return [=] { return capabilities_rule(To::kTarget, MgmtKind::kConnectReq, from, to); };
  };
  const auto of_reply = [](const RelayBytes& from, const RelayBytes& to) {
    return [=] { return capabilities_rule(To::kTarget, MgmtKind::kConnectRep, from, to); };
  };
  add(all, Role::kHost, "idata_unasked", "writes have idata although none is agreed", "idata_none",
      of_request(kFormNone, kFormA));
  add(all, Role::kHost, "idata_other_form", "idata has form A where form B is agreed",
      "idata_offset", of_request(kFormB, kFormA));
  add(all, Role::kHost, "contexts_opaque", "contexts that select flows are ignored", "context_only",
      of_request(kSelects, kOpaque));
  add(all, Role::kUnit, "host_idata_other_form", "idata has form A where form B is agreed",
      "host_idata_offset", of_reply(kFormB, kFormA));
  add(all, Role::kUnit, "host_contexts_opaque", "contexts that select flows are ignored",
      "host_context_only", of_reply(kSelects, kOpaque));
  constexpr std::size_t kSecondContext = kRecordWord + kRecordWords + 6;  // the word with the ports
  add(all, Role::kHost, "context_other_port", "a context selects the frames of another port",
      "context_selects",
      [] { return word_rule(To::kTarget, Function::kBufferRecvPool, kSecondContext, 8080, 9090); });
  const auto flushes_another = [] {
    return word_rule(To::kTarget, Function::kBufferPoolFlushRequest, 3, 0, 77);
  };
  add(all, Role::kHost, "flush_of_another", "a pool is used after the reply to its flush",
      "flush_of_one", flushes_another);
  add(all, Role::kUnit, "host_flush_of_another", "a pool is used after the reply to its flush",
      "host_flush_of_one", flushes_another);
}

// Bit 63 of a flush request is taken for 1.
Rule flushes_of_receiver_only() {
  constexpr std::uint32_t kBit = 0x80000000;
  auto changed = std::make_shared<std::set<std::uint32_t>>();  // the other half of the context
  return both(
      message_rule(To::kTarget, Function::kBufferPoolFlushRequest,
                   [=](base::MutableBytes message) {
                     const std::uint32_t high = word_of(message, kContextWord);
                     if ((high & kBit) != 0) return true;
                     changed->insert(word_of(message, kContextWord + 1));
                     set_word(message, kContextWord, high | kBit);
                     return true;
                   }),
      message_rule(To::kSuite, Function::kBufferPoolFlushReply, [=](base::MutableBytes message) {
        if (changed->erase(word_of(message, kContextWord + 1)) != 0) {
          const std::uint32_t high = word_of(message, kContextWord);
          set_word(message, kContextWord, high & ~kBit);
        }
        return true;
      }));
}

void add_sides(std::vector<Fault>& all) {
  const std::string what = "bit 63 of a flush request is not read";
  for (const auto& [role, name] :
       {std::pair(Role::kHost, "flush_any_side"), std::pair(Role::kUnit, "host_flush_any_side")}) {
    all.push_back({.name = name,
                   .what = what,
                   .noticed_by = "pool.flush_side",
                   .make = flushes_of_receiver_only,
                   .role = role});
  }
}

void add_options(std::vector<Fault>& all) {
  const auto add_cfg = [&](const std::string& name, const std::string& what,
                           const std::string& noticed_by, To direction, CfgCode code,
                           const RelayBytes& from, const RelayBytes& to) {
    all.push_back({.name = name, .what = what, .noticed_by = "cfg." + noticed_by, .make = [=] {
                     return cfg_data(direction, code, from, to);
                   }});
  };
  add_cfg("queues_more", "SET_QUEUES grants more than was requested", "set_queues", To::kSuite,
          CfgCode::kSetQueues, bytes_of({8, 1}), bytes_of({8, 5}));
  add_cfg("queues_unchecked", "SET_QUEUES of 9 is granted", "set_queues_nine", To::kTarget,
          CfgCode::kSetQueues, bytes_of({8, 9}), bytes_of({8, 8}));
  add_cfg("coalesce_other", "the reply to SET_COALESCE has other values", "set_coalesce",
          To::kSuite, CfgCode::kSetCoalesce, bytes_of({8, 50}), bytes_of({8, 101}));
  add_cfg("coalesce_time_unchecked", "any time of SET_COALESCE is granted", "set_coalesce_long",
          To::kTarget, CfgCode::kSetCoalesce, bytes_of({8, 0xA1, 0x8D, 6}),
          bytes_of({8, 0xA0, 0x8D, 6}));
  add_cfg("coalesce_frames_unchecked", "any number of SET_COALESCE is granted",
          "set_coalesce_frames", To::kTarget, CfgCode::kSetCoalesce, bytes_of({0x10, 0x81, 8}),
          bytes_of({0x10, 0x80, 8}));
  add_cfg("coalesce_bytes_unchecked", "any bytes of SET_COALESCE are granted", "set_coalesce_bytes",
          To::kTarget, CfgCode::kSetCoalesce, bytes_of({0x18, 0x81, 0x80, 0x40}),
          bytes_of({0x18, 0x80, 0x80, 0x40}));
  add_cfg("qos_levels_unchecked", "SET_QOS with four levels is granted", "set_qos_four_levels",
          To::kTarget, CfgCode::kSetQos, bytes_of({0x0A, 8, 1, 2, 3, 4}),
          bytes_of({0x0A, 8, 1, 2, 3, 3}));
  add_cfg("nics_unused", "LIST_NICS has no NIC that is in use", "list_nics", To::kSuite,
          CfgCode::kListNics, bytes_of({0x28, 1}), bytes_of({0x28, 0}));
}

}  // namespace

std::vector<Fault> variant_faults() {
  std::vector<Fault> all;
  add_arrangements(all);
  add_agreements(all);
  add_sides(all);
  add_options(all);
  return all;
}

}  // namespace splitnic::conformance
