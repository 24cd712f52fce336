// Frames between two hosts of one NIC: the target as the one that writes.
// docs/protocol/data.md#idata
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/bad_headers.h"
#include "conformance/cases/parts.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "conformance/pools.h"

namespace splitnic::conformance {
namespace {

using messaging::Function;
using messaging::PoolElementIdata;
using messaging::PoolRecord;

constexpr base::Duration kWaiting = std::chrono::milliseconds(60);

// Writes frames for b, into the elements from `first` on.
void send_frames(Host& a, const Host& b, unsigned count, unsigned first = 0) {
  const PoolRecord pool = small_pool(a);
  for (unsigned i = first; i < first + count; ++i) {
    write_element(a, pool, i, frame(b.mac(), a.mac(), 60, i));
  }
}

// The element that a write is for: by its idata of form A, else by its address.
std::uint64_t element_named_by(const Event& write, const PoolRecord& pool) {
  if (write.idata) return PoolElementIdata::decode(*write.idata).element;
  return (write.target.address.value - pool.address.value) / pool.element_bytes;
}

void add_frames(Group& group) {
  group.add_of_two(
      "to_another_host", "P-DATA-5,P-DATA-1,P-DATA-2,P-DATA-3,P-DATA-14,P-GEN-6",
      "The target writes a frame into an element of the host's pool, and indicates it as agreed.",
      [](Host& a, Host& b) {
        if (!attach_both(a, b)) return;
        send_frames(a, b, 1);
        const auto write = expect_frame(b, frame(b.mac(), a.mac(), 60));
        if (!write) return;
        expect_element(b, *write, own_pool(b));
      });
  group.add_of_two("in_order", "P-DATA-11", "Frames arrive in the order in which they were sent.",
                   [](Host& a, Host& b) {
                     if (!attach_both(a, b)) return;
                     send_frames(a, b, 5);
                     for (unsigned i = 0; i < 5; ++i) {
                       if (!expect_frame(b, frame(b.mac(), a.mac(), 60, i))) return;
                     }
                   });
}

void add_short(Group& group) {
  group.add_of_two("short", "P-DATA-17", "A frame of 20 bytes arrives as it is.",
                   [](Host& a, Host& b) {
                     if (!attach_both(a, b)) return;
                     const ByteVector sent = frame(b.mac(), a.mac(), 20);
                     write_element(a, small_pool(a), 0, sent);
                     expect_frame(b, sent);
                   });
}

// The frame behind it is the first that arrives.
void add_bad_headers(Group& group) {
  for (const BadHeader& header : bad_headers()) {
    group.add_of_two("drops_" + header.name, "P-DATA-16",
                     "A frame with " + header.what + " is dropped.", [header](Host& a, Host& b) {
                       if (!attach_both(a, b)) return;
                       const PoolRecord pool = small_pool(a);
                       const ByteVector wrong = frame(b.mac(), a.mac(), 60, 1);
                       const ByteVector good = frame(b.mac(), a.mac(), 60, 2);
                       write_element(a, pool, 0, with_header(header, wrong));
                       write_element(a, pool, 1 % pool.elements, good);
                       expect_frame(b, good);
                     });
  }
}

void add_elements_of_frames(Group& group) {
  group.add_of_two(
      "no_element_twice", "P-DATA-4",
      "The target uses no element twice before an Update returns it.", [](Host& a, Host& b) {
        if (!attach_both(a, b)) return;
        const std::uint32_t elements = own_pool(b).elements;
        std::vector<bool> is_used(elements);
        const auto count = std::min(small_pool(a).elements / 2, 30U);
        send_frames(a, b, count);
        for (unsigned i = 0; i < count; ++i) {
          const auto write = await_write(b);
          if (!write) return;
          const std::uint64_t element = element_named_by(*write, own_pool(b));
          if (!b.expect(element < elements && !is_used[element], "an element that is not in use")) {
            return;
          }
          is_used[element] = true;
        }
      });
  group.add_of_two(
      "flushed_pool", "P-POOL-16", "After it replied to a flush the target writes no more.",
      [](Host& a, Host& b) {
        if (!attach_both(a, b)) return;
        send_frames(a, b, 1);
        if (!await_write(b)) return;
        send_message(b, message(Function::kBufferPoolFlushRequest, b.next_context(), {0}));
        await_message(b, Function::kBufferPoolFlushReply, "BufferPoolFlushReply");
        b.inbox().forget();
        send_frames(a, b, 1, 1);
        expect_serving(a, "a target that has taken the frame");
        expect_serving(b, "a connection that stays");
        b.expect(b.inbox().waiting(EventKind::kWrite) == 0, "no write into a flushed pool");
      });
  group.add_of_two(
      "flushes_wait", "P-POOL-19,P-POOL-16",
      "16 flush requests that wait for one write get their replies when it has completed.",
      [](Host& a, Host& b) {
        if (!attach_both(a, b)) return;
        b.habits.acknowledges = false;
        send_frames(a, b, 1);
        if (!await_write(b)) return;
        std::vector<messaging::TransactionContext> contexts;
        for (int i = 0; i < 16; ++i) {
          contexts.push_back(b.next_context());
          send_message(b, message(Function::kBufferPoolFlushRequest, contexts.back(), {0}));
        }
        b.listen(kWaiting);
        const bool is_early = b.inbox().has_message(contexts.front());
        b.expect(!is_early, "no reply before the write is acknowledged");
        b.habits.acknowledges = true;
        send_ack(b, b.data(), fabric::Op::kAck, ack_of(b, b.data()),
                 b.channel(b.data()).expected_psn - 1U);
        for (const auto context : contexts) {
          b.await_if(
              [context](const Event& e) {
                return e.kind == EventKind::kMessage && e.message.context == context;
              },
              "a reply to each flush request");
        }
      });
}

void add_stopped_nic(Group& group) {
  group.add_of_two("stopped_nic", "P-CFG-14", "A host whose NIC is stopped gets no frames.",
                   [](Host& a, Host& b) {
                     if (!attach_both(a, b)) return;
                     expect_status(b, messaging::CfgCode::kStop, {}, messaging::CfgStatus::kOk);
                     send_frames(a, b, 1);
                     expect_serving(a, "a target that has taken the frame");
                     expect_serving(b, "a connection that stays");
                     b.expect(std::ranges::none_of(b.inbox().events(), is_frame_of_target),
                              "no frame for a NIC that is stopped");
                   });
}

}  // namespace

std::vector<Case> frame_cases() {
  Group group("frame");
  add_frames(group);
  add_short(group);
  add_bad_headers(group);
  add_elements_of_frames(group);
  add_stopped_nic(group);
  return group.take();
}

}  // namespace splitnic::conformance
