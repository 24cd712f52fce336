// RDMA writes into pools, idata, indications, and frames to another host.
// docs/protocol/data.md#idata
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_recv_pool_update.h"

namespace splitnic::conformance {
namespace {

using fabric::AckCode;
using fabric::VaMh;
using messaging::Function;
using messaging::PoolElementIdata;
using messaging::PoolRecord;

// An address that nobody has.
constexpr std::string_view kNobody = "\x02\x43\x4F\x4E\x46\x0B";

// A write that the target takes and whose indication it drops: the connection stays.
using MakeIdata = std::function<std::uint32_t(const PoolRecord&)>;
void add_bad_idata(Group& group, const std::string& name, const std::string& what, MakeIdata make) {
  group.add(name, "P-DATA-7", "An indication with " + what + " is dropped.",
            [make = std::move(make)](Host& h) {
              if (!h.attach() || !h.start_nic()) return;
              const PoolRecord pool = small_pool(h);
              const ByteVector bytes = frame(kNobody, h.mac(), 60);
              h.write(element_of(pool, 1, bytes.size()), bytes, make(pool));
              h.expect_ignored("an indication that is dropped");
            });
}

// A write that check a to g refuses: NAK 0x62 with the letter of a check.
using MakeTarget = std::function<VaMh(const PoolRecord&)>;
void add_refused_access(Group& group, const std::string& name, const std::string& what,
                        const std::string& letters, MakeTarget make) {
  group.add_harmful(name, "P-MEM-1", "A write " + what + " is refused with NAK 0x62.",
                    [letters, make = std::move(make)](Host& h) {
                      if (!h.attach()) return;
                      const VaMh target = make(small_pool(h));
                      const fabric::Psn psn = h.channel(1).psn;
                      h.write(target, ByteVector(target.length), {});
                      const auto nak = h.expect_nak(1, AckCode::kRemoteAccess, "NAK remote access");
                      if (!nak) return;
                      h.expect(nak->header.psn == psn, "the PSN of the write");
                      h.expect(
                          letters.find(static_cast<char>(nak->ack.detail)) != std::string::npos,
                          "the letter of the check that failed, one of " + letters);
                      h.expect_ended("an end of the connection");
                    });
}

void add_writes(Group& group) {
  group.add("write", "P-DATA-7", "A write into an element is acknowledged.", [](Host& h) {
    if (!h.attach() || !h.start_nic()) return;
    const PoolRecord pool = small_pool(h);
    const ByteVector bytes = frame(kNobody, h.mac(), 60);
    h.forget_events();
    h.write(element_of(pool, 0, bytes.size()), bytes,
            PoolElementIdata::encode(pool.pool, 0, static_cast<std::uint32_t>(bytes.size())));
    const auto ack = h.await_if(
        [](const Event& e) { return e.kind == EventKind::kAck && e.channel == 1; }, "an ACK");
    if (ack) h.expect(ack->ack.cumulative == h.channel(1).lcn - 1U, "the LCN of the write");
    h.expect_ignored("a write that is taken");
  });
  group.add("padded_write", "P-CELL-9", "Pad bytes are ignored, whatever they hold.", [](Host& h) {
    if (!h.attach() || !h.start_nic()) return;
    const PoolRecord pool = small_pool(h);
    const ByteVector bytes = frame(kNobody, h.mac(), 61);
    auto head = h.cell(1, fabric::Op::kRdmaWrite, fabric::Pos::kOnly);
    head.va_mh = element_of(pool, 0, bytes.size());
    head.idata = PoolElementIdata::encode(pool.pool, 0, static_cast<std::uint32_t>(bytes.size()));
    ByteVector cell = h.make(head, bytes);
    patch(h, cell, cell.size() - fabric::kCrcBytes - 3, {0xFF, 0xFF, 0xFF});
    h.send_cell(cell);
    h.advance(1, fabric::Pos::kOnly);
    h.await_if([](const Event& e) { return e.kind == EventKind::kAck && e.channel == 1; },
               "an ACK");
    h.expect_ignored("a write that is taken");
  });
  group.add("long_write", "P-RC-1", "A write of several cells is acknowledged.", [](Host& h) {
    if (!h.attach() || !h.start_nic()) return;
    const auto large = std::ranges::max_element(h.pools(), {}, &PoolRecord::element_bytes);
    if (large->element_bytes < kVnetBytes + kEthernetBytes)
      return h.outcome().skip("small elements only");
    const ByteVector bytes =
        frame(kNobody, h.mac(), std::min(large->element_bytes, 4000U) - kVnetBytes);
    h.write(element_of(*large, 0, bytes.size()), bytes,
            PoolElementIdata::encode(large->pool, 0, static_cast<std::uint32_t>(bytes.size())));
    const fabric::Lcn last = h.channel(1).lcn - 1U;
    h.await_if(
        [last](const Event& e) {
          return e.kind == EventKind::kAck && e.channel == 1 && e.ack.cumulative == last;
        },
        "an ACK of the last cell");
    h.expect_ignored("a write that is taken");
  });
}

void add_elements(Group& group) {
  group.add(
      "returned", "P-POOL-13", "When half of a pool is used, the target returns its elements.",
      [](Host& h) {
        if (!h.attach() || !h.start_nic()) return;
        const PoolRecord pool = small_pool(h);
        const ByteVector bytes = frame(kNobody, h.mac(), 60);
        const std::uint32_t used = pool.elements / 2 + 1;
        for (std::uint32_t i = 0; i < used && h.is_good(); ++i) {
          h.write(element_of(pool, i, bytes.size()), bytes,
                  PoolElementIdata::encode(pool.pool, i, static_cast<std::uint32_t>(bytes.size())));
          h.await_if([](const Event& e) { return e.kind == EventKind::kAck && e.channel == 1; },
                     "an ACK");
        }
        const auto event = h.await_message(Function::kBufferRecvPoolUpdate, "BufferRecvPoolUpdate");
        if (!event) return;
        const auto update = messaging::BufferRecvPoolUpdate::parse(event->bytes);
        if (!h.expect(update.has_value(), "an Update that parses")) return;
        std::uint32_t returned = 0;
        for (std::size_t i = 0; i < update->size(); ++i) {
          const auto range = (*update)[i];
          h.expect(range.pool == pool.pool, "the pool that was used");
          h.expect(range.first + std::uint64_t{range.count} <= used, "elements that were used");
          returned += range.count;
        }
        h.expect(returned > 0 && returned <= used, "as many elements as were used");
        h.write(element_of(pool, (*update)[0].first, bytes.size()), bytes,
                PoolElementIdata::encode(pool.pool, (*update)[0].first,
                                         static_cast<std::uint32_t>(bytes.size())));
        h.expect_ignored("an element that may be written once more");
      });
  group.add_harmful(
      "used_element", "P-MEM-8", "An element that was not returned is not filled a second time.",
      [](Host& h) {
        if (!h.attach()) return;
        const PoolRecord pool = small_pool(h);
        const auto idata = PoolElementIdata::encode(pool.pool, 0, 64);
        h.write(element_of(pool, 0, 64), ByteVector(64), idata);
        h.await_if([](const Event& e) { return e.kind == EventKind::kAck && e.channel == 1; },
                   "an ACK of the first write");
        h.forget_events();
        h.write(element_of(pool, 0, 64), ByteVector(64), idata);
        const auto reply = h.await_if(
            [](const Event& e) {
              return e.channel == 1 && (e.kind == EventKind::kAck || e.kind == EventKind::kNak);
            },
            "a reply to the second write");
        if (!reply || reply->kind == EventKind::kAck) return;
        h.expect(reply->ack.code == AckCode::kRemoteAccess, "NAK remote access");
      });
}

// A reference that does not fit idata is the target's to choose: another wrong one does as well.
std::uint32_t idata_of(messaging::PoolRef pool, std::uint32_t element, std::uint32_t bytes) {
  return PoolElementIdata::encode(pool, element, bytes).value_or(0);
}

void add_indications(Group& group) {
  add_bad_idata(group, "idata_pool_unknown", "an unknown pool",
                [](const PoolRecord&) { return idata_of(messaging::PoolRef(250), 1, 72); });
  add_bad_idata(group, "idata_element_outside", "an element that does not exist",
                [](const PoolRecord& p) { return idata_of(p.pool, 255, 72); });
  add_bad_idata(group, "idata_other_element", "another element than was written",
                [](const PoolRecord& p) { return idata_of(p.pool, 2, 72); });
  add_bad_idata(group, "idata_size_larger", "more bytes than were written",
                [](const PoolRecord& p) { return idata_of(p.pool, 1, 73); });
  add_bad_idata(group, "idata_size_smaller", "fewer bytes than were written",
                [](const PoolRecord& p) { return idata_of(p.pool, 1, 71); });
  group.add(
      "indicate", "P-DATA-10", "A write without idata is indicated by BufferRDMAIndicate.",
      [](Host& h) {
        if (!h.attach() || !h.start_nic()) return;
        const PoolRecord pool = small_pool(h);
        const ByteVector bytes = frame(kNobody, h.mac(), 60);
        h.write(element_of(pool, 3, bytes.size()), bytes, {});
        h.await_if([](const Event& e) { return e.kind == EventKind::kAck && e.channel == 1; },
                   "an ACK of the write");
        h.send_message(message(Function::kBufferRdmaIndicate, messaging::kUnsolicited,
                               {pool.pool.value, 3, 1, static_cast<std::uint32_t>(bytes.size())}));
        h.expect_ignored("an indication that is taken");
      });
  struct Bad {
    std::string name, what;
    std::function<std::vector<std::uint32_t>(const PoolRecord&)> make;
  };
  for (const Bad& bad : std::vector<Bad>{
           {"indicate_pool_unknown", "an unknown pool",
            [](const PoolRecord&) {
              return std::vector<std::uint32_t>{9999, 0, 1, 64};
            }},
           {"indicate_outside", "an element that does not exist",
            [](const PoolRecord& p) {
              return std::vector<std::uint32_t>{p.pool.value, p.elements, 1, 64};
            }},
           {"indicate_wraps", "an end that wraps",
            [](const PoolRecord& p) {
              return std::vector<std::uint32_t>{p.pool.value, 0xFFFFFFFF, 2, p.element_bytes + 1};
            }},
           {"indicate_no_elements", "0 elements",
            [](const PoolRecord& p) {
              return std::vector<std::uint32_t>{p.pool.value, 0, 0, 64};
            }},
           {"indicate_no_bytes", "0 bytes",
            [](const PoolRecord& p) {
              return std::vector<std::uint32_t>{p.pool.value, 0, 1, 0};
            }},
           {"indicate_too_many_bytes", "more bytes than its elements have",
            [](const PoolRecord& p) {
              return std::vector<std::uint32_t>{p.pool.value, 0, 1, p.element_bytes + 1};
            }},
           {"indicate_too_few_bytes", "elements that its bytes do not need",
            [](const PoolRecord& p) {
              return std::vector<std::uint32_t>{p.pool.value, 0, 2, 64};
            }},
           {"indicate_twice", "an element that it names twice", [](const PoolRecord& p) {
              return std::vector<std::uint32_t>{p.pool.value, 0, 1, 64, p.pool.value, 0, 1, 64};
            }}}) {
    group.add(bad.name, "P-DATA-10", "A BufferRDMAIndicate with " + bad.what + " is dropped.",
              [make = bad.make](Host& h) {
                if (!h.attach()) return;
                h.send_message(message(Function::kBufferRdmaIndicate, messaging::kUnsolicited,
                                       make(small_pool(h))));
                h.expect_ignored("an indication that is dropped");
              });
  }
}

void add_access(Group& group) {
  add_refused_access(
      group, "handle_unknown", "with a handle that was not given", "a", [](const PoolRecord& p) {
        return VaMh{p.address, fabric::MemoryHandle(p.handle.value ^ 0x00F00000), 64};
      });
  add_refused_access(group, "before_the_pool", "before the start of a pool", "e",
                     [](const PoolRecord& p) {
                       return VaMh{fabric::VirtualAddress(p.address.value - 64), p.handle, 64};
                     });
  add_refused_access(
      group, "behind_the_pool", "behind the end of a pool", "e", [](const PoolRecord& p) {
        return VaMh{fabric::VirtualAddress(p.address.value + p.total_bytes()), p.handle, 64};
      });
  add_refused_access(group, "over_the_end", "over the end of a pool", "e", [](const PoolRecord& p) {
    return VaMh{fabric::VirtualAddress(p.address.value + p.total_bytes() - 60), p.handle, 64};
  });
  add_refused_access(group, "address_wraps", "whose address wraps", "e", [](const PoolRecord& p) {
    return VaMh{fabric::VirtualAddress(0xFFFFFFFFFFFFFFE0), p.handle, 64};
  });
  add_refused_access(group, "address_zero", "at address 0", "e", [](const PoolRecord& p) {
    return VaMh{fabric::VirtualAddress(0), p.handle, 64};
  });
  group.add_harmful("length_of_va_mh", "P-CELL-6",
                    "A write whose VA/MH has another length than its cells is refused.",
                    [](Host& h) {
                      if (!h.attach()) return;
                      const PoolRecord pool = small_pool(h);
                      h.write(element_of(pool, 0, 128), ByteVector(64), {});
                      h.expect_nak(1, AckCode::kInvalidRequest, "NAK invalid request");
                    });
  group.add_harmful("send_on_channel_1", "P-CH-7",
                    "A Send on channel 1 of the mode rdma is refused or dropped.", [](Host& h) {
                      if (!h.attach()) return;
                      const auto context = h.next_context();
                      h.send_message(echo_message(context, 8), 1);
                      const auto reply = h.await_if(
                          [](const Event& e) {
                            return e.channel == 1 &&
                                   (e.kind == EventKind::kNak || e.kind == EventKind::kAck);
                          },
                          "a reply to the Send");
                      if (!reply) return;
                      const auto served = h.await_if(
                          [context](const Event& e) {
                            return e.kind == EventKind::kMessage && e.message.context == context;
                          },
                          {});
                      h.expect(!served, "no reply to a message on channel 1");
                    });
}

}  // namespace

std::vector<Case> data_cases() {
  Group group("data");
  add_writes(group);
  add_elements(group);
  add_indications(group);
  add_access(group);
  return group.take();
}

}  // namespace splitnic::conformance
