// Pools: what is advertised, returned and flushed. docs/protocol/pools.md#bufferrecvpool
#include <algorithm>
#include <iterator>

#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "conformance/pools.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_recv_pool_update.h"

namespace splitnic::conformance {
namespace {

using messaging::Function;
using messaging::PoolRecord;
using messaging::PoolRef;
using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kPoolsMax = 272;  // that a target keeps state for
constexpr base::Duration kGranted =
    std::chrono::milliseconds(100);  // the target would have granted

void append(Words& to, const PoolRecord& record) {
  for (const std::uint32_t word :
       {record.pool.value, record.elements, record.element_bytes, record.handle.value,
        static_cast<std::uint32_t>(record.address.value >> 32),
        static_cast<std::uint32_t>(record.address.value),
        static_cast<std::uint32_t>(record.pool_context >> 32),
        static_cast<std::uint32_t>(record.pool_context)}) {
    to.push_back(word);
  }
}

PoolRecord another_pool(std::uint32_t number) {
  return {PoolRef(number),
          16,
          2048,
          fabric::MemoryHandle(0x3A00 + number),
          fabric::VirtualAddress(0x7E0000000000 + (std::uint64_t{number} << 24)),
          0};
}

std::optional<Event> flush(End& h, const Words& pools, bool of_target) {
  auto context = h.next_context();
  if (of_target) context = messaging::for_receivers_pools(context);
  h.inbox().forget();
  send_message(h, message(Function::kBufferPoolFlushRequest, context, pools));
  const auto reply = await_message(h, Function::kBufferPoolFlushReply, "BufferPoolFlushReply");
  if (!reply || !h.expect(reply->message.context == context, "the context of the request"))
    return {};
  h.expect(reply->bytes.size() == messaging::kHeaderBytes, "a reply of 12 bytes");
  return reply;
}

void offer(End& h, const PoolRecord& pool) {
  Words behind;
  append(behind, pool);
  send_message(h, message(Function::kBufferRecvPool, h.next_context(), behind));
}

// A frame of a for b arrives in an element of this pool of b.
void expect_frame_in(End& a, End& b, const PoolRecord& pool) {
  const ByteVector sent = frame(b.mac(), a.mac(), 60);
  write_element(a, small_pool(a), 0, sent);
  const auto write = expect_frame(b, sent);
  if (!write) return;
  const std::uint64_t offset = write->target.address.value - pool.address.value;
  b.expect(write->target.handle == pool.handle && offset < pool.total_bytes(),
           "a write into the pool that was advertised last");
}

// A BufferRecvPool that is dropped whole.
using ChangeRecord = std::function<void(PoolRecord&)>;
void add_bad_pool(SharedGroup& group, const std::string& name, const std::string& what,
                  ChangeRecord change) {
  group.add(name, "P-POOL-3", "A pool with " + what + " is dropped.",
            [change = std::move(change)](End& h) {
              if (!h.attach()) return;
              PoolRecord record = another_pool(5);
              change(record);
              Words behind;
              append(behind, record);
              expect_dropped(h, [&](unsigned) {
                send_message(h, message(Function::kBufferRecvPool, h.next_context(), behind));
              });
            });
}

void add_advertised(SharedGroup& group) {
  group.add("advertised", "P-POOL-2", "The target advertises pools that it may have.", [](End& h) {
    if (!h.attach()) return;
    h.expect(!h.agreed().pools.empty(), "one pool at least");
    std::vector<std::uint32_t> references;
    for (const PoolRecord& pool : h.agreed().pools) {
      references.push_back(pool.pool.value);
      h.expect(pool.elements > 0 && pool.element_bytes > 0, "elements and a size");
      h.expect(pool.is_legal(), "a range that does not wrap");
      h.expect(!h.agreed().writes_idata ||
                   messaging::PoolElementIdata::suits(pool.pool, pool.elements, pool.element_bytes),
               "pools whose elements idata of form A can name");
    }
    std::ranges::sort(references);
    h.expect(std::ranges::adjacent_find(references) == references.end(), "references that differ");
  });
}

void add_more_pools(SharedGroup& group) {
  group.add_of_two("another_pool", "P-POOL-2", "A host may advertise another pool later.",
                   [](End& a, End& b) {
                     if (!attach_both(a, b)) return;
                     offer(b, another_pool(5));
                     if (!flush(b, {0}, false)) return;
                     expect_serving(b, "a target that has taken the pool");
                     expect_frame_in(a, b, another_pool(5));
                   });
}

// Records that are good and records that are not.
void add_records(SharedGroup& group) {
  group.add_of_two("any_context", "P-POOL-4", "A pool may have any context.", [](End& a, End& b) {
    if (!attach_both(a, b)) return;
    PoolRecord pool = another_pool(5);
    pool.pool_context = 0xFEDCBA9876543210;
    offer(b, pool);
    if (flush(b, {0}, false)) expect_frame_in(a, b, pool);
  });
  group.add_of_two("one_bad_record", "P-MSG-6", "A message with one bad record changes nothing.",
                   [](End& a, End& b) {
                     if (!attach_both(a, b)) return;
                     Words behind;
                     append(behind, another_pool(5));
                     append(behind, another_pool(6));
                     behind.at(9) = 0;  // the elements of the second
                     send_message(b, message(Function::kBufferRecvPool, b.next_context(), behind));
                     if (!flush(b, {0}, false)) return;
                     b.inbox().forget();
                     write_element(a, small_pool(a), 0, frame(b.mac(), a.mac(), 60));
                     expect_serving(a, "a target that has taken the frame");
                     expect_serving(b, "a connection that survives one error");
                     b.expect(b.inbox().waiting(EventKind::kWrite) == 0,
                              "no write into either pool");
                   });
}

void add_bad_pools(SharedGroup& group) {
  add_bad_pool(group, "no_elements", "0 elements", [](PoolRecord& p) { p.elements = 0; });
  add_bad_pool(group, "no_size", "elements of 0 bytes", [](PoolRecord& p) { p.element_bytes = 0; });
  // Not more elements than a target keeps state for: P-POOL-3 has 66,048 of them.
  add_bad_pool(group, "too_large", "more than 2^48 bytes", [](PoolRecord& p) {
    p.elements = 65'600;
    p.element_bytes = 0xFFFFFFFF;
  });
  add_bad_pool(group, "wraps", "an end that wraps",
               [](PoolRecord& p) { p.address = fabric::VirtualAddress(0xFFFFFFFFFFFFF000); });
  add_bad_pool(group, "reference_in_use", "a reference that is in use",
               [](PoolRecord& p) { p.pool = PoolRef(0); });
  add_bad_pool(group, "overlaps", "memory that another pool of the handle has", [](PoolRecord& p) {
    p.handle = fabric::MemoryHandle(0x2A01);
    p.address = fabric::VirtualAddress(0x7F0012340000 + 64);
  });
  add_bad_pool(group, "too_many_elements", "more elements than the target keeps state for",
               [](PoolRecord& p) { p.elements = 70000; });
  group.add("named_twice", "P-POOL-3", "A message that names a reference twice is dropped whole.",
            [](End& h) {
              if (!h.attach()) return;
              PoolRecord second = another_pool(6);  // of other memory
              second.pool = PoolRef(5);
              Words behind;
              append(behind, another_pool(5));
              append(behind, second);
              expect_dropped(h, [&](unsigned) {
                send_message(h, message(Function::kBufferRecvPool, h.next_context(), behind));
              });
            });
  group.add("too_many_pools", "P-POOL-3,P-LIM-2,P-ERR-6",
            "More pools than the target keeps state for are dropped.", [](End& h) {
              if (!h.attach()) return;
              const auto send_pools = [&h](std::uint32_t first, std::uint32_t count) {
                Words behind;
                for (std::uint32_t i = 0; i < count; ++i) append(behind, another_pool(first + i));
                send_message(h, message(Function::kBufferRecvPool, h.next_context(), behind));
              };
              const auto per_message =
                  static_cast<std::uint32_t>((h.agreed().message_max - messaging::kHeaderBytes) /
                                             messaging::PoolRecord::kBytes);
              std::uint32_t first = 10;
              for (; first + per_message <= 10 + kPoolsMax; first += per_message) {
                send_pools(first, per_message);
              }
              expect_dropped(h, [&](unsigned) { send_pools(first, per_message); });
            });
  group.add(
      "get", "P-POOL-6", "Pools that BufferRecvPoolGet brings have its Transaction Context.",
      [](End& h) {
        if (!h.attach() || !expect_serving(h, "a target that serves")) return;
        h.inbox().forget();
        const auto context = h.next_context();
        send_message(h, message(Function::kBufferRecvPoolGet, context, {1514, 8}));
        expect_ignored(h, "a request that is taken");
        // It need not grant anything.
        const auto granted = h.await_if(
            [](const Event& e) {
              return e.kind == EventKind::kMessage && e.function() == Function::kBufferRecvPool;
            },
            {});
        if (!granted) return h.outcome().skip("the target has granted no pool");
        h.expect(granted->message.context == context, "the Transaction Context of the request");
      });
}

void add_get_limit(SharedGroup& group) {
  Case& limit = group.add(
      "get_is_bounded", "P-LIM-3", "BufferRecvPoolGet brings no more than 512 elements and 4 MiB.",
      [](End& h) {
        if (!h.attach() || !expect_serving(h, "a target that serves")) return;
        h.inbox().forget();
        const std::size_t before = h.agreed().pools.size();
        for (int i = 0; i < 8; ++i) {
          send_message(h, message(Function::kBufferRecvPoolGet, h.next_context(), {1514, 100}));
        }
        await_message(h, Function::kBufferRecvPool, {});
        h.listen(kGranted);
        if (h.agreed().pools.size() == before)
          return h.outcome().skip("the target has granted no pool");
        std::uint64_t elements = 0, bytes = 0;
        for (std::size_t i = before; i < h.agreed().pools.size(); ++i) {
          elements += h.agreed().pools[i].elements;
          bytes += h.agreed().pools[i].total_bytes();
        }
        h.expect(elements <= 512 && bytes <= 4U << 20, "512 elements and 4 MiB at most");
        expect_ignored(h, "a connection that stays");
      });
  limit.level = Level::kShould;
}

// An Update that is dropped, or that ends the connection.
void add_update(SharedGroup& group, const std::string& name, const std::string& description,
                bool ends, std::function<Words(End&)> make) {
  const auto run = [ends, make = std::move(make)](End& h) {
    if (!h.attach()) return;
    const auto send = [&](unsigned) {
      send_message(h, message(Function::kBufferRecvPoolUpdate, messaging::kUnsolicited, make(h)));
    };
    if (!ends) return expect_dropped(h, send);
    send(0);
    expect_ended(h, "an end of the connection");
  };
  if (ends)
    group.add_harmful(name, "P-POOL-11", description, run);
  else
    group.add(name, "P-POOL-10", description, run);
}

void add_updates(SharedGroup& group) {
  add_update(group, "update_unknown_pool", "An Update of an unknown pool is dropped.", false,
             [](End&) {
               return Words{77777, 0, 1};
             });
  add_update(group, "update_outside",
             "An Update of an element that does not exist ends the connection.", true, [](End& h) {
               return Words{0, own_pool(h).elements, 1};
             });
  add_update(group, "update_end_outside", "An Update whose end lies outside ends the connection.",
             true, [](End& h) {
               return Words{0, own_pool(h).elements - 1, 2};
             });
  add_update(group, "update_wraps", "An Update whose end wraps ends the connection.", true,
             [](End&) {
               return Words{0, 1, 0xFFFFFFFF};
             });
  add_update(group, "update_available",
             "An Update of an element that was not used ends the connection.", true, [](End& h) {
               return Words{0, own_pool(h).elements - 1, 1};
             });
  add_update(group, "update_all_available", "So does one of all elements.", true, [](End&) {
    return Words{0, 0, 0};
  });
}

// The element of `write` was used, so an Update may return it once. This one names it twice.
void expect_overlap_ends(End& h, const std::optional<Event>& write) {
  if (!write) return;
  const PoolRecord pool = own_pool(h);
  const std::uint64_t offset = write->target.address.value - pool.address.value;
  const auto element = static_cast<std::uint32_t>(offset / pool.element_bytes);
  send_message(h, message(Function::kBufferRecvPoolUpdate, messaging::kUnsolicited,
                          {pool.pool.value, element, 1, pool.pool.value, element, 1}));
  expect_ended(h, "an end of the connection");
}

void add_overlaps(SharedGroup& group, UnitGroup& of_unit) {
  const std::string description =
      "Ranges of used elements that overlap in one Update end the connection.";
  group
      .add_of_two("update_overlaps", "P-POOL-11,P-POOL-10", description,
                  [](End& a, End& b) {
                    if (!attach_both(a, b)) return;
                    write_element(a, small_pool(a), 0, frame(b.mac(), a.mac(), 60));
                    expect_overlap_ends(b, await_write(b));
                  })
      .may_harm = true;
  of_unit.add_harmful("host_update_overlaps", "P-POOL-11,P-POOL-10", description, [](Unit& u) {
    if (u.attach() && u.start_nic()) expect_overlap_ends(u, announced(u));
  });
}

void add_flushes(SharedGroup& group) {
  group.add("flush_own", "P-POOL-18,P-POOL-20",
            "A flush of our pools gets a reply with its context.", [](End& h) {
              if (!h.attach()) return;
              flush(h, {0}, false);
              expect_ignored(h, "a connection that stays");
            });
  group.add("flush_twice", "P-POOL-18", "A flush of a pool that is gone gets a reply too.",
            [](End& h) {
              if (!h.attach()) return;
              flush(h, {0}, false);
              flush(h, {0}, false);
            });
  group.add("flush_unknown", "P-POOL-18", "A flush of an unknown pool gets a reply too.",
            [](End& h) {
              if (!h.attach()) return;
              flush(h, {4242}, false);
              flush(h, {4242}, true);
            });
  group.add_of_two("flush_and_reuse", "P-POOL-5",
                   "After its flush the reference of a pool is free.", [](End& a, End& b) {
                     if (!attach_both(a, b) || !flush(b, {0}, false)) return;
                     PoolRecord again = another_pool(7);
                     again.pool = PoolRef(0);
                     offer(b, again);
                     expect_serving(b, "a target that has taken the pool");
                     expect_frame_in(a, b, again);
                   });
  group.add("flush_repeated", "P-POOL-18",
            "A repeated request with one context gets one reply at least.", [](End& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              for (int i = 0; i < 2; ++i) {
                send_message(h, message(Function::kBufferPoolFlushRequest, context, {0}));
              }
              await_message(h, Function::kBufferPoolFlushReply, "BufferPoolFlushReply");
              expect_ignored(h, "a connection that stays");
            });
  group.add_harmful("flush_of_target", "P-MEM-9,P-POOL-14,P-MEM-5",
                    "After a flush of the target's pool a write into it is refused.", [](End& h) {
                      if (!h.attach()) return;
                      const PoolRecord pool = h.agreed().pools.at(0);
                      if (!flush(h, {pool.pool.value}, true)) return;
                      write(h, {pool.address, pool.handle, 64}, ByteVector(64), {});
                      expect_nak(h, h.data(), fabric::AckCode::kRemoteAccess, "NAK remote access");
                    });
  group.add("flush_side", "P-POOL-22",
            "A flush with bit 63 clear leaves the target's pool of this reference.", [](End& h) {
              if (!h.attach() || !h.start_nic()) return;
              const PoolRecord pool = small_pool(h);
              if (!flush(h, {pool.pool.value}, false)) return;
              h.inbox().forget();
              write_element(h, pool, 0, frame(kNobody, h.mac(), 60));
            });
  group.add("flush_of_one_leaves_others", "P-POOL-17",
            "A flush of one pool of the target leaves the others.", [](End& h) {
              if (!h.attach()) return;
              if (h.agreed().pools.size() < 2)
                return h.outcome().skip("the target has one pool only");
              if (!flush(h, {h.agreed().pools[0].pool.value}, true)) return;
              const PoolRecord other = h.agreed().pools[1];
              h.inbox().forget();
              write_element(h, other, 0, ByteVector(64));
              expect_ignored(h, "a write that is taken");
            });
}

}  // namespace

std::vector<Case> pool_cases() {
  SharedGroup group("pool");
  UnitGroup of_unit("pool");
  add_advertised(group);
  add_more_pools(group);
  add_records(group);
  add_bad_pools(group);
  add_get_limit(group);
  add_updates(group);
  add_overlaps(group, of_unit);
  add_flushes(group);
  std::vector<Case> all = group.take();
  std::vector<Case> some = of_unit.take();
  std::move(some.begin(), some.end(), std::back_inserter(all));
  return all;
}

}  // namespace splitnic::conformance
