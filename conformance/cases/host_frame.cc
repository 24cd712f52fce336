// Frames, with a host as the target: those that it announces its addresses with, and those that it
// gets. docs/protocol/data.md
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/bad_headers.h"
#include "conformance/cases/parts.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "conformance/pools.h"
#include "messaging/connect.pb.h"
#include "messaging/wire/buffer_recv_pool_update.h"

namespace splitnic::conformance {
namespace {

using messaging::CfgCode;
using messaging::Function;
using messaging::PoolRecord;

constexpr std::string_view kBroadcast = "\xFF\xFF\xFF\xFF\xFF\xFF";

void add_sent(UnitGroup& group) {
  group.add("host_writes", "P-DATA-5",
            "A frame of the host goes into an element of the unit's pool, indicated as agreed.",
            [](Unit& u) {
              if (!u.attach() || !u.start_nic()) return;
              const auto write = announced(u);
              if (!write) return;
              expect_element(u, *write, own_pool(u));
            });
  group.add("host_virtio_header", "P-DATA-15",
            "A frame has the virtio-net header, without an offload that was not granted.",
            [](Unit& u) {
              if (!u.attach() || !u.start_nic()) return;
              const auto write = announced(u);
              if (!write || !u.expect(write->bytes.size() >= kVnetBytes + kEthernetBytes,
                                      "a header of 12 bytes and a frame")) {
                return;
              }
              u.expect(write->bytes[0] == std::byte{0} && write->bytes[1] == std::byte{0},
                       "no partial checksum and no segmentation");
            });
  group.add("host_indicates", "P-DATA-6",
            "Without idata a write is followed by BufferRDMAIndicate.", [](Unit& u) {
              if (!u.await_link()) return;
              const auto request = u.await_request();
              if (!request) return;
              messaging::connect::Capabilities ours;
              ours.ParseFromString(capabilities_of(u.terms));
              ours.set_idata_form_in(messaging::connect::IDATA_FORM_NONE);
              const auto reply = u.reply_of(request->mgmt, ours.SerializeAsString());
              if (!u.accept(request->mgmt, reply) || !advertise(u)) return;
              u.await_cfg(CfgCode::kStart, 0, {});
              if (!u.start_nic()) return;
              const auto write = announced(u);
              if (write) expect_element(u, *write, own_pool(u));
            });
}

// Half a pool and one more of such frames: the host has to return their elements, whatever it makes
// of the frames.
using MakeFrame = std::function<ByteVector(Unit& u, const PoolRecord& pool)>;
void add_frames(UnitGroup& group, const std::string& name, const std::string& clause,
                const std::string& description, MakeFrame make) {
  group.add(name, clause, description, [make = std::move(make)](Unit& u) {
    if (!u.attach() || !u.start_nic()) return;
    const PoolRecord pool = small_pool(u);
    const ByteVector bytes = make(u, pool);
    const std::uint32_t used = pool.elements / 2 + 1;
    for (std::uint32_t i = 0; i < used && u.is_good(); ++i) {
      write_element(u, pool, i, bytes);
    }
    const auto event = await_message(u, Function::kBufferRecvPoolUpdate, "BufferRecvPoolUpdate");
    if (!event) return;
    u.expect(messaging::BufferRecvPoolUpdate::parse(event->bytes).has_value(),
             "an Update that parses");
    expect_ignored(u, "a connection that stays");
  });
}

ByteVector frame_for_all(Unit& u, const PoolRecord& pool) {
  return frame(kBroadcast, u.mac(), std::min<std::size_t>(60, pool.element_bytes - kVnetBytes));
}

void add_received(UnitGroup& group) {
  add_frames(group, "host_takes_frames", "P-POOL-13",
             "The host takes frames, and returns their elements.", frame_for_all);
  // The drop of such a frame shows at the interface of the host only.
  add_frames(group, "host_takes_short_frames", "P-POOL-13",
             "The element of a frame that is shorter than its headers comes back.",
             [](Unit&, const PoolRecord&) { return ByteVector(5); });
  for (const BadHeader& header : bad_headers()) {
    add_frames(group, "host_drops_" + header.name, "P-POOL-13",
               "The element of a frame with " + header.what + " comes back.",
               [header](Unit& u, const PoolRecord& pool) {
                 return with_header(header, frame_for_all(u, pool));
               });
  }
}

}  // namespace

std::vector<Case> host_frame_cases() {
  UnitGroup group("frame");
  add_sent(group);
  add_received(group);
  return group.take();
}

}  // namespace splitnic::conformance
