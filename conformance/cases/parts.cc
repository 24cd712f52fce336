#include "conformance/cases/parts.h"

#include <algorithm>

#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "conformance/pools.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/wire/buffer_rdma_indicate.h"

namespace splitnic::conformance {
namespace {

std::string echo_text(std::size_t data_bytes) {
  std::string data(data_bytes, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>('a' + i % 26);
  return data;
}

// The record of a BufferRDMAIndicate for the element that was written. A message may have several
// records, and the one before may be for another write.
std::optional<messaging::ConsumedRecord> record_of(const Event& message,
                                                   const messaging::PoolRecord& pool,
                                                   const Event& write) {
  if (message.kind != EventKind::kMessage) return std::nullopt;
  const auto all = messaging::BufferRdmaIndicate::parse(message.bytes);
  for (std::size_t i = 0; all && i < all->size(); ++i) {
    const messaging::ConsumedRecord record = (*all)[i];
    const bool is_inside = record.pool == pool.pool && record.first < pool.elements;
    if (is_inside && pool.element_address(record.first) == write.target.address) return record;
  }
  return std::nullopt;
}

// Returns what the target indicates about its write.
std::optional<messaging::ConsumedRecord> indicated(End& host, const Event& write,
                                                   const messaging::PoolRecord& pool) {
  if (host.agreed().reads_idata) {
    if (!host.expect(write.idata.has_value(), "idata")) return std::nullopt;
    const auto at = messaging::PoolElementIdata::decode(*write.idata);
    return messaging::ConsumedRecord{messaging::PoolRef(at.pool), at.element, 1, at.bytes};
  }
  if (!host.expect(!write.idata, "no idata")) return std::nullopt;
  const auto event = host.await_if([&](const Event& e) { return indicates(e, pool, write); },
                                   "BufferRDMAIndicate of the element that was written");
  return event ? record_of(*event, pool, write) : std::nullopt;
}

}  // namespace

bool indicates(const Event& message, const messaging::PoolRecord& pool, const Event& write) {
  return record_of(message, pool, write).has_value();
}

ByteVector echo_message(messaging::TransactionContext context, std::size_t data_bytes) {
  messaging::cfg::EchoRequest echo;
  echo.set_data(echo_text(data_bytes));
  const std::string body = echo.SerializeAsString();
  ByteVector message(messaging::CfgUtilRequest::bytes(body.size()));
  messaging::CfgUtilRequest{context, messaging::CfgCode::kEcho, base::as_bytes(body)}.emit(message);
  return message;
}

bool expect_echo(End& host, messaging::TransactionContext context, std::size_t data_bytes) {
  const auto reply = await_reply(host, context);
  if (!reply || !host.expect(reply->status == messaging::CfgStatus::kOk, "ECHO with status 0"))
    return false;
  messaging::cfg::EchoReply echo;
  return read(host, reply, echo) &&
         host.expect(echo.data() == echo_text(data_bytes), "the data of the request");
}

ByteVector next_echo(End& host, messaging::TransactionContext context) {
  const auto head = host.cell(0, fabric::Op::kSend, fabric::Pos::kOnly);
  ByteVector cell = make_cell(host, head, echo_message(context, 8));
  advance(host, 0, fabric::Pos::kOnly);
  return cell;
}

void expect_missing(End& host, const ByteVector& missing, messaging::TransactionContext context) {
  const fabric::Lcn lcn = host.channel(0).lcn - 1U;
  const auto second = host.next_context();
  const ByteVector behind = next_echo(host, second);
  host.send_cell(behind);
  const auto includes_it = [&](const Event& e) {
    return e.kind == EventKind::kAck && e.channel == 0 && e.ack.selective &&
           e.ack.cumulative - lcn >= 0;
  };
  // A target may keep the second cell or drop it, with a bitmap, NAK 0x60 or nothing as its reply.
  const auto reply = host.await_if(
      [&](const Event& e) {
        return includes_it(e) || (e.kind == EventKind::kMessage && e.message.context == context) ||
               (e.kind == EventKind::kAck && e.ack.bitmap_words > 0) || e.kind == EventKind::kNak;
      },
      {});
  const bool is_taken = reply && (reply->kind == EventKind::kMessage || includes_it(*reply));
  host.expect(!is_taken && !host.inbox().has_message(context),
              "a cell that is dropped: no reply, and no ACK that includes it");
  host.send_cell(missing);
  await_reply(host, context);
  if (!host.inbox().has_message(second)) host.send_cell(behind);
  await_reply(host, second);
}

void expect_dropped(End& host, const std::function<void(unsigned number)>& send) {
  constexpr unsigned kErrors = 8;
  send(0);
  if (!expect_ignored(host, "a connection that survives one error")) return;
  for (unsigned i = 1; i < kErrors; ++i) send(i);
  expect_ended(host, "an end of the connection by its eighth error: each of them is dropped");
}

bool can_send(End& host, std::size_t message_bytes) {
  if (!host.is_good()) return false;
  if (message_bytes <= host.agreed().message_max) return true;
  host.outcome().skip("the MSG_MAX of the target is " + std::to_string(host.agreed().message_max));
  return false;
}

std::optional<Event> write_element(End& host, const messaging::PoolRecord& pool,
                                   std::uint32_t element, const ByteVector& bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  if (size > pool.element_bytes) {
    host.outcome().skip("the elements of the target are too small");
    return std::nullopt;
  }
  const auto idata = messaging::PoolElementIdata::encode(pool.pool, element, size);
  const bool has_idata = host.agreed().writes_idata && idata;
  write(host, element_of(pool, element, size), bytes, has_idata ? idata : std::nullopt);
  const fabric::Lcn last = host.channel(host.data()).lcn - 1U;
  const auto ack =
      host.await_if([last, is_ack = is_ack_of_data(host)](
                        const Event& e) { return is_ack(e) && e.ack.cumulative == last; },
                    "an ACK of the last cell of a write");
  if (!has_idata) {
    send_message(host, message(messaging::Function::kBufferRdmaIndicate, messaging::kUnsolicited,
                               {pool.pool.value, element, 1, size}));
  }
  return ack;
}

std::optional<Event> announced(Unit& u) {
  u.inbox().forget();
  if (!expect_status(u, messaging::CfgCode::kAnnounce, {}, messaging::CfgStatus::kOk)) return {};
  auto write = await_write(u, {});
  if (!write) u.outcome().skip("the host sent no frame: its interface needs an address");
  return write;
}

std::optional<Event> provoke_disc(End& h) {
  h.habits.replies_to_disc = false;
  h.inbox().forget();
  const std::uint32_t last = own_pool(h).elements - 1;
  send_message(h, message(messaging::Function::kBufferRecvPoolUpdate, messaging::kUnsolicited,
                          {own_pool(h).pool.value, last, 1}));
  return h.await_if(
      [&h](const Event& e) {
        return e.kind == EventKind::kMgmt && e.mgmt.kind == fabric::MgmtKind::kDisc &&
               e.mgmt.transaction == h.transaction();
      },
      "DISC after an error that ends the connection");
}

bool silence(End& h) {
  using namespace std::chrono_literals;
  constexpr base::Duration kSilent = 1200ms;  // P-LINK-14: 900 ms
  constexpr base::Duration kIdles = 450ms;    // P-LINK-13: one every 200 ms
  // Not even ACKs: a frame of a host would break the silence.
  h.habits.keeps_alive = h.habits.replies_to_probes = h.habits.acknowledges = false;
  h.listen(kSilent);
  const std::size_t idles = h.inbox().idles();
  h.inbox().forget();
  h.listen(kIdles);
  h.habits.acknowledges = true;
  return h.expect(h.inbox().idles() == idles && h.inbox().waiting(EventKind::kAck) == 0,
                  "nothing but INIT on a link that is silent");
}

bool attach_by_new_link(Host& h) { return h.attach(); }
bool attach_by_new_link(Unit& u) {
  u.end_link();
  return u.attach();
}

bool attach_both(End& a, End& b) {
  return a.attach() && a.start_nic() && b.attach() && b.start_nic();
}

bool is_frame_of_target(const Event& e) {
  return e.kind == EventKind::kWrite ||
         (e.kind == EventKind::kMessage && e.function() == messaging::Function::kSendData);
}

std::optional<Event> await_write(End& host, std::string_view expected) {
  auto event = host.await_if(is_frame_of_target, expected);
  if (!event || event->kind == EventKind::kWrite) return event;
  host.outcome().skip("the target sends frames of this length by SendData");
  return std::nullopt;
}

std::optional<Event> expect_frame(End& host, const ByteVector& sent) {
  const auto write = await_write(host);
  if (!write) return std::nullopt;
  host.expect(
      write->bytes.size() == sent.size() &&
          std::equal(sent.begin() + kVnetBytes, sent.end(), write->bytes.begin() + kVnetBytes),
      "the frame that was sent");
  return write;
}

void expect_element(End& host, const Event& write, const messaging::PoolRecord& pool) {
  const auto at = indicated(host, write, pool);
  if (!at) return;
  host.expect(at->pool == pool.pool && at->count == 1 && at->first < pool.elements,
              "an element of our pool");
  host.expect(at->bytes == write.bytes.size() && write.target.length == at->bytes,
              "the bytes that were written, as they are indicated and in VA/MH");
  host.expect(
      write.target.handle == pool.handle && write.target.address == pool.element_address(at->first),
      "the address of the element");
}

ByteVector words(const std::vector<std::uint32_t>& words) {
  ByteVector out(4 * words.size());
  for (std::size_t i = 0; i < words.size(); ++i) base::store_be(&out[4 * i], words[i]);
  return out;
}

ByteVector message(messaging::Function function, messaging::TransactionContext context,
                   const std::vector<std::uint32_t>& behind) {
  ByteVector out(messaging::kHeaderBytes);
  messaging::emit_header(function, context, out);
  const ByteVector rest = words(behind);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

void patch(const End& host, ByteVector& cell, std::size_t at,
           const std::vector<std::uint8_t>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) cell.at(at + i) = std::byte{bytes[i]};
  reseal(host, cell);
}

ByteVector frame(std::string_view to, std::string_view from, std::size_t bytes, unsigned number) {
  ByteVector out(kVnetBytes + std::max<std::size_t>(bytes, kEthernetBytes));
  std::ranges::copy(base::as_bytes(to), out.begin() + kVnetBytes);
  std::ranges::copy(base::as_bytes(from), out.begin() + kVnetBytes + 6);
  base::store_be(&out[kVnetBytes + 12], std::uint16_t{0x88B5});
  for (std::size_t i = kVnetBytes + 14; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>(i + number);
  }
  return out;
}

fabric::VaMh element_of(const messaging::PoolRecord& pool, std::uint32_t element,
                        std::size_t bytes) {
  return {pool.element_address(element), pool.handle, static_cast<std::uint32_t>(bytes)};
}

bool has_two_channels(End& host) {
  if (host.terms.channels == Terms::Channels::kOne)
    host.outcome().skip("the host asks for one channel");
  return host.is_good();
}

const messaging::PoolRecord& small_pool(const End& h) {
  return *std::ranges::min_element(h.agreed().pools, {}, &messaging::PoolRecord::elements);
}

std::optional<messaging::CfgUtilReply> expect_status(End& host, messaging::CfgCode code,
                                                     std::string_view data,
                                                     messaging::CfgStatus status) {
  const auto reply = request_cfg(host, code, data);
  if (!reply) return std::nullopt;
  const std::string expected =
      std::string(name(code)) + " with status " + std::string(name(status));
  if (reply->status != status) {
    host.outcome().miss(expected, "status " + std::string(name(reply->status)));
  }
  if (!host.expect(reply->code == code, "the code of the request in the reply")) return {};
  return reply;
}

}  // namespace splitnic::conformance
