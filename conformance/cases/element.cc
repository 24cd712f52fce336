// Elements of our pools that the target fills more than once: their Updates, which may overtake the
// ACK of a write, and what it does while there is none. docs/protocol/pools.md
#include <algorithm>
#include <iterator>

#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/cases/time_out.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using messaging::Function;
using messaging::PoolRecord;

constexpr base::Duration kQuiet = 60ms;

// One element, so that the target has to use it twice.
PoolRecord one_element() {
  return {messaging::PoolRef(9),
          1,
          2048,
          fabric::MemoryHandle(0x3B09),
          fabric::VirtualAddress(0x7D0000000000),
          0};
}

bool offer_one_element(End& h) {
  const PoolRecord pool = one_element();
  std::array<std::byte, messaging::BufferRecvPool::bytes(1)> offer{};
  messaging::BufferRecvPool::emit(messaging::kUnsolicited, std::span(&pool, 1), offer);
  send_message(h, offer);
  send_message(h, message(Function::kBufferPoolFlushRequest, h.next_context(), {0}));
  return await_message(h, Function::kBufferPoolFlushReply, "BufferPoolFlushReply").has_value();
}

using Write = std::function<std::optional<Event>()>;  // makes the target write

void return_element(End& h, std::uint32_t count = 1) {
  send_message(h, message(Function::kBufferRecvPoolUpdate, messaging::kUnsolicited, {9, 0, count}));
}

bool expect_same_element(End& h, const std::optional<Event>& write) {
  return write &&
         h.expect(write->target.address == one_element().address, "a write into the same element");
}

void expect_two_writes(End& h, const Write& write, std::uint32_t count) {
  if (!offer_one_element(h) || !write()) return;
  return_element(h, count);
  if (expect_same_element(h, write())) expect_serving(h, "a connection that serves");
}

// The Update overtakes the ACK of a write: it is taken, and the write is not acknowledged yet.
bool overtake(End& h, const Write& write) {
  if (!offer_one_element(h)) return false;
  h.habits.acknowledges_data = false;
  if (!write()) return false;
  return_element(h);
  return expect_serving(h, "a target that has the Update");
}

void complete(End& h) {
  h.habits.acknowledges_data = true;
  acknowledge(h, h.data());
  expect_serving(h, "a connection that serves");
}

void expect_overtaken(End& h, const Write& write) {
  if (!overtake(h, write) || !expect_same_element(h, write())) return;
  complete(h);
}

// The completion comes behind the Update, and before the next write.
void expect_still_available(End& h, const Write& write) {
  if (!overtake(h, write)) return;
  complete(h);
  if (expect_same_element(h, write())) expect_serving(h, "a connection that serves");
}

// Frames wait for the one element, which is not returned.
void add_requests_for_pools(Group& group) {
  group.add_of_two("get_rate", "P-LIM-4", "BufferRecvPoolGet comes once per second at most.",
                   [](Host& a, Host& b) {
                     if (!attach_both(a, b) || !offer_one_element(b)) return;
                     const base::Time at = b.now();
                     std::size_t gets = 0;
                     for (unsigned i = 0; i < 40 && b.is_good() && a.is_good(); ++i) {
                       write_element(a, small_pool(a), i % small_pool(a).elements,
                                     frame(b.mac(), a.mac(), 60, i));
                       b.inbox().forget();
                       b.listen(50ms);
                       gets += static_cast<std::size_t>(
                           std::ranges::count_if(b.inbox().events(), [](const Event& e) {
                             return e.kind == EventKind::kMessage &&
                                    e.function() == Function::kBufferRecvPoolGet;
                           }));
                     }
                     const auto seconds =
                         std::chrono::duration_cast<std::chrono::seconds>(b.now() - at).count();
                     b.expect(gets <= static_cast<std::size_t>(seconds) + 1, "one in each second");
                   });
}

// A frame of host a makes the target write to host b.
Write by_frames(Host& a, Host& b) {
  return [&a, &b, number = 0U]() mutable {
    write_element(a, small_pool(a), number, frame(b.mac(), a.mac(), 60, number));
    ++number;
    return await_write(b);
  };
}

void add_elements(Group& group, UnitGroup& of_unit) {
  struct Kind {
    std::string name, clause, description;
    std::function<void(End& h, const Write& write)> expect;
  };
  for (const Kind& kind :
       {Kind{"element_returned", "P-POOL-10",
             "An Update makes an element available, which is used once more.",
             [](End&h, const Write&write) { expect_two_writes(h, write, 1); }},
        Kind{"elements_returned", "P-POOL-9",
             "An Update of 0 elements makes all from the first one available.",
             [](End&h, const Write&write) { expect_two_writes(h, write, 0); }},
        Kind{"element_overtaken", "P-POOL-12",
             "An Update that overtakes the ACK of a write makes its element available too.",
             expect_overtaken},
        Kind{"element_stays", "P-POOL-12",
             "The ACK of a write that an Update has overtaken leaves its element available.",
             expect_still_available}}) {
    group.add_of_two(kind.name, kind.clause, kind.description, [kind](Host& a, Host& b) {
      if (attach_both(a, b)) kind.expect(b, by_frames(a, b));
    });
    of_unit.add("host_" + kind.name, kind.clause, kind.description, [kind](Unit& u) {
      if (!u.attach() || !u.start_nic()) return;
      kind.expect(u, [&u] { return announced(u); });
    });
  }
}

void add_late_completion(Group& group) {
  group.add_of_two(
      "element_once", "P-POOL-12",
      "The ACK of a write that an Update has overtaken does not return its element once more.",
      [](Host& a, Host& b) {
        if (!attach_both(a, b)) return;
        const Write write = by_frames(a, b);
        if (!overtake(b, write) || !expect_same_element(b, write())) return;
        complete(b);
        b.inbox().forget();
        write_element(a, small_pool(a), 3, frame(b.mac(), a.mac(), 60, 3));
        b.listen(kQuiet);
        b.expect(b.inbox().waiting(EventKind::kWrite) == 0,
                 "no write into an element that is in use");
        return_element(b);
        expect_same_element(b, write());
      });
}

}  // namespace

std::vector<Case> element_cases() {
  Group group("state");
  UnitGroup of_unit("state");
  add_elements(group, of_unit);
  add_late_completion(group);
  add_requests_for_pools(group);
  std::vector<Case> all = group.take();
  std::vector<Case> some = of_unit.take();
  std::move(some.begin(), some.end(), std::back_inserter(all));
  return all;
}

}  // namespace splitnic::conformance
