// The parts of several groups of cases: messages as bytes, and requests whose reply must have a
// status.
#pragma once

#include <string>
#include <string_view>

#include "base/endian.h"
#include "base/parse_message.h"
#include "conformance/case.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/idata.h"

namespace splitnic::conformance {

// An ECHO request with this much data, as a message.
ByteVector echo_message(messaging::TransactionContext context, std::size_t data_bytes);
// The reply to such a request: status 0 and the same data.
bool expect_echo(End& host, messaging::TransactionContext context, std::size_t data_bytes);
// The next cell of channel 0: a whole ECHO request.
ByteVector next_echo(End& host, messaging::TransactionContext context);
// `missing` is the ECHO of this context, and the cell before the next one of channel 0. The target
// has not taken it: the next one is early, and gets no ACK that includes both. Then it is sent, and
// both are served.
void expect_missing(End& host, const ByteVector& missing, messaging::TransactionContext context);
// `send` sends something that is dropped, each time that it is called: `number` counts from 0. The
// connection survives the first one, and the eighth within a minute ends it.
void expect_dropped(End& host, const std::function<void(unsigned number)>& send);
// The message of these big-endian words.
ByteVector words(const std::vector<std::uint32_t>& words);
// The header of a message and these words behind it.
ByteVector message(messaging::Function function, messaging::TransactionContext context,
                   const std::vector<std::uint32_t>& words);
// Patches `at` and following bytes of a cell and seals it again.
void patch(const End& host, ByteVector& cell, std::size_t at,
           const std::vector<std::uint8_t>& bytes);

inline constexpr std::size_t kVnetBytes = 12;
inline constexpr std::size_t kEthernetBytes = 14;
// An address that nobody has.
inline constexpr std::string_view kNobody = "\x02\x43\x4F\x4E\x46\x0B";
// A frame with its virtio-net header, of an experimental ethertype. `number` makes frames differ.
ByteVector frame(std::string_view to, std::string_view from, std::size_t bytes,
                 unsigned number = 0);
// The bytes of an element.
fabric::VaMh element_of(const messaging::PoolRecord& pool, std::uint32_t element,
                        std::size_t bytes);
// Writes these bytes into an element and indicates them as the two sides have agreed. Returns the
// ACK of the last cell.
std::optional<Event> write_element(End& host, const messaging::PoolRecord& pool,
                                   std::uint32_t element, const ByteVector& bytes);
// An ACK of a write.
inline std::function<bool(const Event&)> is_ack_of_data(const End& host) {
  return [channel = host.data()](const Event& e) {
    return e.kind == EventKind::kAck && e.channel == channel;
  };
}
// Skips the case on a connection of one channel: its subject are the roles of two.
bool has_two_channels(End& host);
// Attaches by a link that begins in this case, so that the terms of INIT are those of the case.
bool attach_by_new_link(Host& host);
bool attach_by_new_link(Unit& unit);
// Attaches both and starts their NICs.
bool attach_both(End& a, End& b);
// A frame of the target: an RDMA write, or SendData.
bool is_frame_of_target(const Event& event);
// The next RDMA write of the target. A target may send short frames by SendData (P-DATA-11): then
// the case is skipped.
std::optional<Event> await_write(End& host, std::string_view expected = "an RDMA write");
// The target writes this frame into a pool of the host. Returns the write.
std::optional<Event> expect_frame(End& host, const ByteVector& sent);
// The write is into an element of the pool, and the target indicates that element and the bytes: by
// idata of form A where both sides have it, else by BufferRDMAIndicate, which is awaited.
void expect_element(End& host, const Event& write, const messaging::PoolRecord& pool);
// Returns true if the message is a BufferRDMAIndicate, and one of its records is for the element of
// the pool that was written.
bool indicates(const Event& message, const messaging::PoolRecord& pool, const Event& write);
// Asks the host to announce its addresses. Returns the write of the first frame; without one the
// case is skipped: a host without an address sends none.
std::optional<Event> announced(Unit& unit);
// An error that ends the connection: returns the DISC of the target, which gets no reply.
std::optional<Event> provoke_disc(End& host);
// The target hears nothing for longer than a link stays UP, and sends nothing but INIT then.
// REQUIRES a link.
bool silence(End& host);
// Skips the case unless the target takes messages of this length.
bool can_send(End& host, std::size_t message_bytes);
// The target's pool with the fewest elements: half of it is used up soonest. REQUIRES an attached
// host.
const messaging::PoolRecord& small_pool(const End& host);

// The request gets this status; returns its reply.
std::optional<messaging::CfgUtilReply> expect_status(End& host, messaging::CfgCode code,
                                                     std::string_view data,
                                                     messaging::CfgStatus status);
// The data of a reply as a message of Protobuf.
template <class Message>
bool read(End& host, const std::optional<messaging::CfgUtilReply>& reply, Message& into) {
  if (!reply) return false;
  return host.expect(base::parse_message(reply->data, into), "data that parses in the reply");
}

}  // namespace splitnic::conformance
