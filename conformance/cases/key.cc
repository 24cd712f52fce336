// Keyed links: handshakes and records. docs/protocol/session.md
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/expectations.h"
#include "fabric_emul/session/cookie.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kWindow = 8192;
constexpr base::Duration kAgain = 100ms;
constexpr base::Duration kAgreeFor = 500ms;

// A good INITIATION, whose RESPONSE must be the next message of a handshake: what was sent before
// it got none. It is repeated, since a target may limit their rate. The keys are in use afterwards.
bool expect_no_response(Host& h, std::string_view expected) {
  Line& line = h.line();
  std::vector<std::uint32_t> good;
  const base::Time until = h.now() + std::max(h.config().timeout, kAgreeFor);
  while (h.is_good() && h.now() < until) {
    line.send_raw(line.session().initiation());
    good.push_back(line.session().attempt());
    const base::Time retry = std::min<base::Time>(until, h.now() + kAgain);
    while (const auto datagram = line.receive_raw(retry)) {
      const auto type = session::type_of(*datagram);
      if (type == session::MessageType::kData) continue;  // of the keys before
      if (line.session().take_response(*datagram)) return true;
      if (line.session().take_cookie(*datagram)) continue;
      // A late one, to a good INITIATION before.
      const bool is_late =
          type == session::MessageType::kResponse &&
          std::find(good.begin(), std::prev(good.end()), session::Response::receiver(*datagram)) !=
              std::prev(good.end());
      if (!h.expect(is_late, expected)) return false;
    }
  }
  return h.expect(false, "RESPONSE to a good INITIATION");
}

void confirm(Host& h) {
  if (h.is_good()) h.line().send_raw(h.line().session().seal({}));
}

// A datagram that gets no reply at all, and harms no session.
using MakeDatagram = std::function<ByteVector(Host&)>;
void add_silent(Group& group, const std::string& name, const std::string& clause,
                const std::string& description, MakeDatagram make) {
  Case& added = group.add(name, clause, description, [make = std::move(make)](Host& h) {
    h.line().send_raw(make(h));
    if (!expect_no_response(h, "no reply to it, and RESPONSE to a good INITIATION")) return;
    confirm(h);
    if (h.attach()) expect_serving(h, "a session that serves");
  });
  added.links = Links::kKeyed;
}

ByteVector initiation(Host& h) {
  const auto message = h.line().session().initiation();
  return {message.begin(), message.end()};
}

// One that got a RESPONSE, which was taken.
ByteVector agreed_initiation(Host& h) {
  for (const base::Time until = h.now() + std::max(h.config().timeout, kAgreeFor);
       h.now() < until;) {
    ByteVector message = initiation(h);
    h.line().send_raw(message);
    const base::Time retry = h.now() + kAgain;
    while (const auto datagram = h.line().receive_raw(retry)) {
      if (h.line().session().take_response(*datagram)) return message;
      h.line().session().take_cookie(*datagram);
    }
  }
  h.expect(false, "RESPONSE to a good INITIATION");
  return ByteVector(session::kInitiationBytes);
}

void put_macs_again(Host& h, ByteVector& message) {
  session::put_macs(message, session::MacKeys(h.line().session().target()), nullptr);
}

MakeDatagram changed(std::size_t at, bool with_good_mac) {
  return [=](Host& h) {
    ByteVector message = initiation(h);
    message.at(at) ^= std::byte{1};
    if (with_good_mac) put_macs_again(h, message);
    return message;
  };
}

void add_handshakes(Group& group) {
  group
      .add("handshake", "P-KEY-1", "A good INITIATION gets a RESPONSE, and its keys serve.",
           [](Host& h) {
             if (!expect_no_response(h, "a RESPONSE that is good")) return;
             confirm(h);
             if (h.attach()) expect_serving(h, "a session that serves");
           })
      .links = Links::kKeyed;
  add_silent(group, "mac1", "P-KEY-6", "An INITIATION with a wrong mac1 gets no reply.",
             changed(session::Initiation::kMac1At, false));
  add_silent(group, "version", "P-KEY-3", "An INITIATION of another version gets no reply.",
             changed(1, true));
  add_silent(group, "reserved", "P-KEY-5",
             "An INITIATION with reserved bytes that are not 0 gets no reply.", changed(3, true));
  add_silent(group, "ephemeral", "P-KEY-4",
             "An INITIATION with another ephemeral key gets no reply.", changed(9, true));
  add_silent(group, "static", "P-KEY-4",
             "An INITIATION whose static key does not open gets no reply.", changed(45, true));
  add_silent(group, "payload", "P-KEY-4",
             "An INITIATION whose payload does not open gets no reply.", changed(100, true));
  add_silent(group, "shorter", "P-KEY-3", "An INITIATION of 159 bytes gets no reply.", [](Host& h) {
    ByteVector message = initiation(h);
    message.pop_back();
    return message;
  });
  add_silent(group, "longer", "P-KEY-3", "An INITIATION of 161 bytes gets no reply.", [](Host& h) {
    ByteVector message = initiation(h);
    message.push_back(std::byte{0});
    return message;
  });
}

void add_keys(Group& group) {
  add_silent(group, "low_order", "P-KEY-21", "An ephemeral key of low order gets no reply.",
             [](Host& h) {
               ByteVector message = initiation(h);
               std::fill(message.begin() + 8, message.begin() + 40, std::byte{0});
               put_macs_again(h, message);
               return message;
             });
  add_silent(group, "unknown_key", "P-KEY-8,P-KEY-2", "A key that is not allowed gets no reply.",
             [](Host& h) {
               const session::Secret stranger = session::random_private_key(h.random());
               const auto message = h.line().session().initiation({}, &stranger);
               return ByteVector(message.begin(), message.end());
             });
  add_silent(group, "old_stamp", "P-KEY-7", "An INITIATION with an older stamp gets no reply.",
             [](Host& h) {
               expect_no_response(h, "a RESPONSE that is good");
               confirm(h);
               const auto message =
                   h.line().session().initiation(h.line().session().last_stamp() - 1);
               return ByteVector(message.begin(), message.end());
             });
  add_silent(group, "replayed", "P-KEY-7",
             "An INITIATION that is sent a second time gets no reply.", [](Host& h) {
               ByteVector first = agreed_initiation(h);
               confirm(h);
               return first;
             });
}

void add_other_messages(Group& group) {
  add_silent(group, "response_to_unit", "P-KEY-4",
             "A RESPONSE to the side that responds gets no reply.", [](Host& h) {
               ByteVector message(session::kResponseBytes);
               session::begin_response(message, h.random().next32(), h.random().next32());
               put_macs_again(h, message);
               return message;
             });
  add_silent(group, "cookie_to_unit", "P-KEY-4",
             "A COOKIE to the side that responds gets no reply.", [](Host& h) {
               ByteVector message(session::kCookieBytes);
               session::begin_cookie(message, h.random().next32(), {});
               return message;
             });
  add_silent(group, "plain_hello", "P-KEY-3",
             "A datagram of flits outside of a record gets no reply.", [](Host& h) {
               std::array<std::byte, fabric::kInitBytes> payload{};
               fabric::emit_init(payload.data(), h.init(fabric::InitStep::kHello));
               ByteVector datagram(fabric::kFlitHeaderBytes + payload.size());
               fabric::emit_flit(
                   datagram, {.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane}, payload);
               return datagram;
             });
  add_silent(group, "unknown_type", "P-KEY-3", "A message of an unknown type gets no reply.",
             [](Host& h) {
               ByteVector message = initiation(h);
               message[0] = std::byte{0x85};
               return message;
             });
}

// The record of a PROBE: a good one gets PROBE_REPLY.
ByteVector probe_datagram(Host& h, std::uint64_t& nonce) {
  const fabric::Init probe = h.init(fabric::InitStep::kProbe);
  nonce = probe.nonce;
  std::array<std::byte, fabric::kInitBytes> payload{};
  fabric::emit_init(payload.data(), probe);
  ByteVector datagram(fabric::kFlitHeaderBytes + payload.size());
  fabric::emit_flit(datagram, {.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane}, payload);
  return datagram;
}

// A record that is dropped: of two probes only the second, in a good record, gets a reply.
using Seal = std::function<ByteVector(Host&, const ByteVector& plain)>;
void add_record(Group& group, const std::string& name, const std::string& clause,
                const std::string& description, bool is_taken, Seal seal) {
  Case& added = group.add(name, clause, description, [is_taken, seal = std::move(seal)](Host& h) {
    if (!h.attach()) return;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    const ByteVector plain = probe_datagram(h, first);
    h.line().send_raw(seal(h, plain));
    const ByteVector behind = probe_datagram(h, second);
    h.line().send(behind);
    const auto reply = h.await(EventKind::kProbe, "PROBE_REPLY");
    if (!reply) return;
    h.expect(reply->init.echo == (is_taken ? first : second),
             is_taken ? "a reply to the first probe" : "a reply to the second probe only");
    expect_serving(h, "a session that serves");
  });
  added.links = Links::kKeyed;
}

void add_records(Group& group) {
  add_record(group, "good_record", "P-KEY-9,P-KEY-20", "A good record is taken.", true,
             [](Host& h, const ByteVector& plain) { return h.line().session().seal(plain); });
  add_record(group, "gap_of_counters", "P-KEY-10",
             "A record whose counter leaves some out is taken.", true,
             [](Host& h, const ByteVector& plain) {
               h.line().session().set_next_counter(h.line().session().next_counter() + 100);
               return h.line().session().seal(plain);
             });
  add_record(group, "earlier_counter", "P-KEY-10",
             "A record that arrives late, within the window, is taken.", true,
             [](Host& h, const ByteVector& plain) {
               Session& s = h.line().session();
               const std::uint64_t late = s.next_counter();
               s.set_next_counter(late + 50);
               h.line().send_raw(s.seal({}));
               return s.seal(plain, late);
             });
  add_record(group, "too_late", "P-KEY-10", "A record behind the window is dropped.", false,
             [](Host& h, const ByteVector& plain) {
               Session& s = h.line().session();
               const std::uint64_t late = s.next_counter();
               s.set_next_counter(late + 2 * kWindow);
               h.line().send_raw(s.seal({}));
               return s.seal(plain, late);
             });
  add_record(group, "replayed_record", "P-KEY-10",
             "A record that is sent a second time is dropped.", false,
             [](Host& h, const ByteVector& plain) {
               Session& s = h.line().session();
               const std::uint64_t counter = s.next_counter();
               h.line().send_raw(s.seal({}));
               return s.seal(plain, counter);
             });
}

void add_bad_records(Group& group) {
  add_record(group, "tag", "P-KEY-10", "A record with a wrong tag is dropped.", false,
             [](Host& h, const ByteVector& plain) {
               ByteVector record = h.line().session().seal(plain);
               record.back() ^= std::byte{1};
               return record;
             });
  add_record(group, "ciphertext", "P-KEY-10,P-SEC-4",
             "A record of which a byte has changed is dropped.", false,
             [](Host& h, const ByteVector& plain) {
               ByteVector record = h.line().session().seal(plain);
               record[20] ^= std::byte{1};
               return record;
             });
  add_record(group, "header", "P-KEY-9", "A record whose counter was changed is dropped.", false,
             [](Host& h, const ByteVector& plain) {
               ByteVector record = h.line().session().seal(plain);
               record[15] ^= std::byte{1};
               return record;
             });
  add_record(group, "index", "P-KEY-10", "A record with an unknown index is dropped.", false,
             [](Host& h, const ByteVector& plain) {
               ByteVector record = h.line().session().seal(plain);
               record[5] ^= std::byte{0x55};
               return record;
             });
  add_record(
      group, "record_reserved", "P-KEY-5",
      "A record with reserved bytes that are not 0 is dropped.", false,
      [](Host& h, const ByteVector& plain) { return h.line().session().seal(plain, {}, 0, 1); });
  add_record(
      group, "flags", "P-KEY-5", "A record with an unknown flag is dropped.", false,
      [](Host& h, const ByteVector& plain) { return h.line().session().seal(plain, {}, 0x40); });
  add_record(group, "record_cut_off", "P-KEY-3", "A record shorter than 32 bytes is dropped.",
             false, [](Host& h, const ByteVector& plain) {
               ByteVector record = h.line().session().seal(plain);
               record.resize(31);
               return record;
             });
}

void add_new_keys(Group& group) {
  group
      .add("new_keys", "P-KEY-11", "A second handshake keeps the link and the connection.",
           [](Host& h) {
             if (!h.attach()) return;
             if (!h.expect(h.line().agree(h.now() + h.config().timeout),
                           "RESPONSE to a second INITIATION")) {
               return;
             }
             expect_ignored(h, "a connection that stays under new keys");
           })
      .links = Links::kKeyed;
  group
      .add("previous_keys", "P-KEY-13",
           "A record under the keys of before is taken for some time, and the reply is under the "
           "new.",
           [](Host& h) {
             if (!h.attach()) return;
             std::uint64_t nonce = 0;
             const ByteVector late = h.line().session().seal(probe_datagram(h, nonce));
             if (!h.expect(h.line().agree(h.now() + h.config().timeout),
                           "RESPONSE to a second INITIATION")) {
               return;
             }
             expect_serving(h, "a connection that stays under new keys");
             h.line().send_raw(late);
             const auto reply = h.await(EventKind::kProbe, "PROBE_REPLY");
             if (reply) h.expect(reply->init.echo == nonce, "a reply to the probe that came late");
           })
      .links = Links::kKeyed;
  group
      .add("unconfirmed_keys", "P-KEY-11",
           "Until the first record under new keys the ones before serve on.",
           [](Host& h) {
             if (!h.attach()) return;
             // Its RESPONSE is not taken: the host has the keys from before.
             h.line().send_raw(h.line().session().initiation());
             expect_ignored(h, "a session that serves under the keys from before");
           })
      .links = Links::kKeyed;
  group
      .add("replaced_keys", "P-KEY-11",
           "A second INITIATION ends the keys of the first, which no record has confirmed.",
           [](Host& h) {
             if (!h.attach() || !expect_no_response(h, "RESPONSE to a good INITIATION")) return;
             Line& line = h.line();
             std::uint64_t nonce = 0;
             const ByteVector lost = line.session().seal(probe_datagram(h, nonce));
             if (!expect_no_response(h, "RESPONSE to a good INITIATION")) return;
             line.send_raw(lost);
             confirm(h);
             expect_ignored(h, "a session that serves under the last keys");
             h.expect(h.inbox().waiting(EventKind::kProbe) == 0, "no reply under the keys before");
           })
      .links = Links::kKeyed;
}

}  // namespace

std::vector<Case> key_cases() {
  Group group("key");
  add_handshakes(group);
  add_keys(group);
  add_other_messages(group);
  add_records(group);
  add_bad_records(group);
  add_new_keys(group);
  return group.take();
}

}  // namespace splitnic::conformance
