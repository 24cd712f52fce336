// Variants of a connection, with an I/O unit as the target: arrangements of the channels, forms of
// idata, contexts that select flows, and pools of which one ends. docs/protocol/channels.md
#include "conformance/cases/variant.h"

#include <algorithm>

#include "base/parse_message.h"
#include "conformance/cases/cfg_requests.h"
#include "conformance/cases/time_out.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "conformance/pools.h"
#include "messaging/connect.pb.h"

namespace splitnic::conformance {

std::vector<messaging::PoolRecord> two_pools(const End& end, std::uint64_t context) {
  messaging::PoolRecord second = own_pool(end);
  second.pool = messaging::PoolRef(1);
  second.handle = fabric::MemoryHandle(second.handle.value + 1);
  second.address = fabric::VirtualAddress(second.address.value + (std::uint64_t{1} << 32));
  second.pool_context = context;
  return {own_pool(end), second};
}

bool has_form_b(const Event& write, const messaging::PoolRecord& pool) {
  if (!write.idata) return false;
  const auto at = messaging::OffsetLengthIdata::decode(*write.idata);
  return pool.address.value + at.offset == write.target.address.value &&
         at.bytes == write.bytes.size();
}

void expect_indicated_late(End& h, const Event& write) {
  using namespace std::chrono_literals;
  constexpr base::Duration kNoIndicate = 60ms;
  const auto indicates_it = [pool = own_pool(h), &write](const Event& e) {
    return indicates(e, pool, write);
  };
  expect_serving(h, "a target that serves while a write is not acknowledged");
  h.listen(kNoIndicate);
  h.expect(std::ranges::none_of(h.inbox().events(), indicates_it),
           "no BufferRDMAIndicate before the ACK of the write");
  h.habits.acknowledges_data = true;
  acknowledge(h, h.data());
  h.await_if(indicates_it, "BufferRDMAIndicate");
}

namespace {

using namespace std::chrono_literals;
using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::MgmtReject;
using messaging::Function;
using messaging::connect::Capabilities;

constexpr base::Duration kNoReply = 300ms;

// A connection with the terms of the host. One that is refused as a variant that the target does
// not have keeps the clause too: the case is skipped. Returns the capabilities of the target.
std::optional<Capabilities> agree(Host& h, const std::string& variant,
                                  std::uint16_t mcp = fabric::kMcpMax) {
  Mgmt request = h.request(capabilities_of(h.terms));
  for (fabric::MgmtPair& pair : request.pairs) pair.mcp = std::min(pair.mcp, mcp);
  const auto event = h.ask(request);
  if (!event) return std::nullopt;
  const Mgmt& reply = event->mgmt;
  if (reply.kind == MgmtKind::kConnectRej) {
    h.expect(reply.reject == MgmtReject::kRefused || reply.reject == MgmtReject::kBadParameter,
             "the code refused or bad parameter");
    h.outcome().skip("the target does not have " + variant);
    return std::nullopt;
  }
  Capabilities theirs;
  base::parse_message(reply.private_data, theirs);
  const bool is_reply =
      h.expect(reply.kind == MgmtKind::kConnectRep, "CONNECT_REP") && h.adopt(reply) &&
      h.expect(static_cast<int>(theirs.channels()) == static_cast<int>(h.terms.channels),
               "the arrangement of the request");
  if (!is_reply) return std::nullopt;
  for (const unsigned i : {0U, 1U}) h.channel(i).mcp = std::min(h.channel(i).mcp, mcp);
  return theirs;
}

bool attach_with(Host& h, const std::string& variant) {
  return h.link() && agree(h, variant) && advertise(h);
}

// Both connections of separate channels, which are on UC.
bool connect_separate(Host& h, std::uint16_t mcp = fabric::kMcpMax) {
  h.terms.channels = Terms::Channels::kSeparate;
  if (!h.link()) return false;
  for (const unsigned channel : {0U, 1U}) {
    h.terms.connecting = channel;
    if (!agree(h, "separate connections", mcp)) return false;
    h.expect(h.channel(channel).service == fabric::Service::kUc, "service UC");
  }
  return h.is_good();
}

// A frame of host a for b, by the pools of the target.
ByteVector send_frame(Host& a, const Host& b, unsigned number) {
  ByteVector sent = frame(b.mac(), a.mac(), 60, number);
  write_element(a, small_pool(a), number, sent);
  return sent;
}

void add_one_channel(Group& group) {
  group.add("one_channel", "P-CH-19", "A host with one channel is served on it.", [](Host& h) {
    h.terms.channels = Terms::Channels::kOne;
    if (attach_with(h, "one channel")) expect_serving(h, "a connection that serves");
  });
  group.add("one_channel_write", "P-CH-19", "With one channel, channel 0 takes writes too.",
            [](Host& h) {
              h.terms.channels = Terms::Channels::kOne;
              if (!attach_with(h, "one channel") || !h.start_nic()) return;
              h.inbox().forget();
              write_element(h, small_pool(h), 0, frame("\x02\x43\x4F\x4E\x46\x0D", h.mac(), 60));
              expect_ignored(h, "a write that is taken, and messages behind it");
            });
  group.add_of_two("one_channel_frame", "P-CH-19",
                   "With one channel, the target writes frames on channel 0.",
                   [](Host& a, Host& b) {
                     b.terms.channels = Terms::Channels::kOne;
                     if (!a.attach() || !a.start_nic()) return;
                     if (!attach_with(b, "one channel") || !b.start_nic()) return;
                     expect_frame(b, send_frame(a, b, 0));
                   });
}

void add_separate(Group& group) {
  group.add("separate", "P-CH-20", "A host with separate connections is served.", [](Host& h) {
    if (connect_separate(h)) expect_serving(h, "a connection that serves");
  });
  group.add_of_two(
      "separate_frame", "P-DATA-12",
      "With separate connections a frame comes by SendData on channel 1.", [](Host& a, Host& b) {
        if (!a.attach() || !a.start_nic()) return;
        if (!connect_separate(b) || !b.start_nic()) return;
        const ByteVector sent = send_frame(a, b, 0);
        const auto event = await_message(b, Function::kSendData, "SendData");
        if (!event) return;
        constexpr std::size_t kBefore = 16 + kVnetBytes;
        b.expect(
            event->channel == 1 && event->bytes.size() >= kBefore + sent.size() - kVnetBytes &&
                std::equal(sent.begin() + kVnetBytes, sent.end(), event->bytes.begin() + kBefore),
            "the frame that was sent, on channel 1");
      });
  group.add("separate_end", "P-CH-20", "The end of one of separate connections ends the other.",
            [](Host& h) {
              if (!connect_separate(h) || !expect_serving(h, "a connection that serves")) return;
              h.send(h.mgmt(MgmtKind::kDisc, h.transaction()));
              h.await(EventKind::kMgmt, "DISC_REP");
              h.inbox().forget();
              const auto context = h.next_context();
              send_message(h, echo_message(context, 8));
              h.listen(kNoReply);
              h.expect(!h.inbox().has_message(context), "no reply on channel 0");
            });
}

// SendData with a frame for b, as the cells of channel 1.
std::vector<ByteVector> frame_cells(Host& a, const ByteVector& sent) {
  ByteVector all =
      message(Function::kSendData, a.next_context(), {static_cast<std::uint32_t>(sent.size())});
  all.insert(all.end(), sent.begin(), sent.end());
  all.resize((all.size() + 3) & ~std::size_t{3});
  const std::size_t mcp = a.channel(1).mcp;
  const auto count = static_cast<std::uint32_t>((all.size() + mcp - 1) / mcp);
  std::vector<ByteVector> cells;
  for (std::uint32_t csn = 0; csn < count; ++csn) {
    const auto pos = fabric::position_of(csn, count);
    const auto head = a.cell(1, fabric::Op::kSend, pos, static_cast<std::uint16_t>(csn));
    const std::size_t at = csn * mcp;
    cells.push_back(
        make_cell(a, head, base::Bytes(all).subspan(at, std::min(mcp, all.size() - at))));
    advance(a, 1, pos);
  }
  return cells;
}

// Host a has separate connections, and b is as always. The first frame has two cells or more.
bool attach_separate(Host& a, Host& b) {
  constexpr std::uint16_t kShortCells = 1024;
  return connect_separate(a, kShortCells) && a.start_nic() && b.attach() && b.start_nic();
}
ByteVector long_frame(const Host& a, const Host& b, unsigned number) {
  return frame(b.mac(), a.mac(), 1500, number);
}

void add_uc(Group& group) {
  group.add_of_two("uc_hole", "P-UC-2",
                   "A packet of UC without its last cell is discarded, and the next one taken.",
                   [](Host& a, Host& b) {
                     if (!attach_separate(a, b)) return;
                     const auto lost = frame_cells(a, long_frame(a, b, 1));
                     for (std::size_t i = 0; i + 1 < lost.size(); ++i) a.send_cell(lost[i]);
                     const ByteVector next = long_frame(a, b, 2);
                     for (const ByteVector& cell : frame_cells(a, next)) a.send_cell(cell);
                     expect_frame(b, next);
                     expect_ignored(a, "a connection that stays");
                   });
  group.add_of_two("uc_duplicate", "P-UC-3,P-UC-1",
                   "A cell of UC that comes twice is taken once, without an ACK.",
                   [](Host& a, Host& b) {
                     if (!attach_separate(a, b)) return;
                     const ByteVector first = long_frame(a, b, 1);
                     const ByteVector second = long_frame(a, b, 2);
                     for (const ByteVector* one : {&first, &second}) {
                       for (const ByteVector& cell : frame_cells(a, *one)) {
                         for (int i = 0; i < 2; ++i) a.send_cell(cell);
                       }
                     }
                     if (!expect_frame(b, first) || !expect_frame(b, second)) return;
                     expect_ignored(a, "a connection that stays");
                     expect_serving(b, "a connection that stays");
                     b.expect(b.inbox().waiting(EventKind::kWrite) == 0, "each frame once");
                     a.expect(a.inbox().waiting(EventKind::kAck) == 0, "no ACK on UC");
                   });
  group.add("uc_too_long", "P-UC-4", "A Send of UC that is longer than its receive is dropped.",
            [](Host& h) {
              if (!connect_separate(h)) return;
              const auto context = h.next_context();
              const std::size_t over = echo_message(context, 0).size();
              send_message(h, echo_message(context, h.agreed().message_max + 8 - over));
              expect_ignored(h, "a queue pair that continues");
              h.expect(!h.inbox().has_message(context), "no reply to a message that is too long");
            });
  group.add("separate_role", "P-CH-9", "In mode send a message that names pools is dropped.",
            [](Host& h) {
              if (!connect_separate(h)) return;
              const auto pool = own_pool(h);
              std::array<std::byte, messaging::BufferRecvPool::bytes(1)> offer{};
              messaging::BufferRecvPool::emit(messaging::kUnsolicited, std::span(&pool, 1), offer);
              expect_dropped(h, [&](unsigned) { send_message(h, offer); });
            });
}

void add_idata(Group& group) {
  group.add_of_two("idata_none", "P-DATA-6",
                   "Without idata the target indicates each write by BufferRDMAIndicate.",
                   [](Host& a, Host& b) {
                     b.terms.idata_form_in = messaging::connect::IDATA_FORM_NONE;
                     if (!attach_both(a, b)) return;
                     const auto write = expect_frame(b, send_frame(a, b, 0));
                     if (write) expect_element(b, *write, own_pool(b));
                   });
  group.add_of_two("idata_none_completes", "P-DATA-6",
                   "BufferRDMAIndicate comes when its write is acknowledged, and not before.",
                   [](Host& a, Host& b) {
                     b.terms.idata_form_in = messaging::connect::IDATA_FORM_NONE;
                     if (!attach_both(a, b)) return;
                     if (!expect_frame(b, send_frame(a, b, 0))) return;
                     await_message(b, Function::kBufferRdmaIndicate, "BufferRDMAIndicate");
                     b.habits.acknowledges_data = false;
                     const auto write = expect_frame(b, send_frame(a, b, 1));
                     if (write) expect_indicated_late(b, *write);
                   });
  group.add_of_two("idata_offset", "P-CH-6",
                   "Form B is used where both sides have it, and otherwise a message.",
                   [](Host& a, Host& b) {
                     b.terms.idata_form_in = messaging::connect::IDATA_FORM_OFFSET_LENGTH;
                     if (!a.attach() || !a.start_nic() || !b.link()) return;
                     const auto theirs = agree(b, "idata of form B");
                     // Not reference 0, for which the first element has one value in both forms.
                     const messaging::PoolRecord pool = two_pools(b, 0)[1];
                     if (!theirs || !advertise(b, {&pool, 1}) || !b.start_nic()) return;
                     const auto write = expect_frame(b, send_frame(a, b, 0));
                     if (!write) return;
                     if (theirs->idata_form_out() == messaging::connect::IDATA_FORM_OFFSET_LENGTH) {
                       b.expect(has_form_b(*write, pool), "offset and length in idata");
                       return;
                     }
                     expect_element(b, *write, pool);
                   });
}

// UDP to port 8080, of the addresses of the two hosts.
ByteVector flow_to_8080(const Host& a, const Host& b) {
  ByteVector out = frame(b.mac(), a.mac(), 60);
  constexpr std::size_t kIp = kVnetBytes + kEthernetBytes;
  std::fill(out.begin() + kIp, out.end(), std::byte{0});
  base::store_be(&out[kIp - 2], std::uint16_t{0x0800});
  base::store_be(&out[kIp], std::uint32_t{0x45000000U | 46U});
  base::store_be(&out[kIp + 8], std::uint32_t{0x40110000});  // TTL 64, UDP
  base::store_be(&out[kIp + 12], std::uint32_t{0x0A4D0001});
  base::store_be(&out[kIp + 16], std::uint32_t{0x0A4D0002});
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2) sum += base::load_be<std::uint16_t>(&out[kIp + i]);
  sum = (sum & 0xFFFFU) + (sum >> 16);
  base::store_be(&out[kIp + 10], static_cast<std::uint16_t>(~sum));
  base::store_be(&out[kIp + 20], std::uint32_t{4000U << 16 | 8080U});
  base::store_be(&out[kIp + 24], std::uint32_t{26U << 16});  // no checksum
  return out;
}

// Attaches b with pools whose contexts select flows.
bool attach_selecting(Host& a, Host& b, const std::vector<messaging::PoolRecord>& pools) {
  b.terms.selects_flows = true;
  return a.attach() && a.start_nic() && b.link() && agree(b, "pool contexts that select flows") &&
         advertise(b, pools) && b.start_nic();
}

void add_contexts(Group& group) {
  group.add_of_two(
      "context_selects", "P-CH-21",
      "A frame goes to the pool whose context selects it, another one does not.",
      [](Host& a, Host& b) {
        const auto pools = two_pools(b, kTo8080);
        if (!attach_selecting(a, b, pools)) return;
        const ByteVector flow = flow_to_8080(a, b);
        write_element(a, small_pool(a), 0, flow);
        const auto selected = expect_frame(b, flow);
        if (!selected) return;
        b.expect(selected->target.handle == pools[1].handle, "a write into the pool of the flow");
        const auto other = expect_frame(b, send_frame(a, b, 1));
        if (!other) return;
        b.expect(other->target.handle == pools[0].handle, "a write into the pool of context 0");
      });
  group.add_of_two("context_only", "P-CH-21",
                   "A frame that no context selects is not written into a pool of a flow.",
                   [](Host& a, Host& b) {
                     const auto pools = two_pools(b, kTo8080);
                     if (!attach_selecting(a, b, {pools[1]})) return;
                     send_frame(a, b, 0);
                     expect_serving(b, "a connection that stays");
                     b.expect(b.inbox().waiting(EventKind::kWrite) == 0, "no write");
                   });
}

void add_flush(Group& group) {
  group.add_of_two(
      "flush_of_one", "P-POOL-16",
      "After a flush of one of its pools the host gets frames in the other.", [](Host& a, Host& b) {
        const auto pools = two_pools(b, 0);
        if (!a.attach() || !a.start_nic() || !b.link() || !b.connect()) return;
        if (!advertise(b, pools) || !b.start_nic()) return;
        send_message(b, message(Function::kBufferPoolFlushRequest, b.next_context(), {0}));
        await_message(b, Function::kBufferPoolFlushReply, "BufferPoolFlushReply");
        b.inbox().forget();
        for (unsigned i = 0; i < 4; ++i) {
          const auto write = expect_frame(b, send_frame(a, b, i));
          if (!write) return;
          b.expect(write->target.handle == pools[1].handle, "a write into the pool that stays");
        }
      });
}

}  // namespace

std::vector<Case> variant_cases() {
  Group group("variant");
  add_one_channel(group);
  add_separate(group);
  add_uc(group);
  add_idata(group);
  add_contexts(group);
  add_flush(group);
  return group.take();
}

}  // namespace splitnic::conformance
