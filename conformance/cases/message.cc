// Messages that are not valid, and the limits of errors. docs/protocol/message.md#errors
#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using messaging::Function;
using MakeMessage = std::function<ByteVector(End&)>;

// A message that is dropped whole: it gets no reply, and counts as an error.
void add_dropped(SharedGroup& group, const std::string& name, const std::string& clause,
                 const std::string& description, MakeMessage make) {
  group.add(name, clause, description, [make = std::move(make)](End& h) {
    if (!h.attach()) return;
    h.inbox().forget();
    expect_dropped(h, [&](unsigned) { send_message(h, make(h)); });
    h.expect(h.inbox().waiting(EventKind::kMessage) == 0, "no reply to a message that is dropped");
  });
}

// A reply to no open request: its context alone is wrong, which is no error of the peer.
void add_reply_to_nothing(SharedGroup& group, const std::string& name, const std::string& what,
                          MakeMessage make) {
  group.add(name, "P-CH-16", what + " to no open request does not end the connection.",
            [make = std::move(make)](End& h) {
              if (!h.attach()) return;
              for (int i = 0; i < 9; ++i) send_message(h, make(h));
              expect_ignored(h, "a connection that stays after nine of them");
            });
}

// Function, version and words behind the Transaction Context.
ByteVector raw(End& h, std::uint16_t function, std::uint16_t version,
               std::vector<std::uint32_t> behind) {
  const std::uint64_t context = h.next_context().value;
  behind.insert(behind.begin(),
                {std::uint32_t{function} << 16 | version, static_cast<std::uint32_t>(context >> 32),
                 static_cast<std::uint32_t>(context)});
  return words(behind);
}

void add_headers(SharedGroup& group) {
  for (const std::size_t bytes : {4U, 8U}) {
    add_dropped(group, "header_of_" + std::to_string(bytes), "P-MSG-1",
                "A message of " + std::to_string(bytes) + " bytes is dropped.",
                [bytes](End&) { return ByteVector(bytes, std::byte{0}); });
  }
  for (const unsigned function : {0U, 10U, 0x7FFFU, 0x8000U, 0xFFFFU}) {
    add_dropped(group, "function_" + std::to_string(function), "P-MSG-8",
                "A message with the function code " + std::to_string(function) + " is dropped.",
                [function](End& h) {
                  return raw(h, static_cast<std::uint16_t>(function), 1, {1, 2, 3});
                });
  }
  for (const unsigned function : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 9U}) {
    add_dropped(group, "version_of_" + std::to_string(function), "P-MSG-9",
                std::string(messaging::name(static_cast<Function>(function))) +
                    " of another version is dropped.",
                [function](End& h) {
                  return raw(h, static_cast<std::uint16_t>(function), 2, {1, 2, 3, 4, 5, 6, 7, 8});
                });
  }
}

// Each function with a length that it may not have.
void add_lengths(SharedGroup& group) {
  struct Length {
    std::uint16_t function;
    std::size_t words;  // behind the header
    std::string_view what;
  };
  for (const Length& length : {Length{1, 0, "no record"},
                               {1, 7, "a record that is cut off"},
                               {1, 9, "a word too much"},
                               {2, 1, "a field that is missing"},
                               {2, 3, "a word too much"},
                               {3, 0, "no record"},
                               {3, 2, "a record that is cut off"},
                               {3, 4, "a word too much"},
                               {4, 0, "no record"},
                               {5, 1, "a word too much"},
                               {6, 0, "no size"},
                               {7, 0, "no record"},
                               {7, 3, "a record that is cut off"},
                               {7, 5, "a word too much"},
                               {9, 1, "fields missing"}}) {
    const auto function = static_cast<Function>(length.function);
    add_dropped(group,
                "length_of_" + std::to_string(length.function) + "_" + std::to_string(length.words),
                "P-MSG-2",
                std::string(messaging::name(function)) + " with " + std::string(length.what) +
                    " is dropped.",
                [=](End& h) {
                  return raw(h, length.function, 1, std::vector<std::uint32_t>(length.words, 1));
                });
  }
}

void add_fields(SharedGroup& group) {
  add_dropped(group, "send_data_of_zero", "P-DATA-8", "SendData of 0 bytes is dropped.",
              [](End& h) {
                return message(Function::kSendData, h.next_context(), {0, 0});
              });
  add_dropped(group, "send_data_longer", "P-MSG-2",
              "SendData with a size beyond its end is dropped.", [](End& h) {
                return message(Function::kSendData, h.next_context(), {100, 1, 2});
              });
  add_dropped(group, "send_data_shorter", "P-MSG-2",
              "SendData with bytes behind its data is dropped.", [](End& h) {
                return message(Function::kSendData, h.next_context(), {4, 1, 2});
              });
  add_dropped(group, "size_that_wraps", "P-LIM-1",
              "A size near 2^32 is dropped, and does not wrap.", [](End& h) {
                return message(Function::kSendData, h.next_context(), {0xFFFFFFFF, 1, 2});
              });
  add_dropped(group, "get_of_zero_bytes", "P-POOL-6",
              "BufferRecvPoolGet of packets of 0 bytes is dropped.", [](End& h) {
                return message(Function::kBufferRecvPoolGet, h.next_context(), {0, 4});
              });
  add_dropped(group, "get_of_zero_packets", "P-POOL-6",
              "BufferRecvPoolGet of 0 packets is dropped.", [](End& h) {
                return message(Function::kBufferRecvPoolGet, h.next_context(), {1500, 0});
              });
  add_reply_to_nothing(group, "flush_reply_to_nothing", "BufferPoolFlushReply", [](End& h) {
    return message(Function::kBufferPoolFlushReply, h.next_context(), {});
  });
  add_reply_to_nothing(group, "cfg_reply_to_nothing", "CfgUtilReply", [](End& h) {
    return message(Function::kCfgUtilReply, h.next_context(), {0x00020005, 0, 0});
  });
  group.add_of_two("send_data", "P-DATA-8", "SendData on channel 0 is taken as a frame.",
                   [](End& a, End& b) {
                     if (!attach_both(a, b)) return;
                     const ByteVector sent = frame(b.mac(), a.mac(), 60);
                     const auto size = static_cast<std::uint32_t>(sent.size());
                     ByteVector send = message(Function::kSendData, a.next_context(), {size});
                     send.insert(send.end(), sent.begin(), sent.end());
                     send_message(a, send);
                     expect_ignored(a, "a frame that is taken");
                     expect_frame(b, sent);
                   });
  group.add("padding", "P-MSG-5", "The padding at the end of a message is ignored.", [](End& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    // ECHO with the data "a": field 1, of 1 byte; one byte of padding.
    send_message(h, message(Function::kCfgUtilRequest, context, {0x00020005, 3, 0x0A0161FF}));
    const auto reply = await_reply(h, context);
    if (!reply) return;
    h.expect(reply->status == messaging::CfgStatus::kOk && reply->data.size() == 3,
             "the data without its padding");
  });
  group.add_harmful("eight_errors", "P-CH-16", "Eight errors within a minute end the connection.",
                    [](End& h) {
                      if (!h.attach()) return;
                      for (int i = 0; i < 8; ++i) {
                        send_message(h, raw(h, 0, 1, {1, 2, 3}));
                      }
                      expect_ended(h, "an end of the connection");
                    });
  group.add("seven_errors", "P-CH-16,P-ERR-1",
            "Seven errors within a minute do not end the connection.", [](End& h) {
              if (!h.attach()) return;
              for (int i = 0; i < 7; ++i) send_message(h, raw(h, 0, 1, {1, 2, 3}));
              expect_ignored(h, "a connection that stays");
            });
}

}  // namespace

std::vector<Case> message_cases() {
  SharedGroup group("msg");
  add_headers(group);
  add_lengths(group);
  add_fields(group);
  return group.take();
}

}  // namespace splitnic::conformance
