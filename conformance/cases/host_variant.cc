// Variants of a connection, with a host as the target. docs/protocol/channels.md
#include <algorithm>

#include "base/parse_message.h"
#include "conformance/cases/parts.h"
#include "conformance/cases/variant.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "conformance/pools.h"
#include "messaging/connect.pb.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::MgmtKind;
using messaging::Function;
using messaging::connect::Capabilities;

constexpr base::Duration kNoWrite = 200ms;

// CONNECT_REQ of the host and CONNECT_REP of these terms. Returns the capabilities of the host.
std::optional<Capabilities> agree(Unit& u, const Terms& terms) {
  if (!u.await_link()) return std::nullopt;
  const auto request = u.await_request();
  if (!request) return std::nullopt;
  u.terms.idata_form_in = terms.idata_form_in;
  u.terms.selects_flows = terms.selects_flows;
  Capabilities theirs;
  base::parse_message(request->mgmt.private_data, theirs);
  if (!u.accept(request->mgmt, u.reply_of(request->mgmt))) return std::nullopt;
  return theirs;
}

bool start(Unit& u) {
  u.await_cfg(messaging::CfgCode::kStart, 0, {});
  return u.start_nic();
}

std::optional<Event> await_disc(Unit& u, std::string_view expected) {
  return u.await_if(
      [](const Event& e) { return e.kind == EventKind::kMgmt && e.mgmt.kind == MgmtKind::kDisc; },
      expected);
}

void add_idata(UnitGroup& group) {
  group.add("host_idata_offset", "P-CH-6",
            "The host uses form B where both sides have it, and otherwise a message.", [](Unit& u) {
              const auto theirs =
                  agree(u, {.idata_form_in = messaging::connect::IDATA_FORM_OFFSET_LENGTH});
              // Not reference 0, for which the first element has one value in both forms.
              const auto pools = two_pools(u, 0);
              if (!theirs || !advertise(u, {&pools[1], 1}) || !start(u)) return;
              const auto write = announced(u);
              if (!write) return;
              if (theirs->idata_form_out() == messaging::connect::IDATA_FORM_OFFSET_LENGTH) {
                u.expect(has_form_b(*write, pools[1]), "offset and length in idata");
                return;
              }
              expect_element(u, *write, pools[1]);
            });
}

void add_indication(UnitGroup& group) {
  group.add("host_idata_none_completes", "P-DATA-6",
            "BufferRDMAIndicate comes when its write is acknowledged, and not before.",
            [](Unit& u) {
              if (!agree(u, {.idata_form_in = messaging::connect::IDATA_FORM_NONE})) return;
              if (!advertise(u) || !start(u)) return;
              if (!has_two_channels(u)) return;
              u.habits.acknowledges_data = false;
              const auto write = announced(u);
              if (!write || !u.expect(!write->idata, "no idata")) return;
              expect_indicated_late(u, *write);
            });
}

void add_contexts(UnitGroup& group) {
  group.add(
      "host_context_only", "P-CH-21",
      "The host refuses contexts that select flows, or writes no other frame into their pools.",
      [](Unit& u) {
        const auto theirs = agree(u, {.selects_flows = true});
        if (!theirs) return;
        if (theirs->context_out() != messaging::connect::POOL_CONTEXT_FLOW) {
          await_disc(u, "DISC of a host that does not place frames by contexts");
          return;
        }
        const auto pools = two_pools(u, kTo8080);
        if (!advertise(u, {&pools[1], 1}) || !start(u)) return;
        u.inbox().forget();
        if (!expect_status(u, messaging::CfgCode::kAnnounce, {}, messaging::CfgStatus::kOk)) {
          return;
        }
        u.listen(kNoWrite);
        u.expect(u.inbox().waiting(EventKind::kWrite) == 0, "no write into the pool of a flow");
      });
}

void add_flush(UnitGroup& group) {
  group.add("host_flush_of_one", "P-POOL-16",
            "After a flush of one pool of the unit the host writes into the other.", [](Unit& u) {
              if (!agree(u, {})) return;
              const auto pools = two_pools(u, 0);
              if (!advertise(u, pools) || !start(u)) return;
              send_message(u, message(Function::kBufferPoolFlushRequest, u.next_context(), {0}));
              await_message(u, Function::kBufferPoolFlushReply, "BufferPoolFlushReply");
              const auto write = announced(u);
              if (!write) return;
              u.expect(write->target.handle == pools[1].handle, "a write into the pool that stays");
            });
}

void add_arrangements(UnitGroup& group) {
  group.add_harmful("host_other_arrangement", "P-CH-18",
                    "A CONNECT_REP with another arrangement does not suit: DISC.", [](Unit& u) {
                      if (!u.await_link()) return;
                      const auto request = u.await_request();
                      if (!request) return;
                      Capabilities ours;
                      ours.ParseFromString(capabilities_of(u.terms));
                      const bool is_one = u.terms.channels == Terms::Channels::kOne;
                      ours.set_channels(is_one ? messaging::connect::CHANNELS_TWO
                                               : messaging::connect::CHANNELS_ONE);
                      u.send(u.reply_of(request->mgmt, ours.SerializeAsString()));
                      await_disc(u, "DISC of the attempt");
                    });
  group.add("host_separate", "P-CH-20",
            "A host that asks for separate connections makes both, and is served.", [](Unit& u) {
              u.serves_mode_send = true;
              if (!u.await_link()) return;
              for (const unsigned channel : {0U, 1U}) {
                const auto request = u.await_request();
                if (!request) return;
                if (u.terms.channels != Terms::Channels::kSeparate) {
                  return u.outcome().skip("the host does not ask for separate connections");
                }
                if (!u.expect(u.terms.connecting == channel, "channel 0, and then channel 1") ||
                    !u.accept(request->mgmt, u.reply_of(request->mgmt))) {
                  return;
                }
              }
              u.await_cfg(messaging::CfgCode::kInitNic, 0, "INIT_NIC");
              expect_serving(u, "a connection that serves");
            });
}

}  // namespace

std::vector<Case> host_variant_cases() {
  UnitGroup group("variant");
  add_idata(group);
  add_indication(group);
  add_contexts(group);
  add_flush(group);
  add_arrangements(group);
  return group.take();
}

}  // namespace splitnic::conformance
