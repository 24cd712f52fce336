// RDMA writes into pools, idata, indications, and frames to another host.
// docs/protocol/data.md#idata
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_recv_pool_update.h"

namespace splitnic::conformance {
namespace {

using fabric::AckCode;
using fabric::VaMh;
using messaging::Function;
using messaging::PoolElementIdata;
using messaging::PoolRecord;

using namespace std::chrono_literals;

constexpr std::uint32_t kElementsMax = 300;      // that a case fills
constexpr base::Duration kUpdateArrives = 10ms;  // 100 us, and the way

// A reference that does not fit idata is the target's to choose: another wrong one does as well.
std::uint32_t idata_of(messaging::PoolRef pool, std::uint32_t element, std::size_t bytes) {
  const auto size = static_cast<std::uint32_t>(bytes);
  return PoolElementIdata::encode(pool, element, size).value_or(0);
}

// Skips the case if the target's elements are smaller.
bool has_room(End& h, const PoolRecord& pool, std::size_t bytes) {
  if (bytes > pool.element_bytes) h.outcome().skip("the elements of the target are too small");
  return h.is_good();
}

struct PoolAndFrame {
  PoolRecord pool;
  ByteVector frame;
};
// Attaches and starts the NIC. Returns a pool of the target, and a frame for nobody with this many
// bytes of payload that one of its elements holds; nothing if the case has ended.
std::optional<PoolAndFrame> begin_writes(End& h, std::size_t payload_bytes) {
  if (!h.attach() || !h.start_nic()) return std::nullopt;
  const PoolRecord pool = small_pool(h);
  const ByteVector bytes = frame(kNobody, h.mac(), payload_bytes);
  if (!has_room(h, pool, bytes.size())) return std::nullopt;
  return PoolAndFrame{pool, bytes};
}

bool is_nak(const Event& event) { return event.kind == EventKind::kNak; }
bool is_update(const Event& event) {
  return event.kind == EventKind::kMessage && event.function() == Function::kBufferRecvPoolUpdate;
}

// A write that the target takes and whose indication it drops, which is an error.
using MakeIdata = std::function<std::uint32_t(const PoolRecord&, std::uint32_t element)>;
void add_bad_idata(SharedGroup& group, const std::string& name, const std::string& what,
                   MakeIdata make) {
  group.add(name, "P-DATA-7", "An indication with " + what + " is dropped.",
            [make = std::move(make)](End& h) {
              const auto begun = begin_writes(h, 60);
              if (!begun) return;
              if (!h.agreed().writes_idata)
                return h.outcome().skip("the target takes no idata of form A");
              const PoolRecord& pool = begun->pool;
              const ByteVector& bytes = begun->frame;
              // Each names elements that no other one does, so that only the indication is wrong.
              expect_dropped(h, [&](unsigned number) {
                const std::uint32_t element = 2 * number % pool.elements;
                write(h, element_of(pool, element, bytes.size()), bytes, make(pool, element));
              });
              h.expect(std::ranges::none_of(h.inbox().events(), is_nak),
                       "writes that are taken, no NAK");
            });
}

// A write that check a to g refuses: NAK 0x62 with the letter of a check.
using MakeTarget = std::function<VaMh(const PoolRecord&)>;
void add_refused_access(SharedGroup& group, const std::string& name, const std::string& what,
                        const std::string& letters, MakeTarget make, const std::string& also = {}) {
  group.add_harmful(
      name, "P-MEM-1,P-MEM-4,P-RC-15,P-ACK-10" + also,
      "A write " + what + " is refused with NAK 0x62.", [letters, make = std::move(make)](End& h) {
        if (!h.attach()) return;
        const VaMh target = make(small_pool(h));
        const fabric::Psn psn = h.channel(h.data()).psn;
        const fabric::Lcn lcn = h.channel(h.data()).lcn;
        write(h, target, ByteVector(target.length), {});
        const auto nak = expect_nak(h, h.data(), AckCode::kRemoteAccess, "NAK remote access");
        if (!nak) return;
        h.expect(nak->header.psn == psn && nak->header.csn == 0, "the first cell of the write");
        h.expect(nak->ack.cumulative == lcn - 1U, "an acknowledgement of what was before it");
        h.expect(letters.find(static_cast<char>(nak->ack.detail)) != std::string::npos,
                 "the letter of the check that failed, one of " + letters);
        expect_ended_by(h, *nak, "a queue pair that takes no cell after its NAK");
      });
}

void add_writes(SharedGroup& group) {
  group.add("write", "P-DATA-7", "A write into an element is acknowledged.", [](End& h) {
    if (!h.attach() || !h.start_nic()) return;
    h.inbox().forget();
    write_element(h, small_pool(h), 0, frame(kNobody, h.mac(), 60));
    expect_ignored(h, "a write that is taken");
  });
  group.add("padded_write", "P-CELL-9", "Pad bytes are ignored, whatever they hold.", [](End& h) {
    const auto begun = begin_writes(h, 61);
    if (!begun) return;
    const auto& [pool, bytes] = *begun;
    auto head = h.cell(h.data(), fabric::Op::kRdmaWrite, fabric::Pos::kOnly);
    head.va_mh = element_of(pool, 0, bytes.size());
    if (h.agreed().writes_idata) head.idata = idata_of(pool.pool, 0, bytes.size());
    ByteVector cell = make_cell(h, head, bytes);
    patch(h, cell, cell.size() - fabric::kCrcBytes - 3, {0xFF, 0xFF, 0xFF});
    h.send_cell(cell);
    advance(h, h.data(), fabric::Pos::kOnly);
    h.await_if(is_ack_of_data(h), "an ACK");
    expect_ignored(h, "a write that is taken");
  });
  group.add("long_write", "P-RC-1", "A write of several cells is acknowledged.", [](End& h) {
    if (!h.attach() || !h.start_nic()) return;
    const auto large = std::ranges::max_element(h.agreed().pools, {}, &PoolRecord::element_bytes);
    if (large->element_bytes < kVnetBytes + kEthernetBytes)
      return h.outcome().skip("small elements only");
    const ByteVector bytes =
        frame(kNobody, h.mac(), std::min(large->element_bytes, 4000U) - kVnetBytes);
    write_element(h, *large, 0, bytes);
    expect_ignored(h, "a write that is taken");
  });
}

void add_elements(SharedGroup& group) {
  group.add(
      "returned", "P-POOL-13,P-POOL-1,P-CH-11",
      "When more than half of a pool is used, and not before, the target returns its elements.",
      [](End& h) {
        const auto begun = begin_writes(h, 60);
        if (!begun) return;
        const auto& [pool, bytes] = *begun;
        const std::uint32_t used = pool.elements / 2 + 1;
        if (used > kElementsMax) return h.outcome().skip("each pool has too many elements");
        h.inbox().forget();
        for (std::uint32_t i = 0; i + 1 < used && h.is_good(); ++i) {
          write_element(h, pool, i, bytes);
        }
        h.listen(kUpdateArrives);
        h.expect(std::ranges::none_of(h.inbox().events(), is_update),
                 "no Update while half is left");
        write_element(h, pool, used - 1, bytes);
        const auto event =
            await_message(h, Function::kBufferRecvPoolUpdate, "BufferRecvPoolUpdate");
        if (!event) return;
        const auto update = messaging::BufferRecvPoolUpdate::parse(event->bytes);
        if (!h.expect(update.has_value(), "an Update that parses")) return;
        std::vector<std::uint32_t> returned;
        for (std::size_t i = 0; i < update->size(); ++i) {
          const auto range = (*update)[i];
          h.expect(range.pool == pool.pool, "the pool that was used");
          h.expect(range.first + std::uint64_t{range.count} <= used, "elements that were used");
          for (std::uint32_t n = 0; n < range.count && h.is_good(); ++n) {
            returned.push_back(range.first + n);
          }
        }
        h.expect(!returned.empty() && returned.size() <= used, "as many elements as were used");
        for (const std::uint32_t element : returned) {
          if (h.is_good()) write_element(h, pool, element, bytes);
        }
        expect_ignored(h, "elements that may be written once more");
      });
  group.add_harmful("used_element", "P-MEM-8",
                    "An element that was not returned is not filled a second time.", [](End& h) {
                      const auto begun = begin_writes(h, 60);
                      if (!begun) return;
                      const auto& [pool, bytes] = *begun;
                      write_element(h, pool, 0, bytes);
                      expect_serving(h, "a target that has taken the frame");
                      const bool is_returned = std::ranges::any_of(h.inbox().events(), is_update);
                      if (is_returned)
                        return h.outcome().skip("the target returns each element at once");
                      write(h, element_of(pool, 0, bytes.size()), bytes, {});
                      const auto nak =
                          expect_nak(h, h.data(), AckCode::kRemoteAccess, "NAK remote access");
                      if (!nak) return;
                      h.expect(nak->ack.detail == 'f', "the letter f");
                      expect_ended_by(h, *nak, "a queue pair that takes no cell after its NAK");
                    });
}

void add_indications(SharedGroup& group) {
  add_bad_idata(group, "idata_pool_unknown", "an unknown pool",
                [](const PoolRecord&, std::uint32_t element) {
                  return idata_of(messaging::PoolRef(250), element, 72);
                });
  add_bad_idata(group, "idata_element_outside", "an element that does not exist",
                [](const PoolRecord& p, std::uint32_t) { return idata_of(p.pool, 255, 72); });
  add_bad_idata(group, "idata_other_element", "another element than was written",
                [](const PoolRecord& p, std::uint32_t element) {
                  return idata_of(p.pool, element ^ 1U, 72);
                });
  add_bad_idata(
      group, "idata_size_larger", "more bytes than were written",
      [](const PoolRecord& p, std::uint32_t element) { return idata_of(p.pool, element, 73); });
  add_bad_idata(
      group, "idata_size_smaller", "fewer bytes than were written",
      [](const PoolRecord& p, std::uint32_t element) { return idata_of(p.pool, element, 71); });
  group.add_of_two("indicate", "P-DATA-10,P-RC-18",
                   "A write without idata is indicated by BufferRDMAIndicate.", [](End& a, End& b) {
                     if (!attach_both(a, b)) return;
                     const PoolRecord pool = small_pool(a);
                     const ByteVector sent = frame(b.mac(), a.mac(), 60);
                     if (!has_room(a, pool, sent.size())) return;
                     const std::uint32_t element = pool.elements - 1;
                     write(a, element_of(pool, element, sent.size()), sent, {});
                     a.await_if(is_ack_of_data(a), "an ACK of the write");
                     send_message(a, message(Function::kBufferRdmaIndicate, messaging::kUnsolicited,
                                             {pool.pool.value, element, 1,
                                              static_cast<std::uint32_t>(sent.size())}));
                     expect_ignored(a, "an indication that is taken");
                     expect_frame(b, sent);
                   });
}

void add_bad_indications(SharedGroup& group) {
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
              [make = bad.make](End& h) {
                if (!h.attach()) return;
                const ByteVector wrong = message(Function::kBufferRdmaIndicate,
                                                 messaging::kUnsolicited, make(small_pool(h)));
                expect_dropped(h, [&](unsigned) { send_message(h, wrong); });
              });
  }
}

void add_access(SharedGroup& group) {
  add_refused_access(
      group, "handle_unknown", "with a handle that was not given", "ad", [](const PoolRecord& p) {
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
  add_refused_access(
      group, "handle_before_range", "with a handle that was not given and a range that no pool has",
      "ad",
      [](const PoolRecord& p) {
        return VaMh{fabric::VirtualAddress(0), fabric::MemoryHandle(p.handle.value ^ 0x00F00000),
                    64};
      },
      ",P-MEM-2,P-ERR-2");
  add_refused_access(
      group, "no_bytes_elsewhere", "of 0 bytes with a handle that was not given", "ad",
      [](const PoolRecord& p) {
        return VaMh{p.address, fabric::MemoryHandle(p.handle.value ^ 0x00F00000), 0};
      },
      ",P-MEM-10");
  group.add("no_bytes", "P-MEM-10", "A write of 0 bytes is legal.", [](End& h) {
    if (!h.attach()) return;
    const fabric::Lcn lcn = h.channel(h.data()).lcn;
    write(h, element_of(small_pool(h), 0, 0), {}, {});
    const auto ack =
        h.await_if([lcn, is_ack = is_ack_of_data(h)](
                       const Event& e) { return is_ack(e) && e.ack.cumulative == lcn; },
                   "an ACK of the write");
    if (ack) expect_ignored(h, "a write that is taken");
  });
}

void add_ranges(SharedGroup& group) {
  group.add_harmful(
      "long_over_the_end", "P-MEM-3",
      "A write of several cells over the end of a pool is refused at its first cell.", [](End& h) {
        if (!h.attach()) return;
        const PoolRecord pool = small_pool(h);
        const std::uint32_t mcp = h.channel(h.data()).mcp;
        if (pool.total_bytes() < mcp) return h.outcome().skip("the pools are too small");
        const fabric::VirtualAddress at(pool.address.value + pool.total_bytes() - mcp);
        write(h, {at, pool.handle, 3 * mcp}, ByteVector(3 * mcp), {});
        const auto nak = expect_nak(h, h.data(), AckCode::kRemoteAccess, "NAK remote access");
        if (!nak) return;
        h.expect(nak->header.csn == 0 && nak->ack.detail == 'e',
                 "the first cell, and the letter e");
        expect_ended_by(h, *nak, "a queue pair that takes no cell after its NAK");
      });
  Case& of_another = group.add_of_two(
      "handle_of_another", "P-MEM-7,P-SEC-5",
      "A write with the handle that another host has is refused.", [](End& a, End& b) {
        if (!a.attach() || !b.attach()) return;
        write(b, element_of(small_pool(a), 0, 64), ByteVector(64), {});
        const auto nak = expect_nak(b, b.data(), AckCode::kRemoteAccess, "NAK remote access");
        if (!nak) return;
        b.expect(nak->ack.detail == 'a' || nak->ack.detail == 'c', "the letter c, or a");
        expect_ended_by(b, *nak, "a queue pair that takes no cell after its NAK");
        expect_ignored(a, "the connection of the other host, which stays");
      });
  of_another.may_harm = true;
}

void add_access_of_channels(SharedGroup& group) {
  group.add_harmful("length_of_va_mh", "P-CELL-6",
                    "A write whose VA/MH has another length than its cells is refused.",
                    [](End& h) {
                      if (!h.attach()) return;
                      const PoolRecord pool = small_pool(h);
                      write(h, element_of(pool, 0, 128), ByteVector(64), {});
                      expect_nak(h, h.data(), AckCode::kInvalidRequest, "NAK invalid request");
                    });
  group.add_harmful("send_on_channel_1", "P-CH-7",
                    "A Send on channel 1 of the mode rdma is refused or dropped.", [](End& h) {
                      if (!h.attach() || !has_two_channels(h)) return;
                      const auto context = h.next_context();
                      send_message(h, echo_message(context, 8), 1);
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
  SharedGroup group("data");
  add_writes(group);
  add_elements(group);
  add_indications(group);
  add_bad_indications(group);
  add_access(group);
  add_ranges(group);
  add_access_of_channels(group);
  return group.take();
}

}  // namespace splitnic::conformance
