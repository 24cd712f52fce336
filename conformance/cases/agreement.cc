// Fields of a CONNECT_REQ that decide something or nothing: flags and numbers of queue pairs,
// numbers of NICs and queues, partitions. docs/protocol/mgmt.md,
// docs/protocol/channels.md#capabilities
#include <algorithm>

#include "base/parse_message.h"
#include "conformance/case.h"
#include "conformance/cases/cfg_requests.h"
#include "conformance/cases/connect_parts.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "conformance/pools.h"
#include "messaging/connect.pb.h"

namespace splitnic::conformance {
namespace {

using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::MgmtReject;
using messaging::PoolRecord;
using messaging::connect::Capabilities;

constexpr std::uint32_t kAnyNic = 0xFFFFFFFF;
constexpr unsigned kWrites = 8;  // as many errors would end the connection

void add_pairs(Group& group) {
  group.add("idata_flag", "P-MGMT-7",
            "The form of idata is that of the capabilities, not that of the flag.", [](Host& h) {
              const bool is_up = connect_changed(h, [](Host&, Mgmt& m, Capabilities&) {
                for (auto& pair : m.pairs) pair.flags |= fabric::kPairIdataFormB;
              });
              if (!is_up || !advertise(h) || !h.start_nic()) return;
              const PoolRecord pool = small_pool(h);
              for (unsigned i = 0; i < kWrites && h.is_good(); ++i) {
                write_element(h, pool, i % pool.elements, frame(kNobody, h.mac(), 60, i));
              }
              expect_ignored(h, "writes that are taken");
            });
  group.add("msg_max_of_pair", "P-MGMT-8", "MSG_MAX is that of the capabilities.", [](Host& h) {
    const bool is_up =
        connect_changed(h, [](Host&, Mgmt& m, Capabilities&) { m.pairs[0].msg_max = 16; });
    const auto context = h.next_context();
    const ByteVector request = echo_message(context, 600);
    if (!is_up || !can_send(h, request.size())) return;
    send_message(h, request);
    await_reply(h, context);
  });
  group.add("go_back_n", "P-CM-8,P-RC-4",
            "With go-back-N a cell behind a gap is dropped, and gets NAK 0x60.", [](Host& h) {
              const bool is_up = connect_changed(h, [](Host&, Mgmt& m, Capabilities&) {
                m.pairs[0].flags |= fabric::kPairGoBackN;
              });
              if (!is_up) return;
              const auto first = h.next_context();
              const auto second = h.next_context();
              const ByteVector one = next_echo(h, first);
              const ByteVector two = next_echo(h, second);
              h.send_cell(two);
              if (!expect_nak(h, 0, fabric::AckCode::kSequence, "NAK sequence error")) return;
              h.send_cell(one);
              if (!await_reply(h, first)) return;
              h.expect(!h.inbox().has_message(second), "no reply to the cell that was dropped");
              h.send_cell(two);
              await_reply(h, second);
            });
  group.add("numbers_wrap", "P-GEN-5", "PSN and LCN continue with 0 behind their last values.",
            [](Host& h) {
              const bool is_up = connect_changed(h, [](Host& host, Mgmt& m, Capabilities&) {
                m.pairs[0].start_psn = host.channel(0).psn = fabric::Psn(0xFFFFFE);
                m.pairs[0].start_lcn = host.channel(0).lcn = fabric::Lcn(0xFFFE);
              });
              for (int i = 0; i < 4 && is_up && h.is_good(); ++i) {
                expect_serving(h, "a connection that serves");
              }
              expect_ignored(h, "no NAK of the cells behind the wrap");
            });
}

void add_numbers(Group& group) {
  add_accepted_request(group, "any_nic", "P-CH-23",
                       "The NIC number 4294967295 is the first that the host may use.",
                       [](Host&, Mgmt&, Capabilities& c) { c.set_nic(kAnyNic); })
      .level = Level::kShould;
}

constexpr unsigned kQueues = 2;

// The first queue of a connection of two. One that is granted one queue skips the case.
bool connect_first_queue(Host& h) {
  if (!h.link()) return false;
  Mgmt request = changed_request(h, [](Host&, Mgmt&, Capabilities& c) { c.set_queues(kQueues); });
  const auto reply = ask(h, request, MgmtKind::kConnectRep);
  if (!reply || !h.adopt(*reply)) return false;
  Capabilities theirs;
  base::parse_message(reply->private_data, theirs);
  if (theirs.queues() < kQueues) h.outcome().skip("the target grants one queue");
  h.send(h.mgmt(MgmtKind::kConnectRtu, h.transaction()));
  return h.is_good();
}
Mgmt second_request(Host& h, std::optional<std::uint32_t> level) {
  return changed_request(h, [level](Host&, Mgmt&, Capabilities& c) {
    c.set_queues(kQueues);
    c.set_queue(1);
    if (level) c.set_level(*level);
  });
}

// The channels of the second queue take the place of those of the first one.
void add_queues(Group& group) {
  group.add("second_queue", "P-CFG-11,P-CH-14",
            "Where a second queue is granted, a CfgUtil request on it gets status 4.", [](Host& h) {
              if (!connect_first_queue(h)) return;
              Mgmt second = second_request(h, {});
              const auto reply = ask(h, second, MgmtKind::kConnectRep);
              if (!reply || !h.adopt(*reply)) return;
              h.send(h.mgmt(MgmtKind::kConnectRtu, h.transaction()));
              expect_status(h, messaging::CfgCode::kGetVersion, {},
                            messaging::CfgStatus::kNotPermitted);
            });
  group.add("level_of_16", "P-CH-22", "A second queue with a level of 16 is refused.", [](Host& h) {
    if (!connect_first_queue(h)) return;
    Mgmt second = second_request(h, 16);
    const auto reply = ask(h, second, MgmtKind::kConnectRej);
    if (reply) h.expect(reply->reject == MgmtReject::kRefused, "the code refused");
  });
}

void add_partition(Group& group) {
  group.add("other_partition", "P-PART-4", "A CONNECT_REQ of another partition is dropped.",
            [](Host& h) {
              if (!h.link()) return;
              h.send(h.request(capabilities_of(h.terms)), fabric::PartitionKey(0x8ABC));
              const std::uint64_t fence = h.random().next();
              h.send(h.mgmt(MgmtKind::kDisc, fence));
              await_mgmt(h, MgmtKind::kDiscRep, fence);
            });
}

}  // namespace

std::vector<Case> agreement_cases() {
  Group group("cm");
  add_pairs(group);
  add_numbers(group);
  add_queues(group);
  add_partition(group);
  return group.take();
}

}  // namespace splitnic::conformance
