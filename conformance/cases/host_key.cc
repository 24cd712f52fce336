// Keyed links, with a host as the target: it initiates. docs/protocol/session.md
#include <algorithm>

#include "conformance/case.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "fabric_emul/session/cookie.h"
#include "fabric_emul/session/peer.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using session::MessageType;

constexpr base::Duration kHandshakeRetryMin =
    80ms;  // 100 ms, with room for the clock of the target
constexpr base::Duration kHandshakeQuiet = 60ms;
constexpr std::uint8_t kRekey = 0x01;
constexpr int kAttempts = 4;

// The next INITIATION, which gets no reply. Another datagram of a handshake is none.
std::optional<SeenInitiation> await_initiation(Unit& u, std::string_view expected) {
  Line& line = u.line();
  const base::Time until = u.now() + u.reconnect();
  while (u.is_good()) {
    const auto datagram = line.receive_raw(until);
    if (!datagram) break;
    if (session::type_of(*datagram) == MessageType::kData) continue;
    auto taken = line.responder().take_initiation(*datagram);
    if (taken.initiation) return std::move(taken.initiation);
    u.outcome().fail(std::string(expected), taken.why);
  }
  u.expect(false, expected);
  return std::nullopt;
}

// A record that requests new keys: the host initiates, and gets no RESPONSE yet.
std::optional<SeenInitiation> request_rekey(Unit& u) {
  Line& line = u.line();
  line.responder().responds = false;
  line.send_raw(line.responder().seal({}, {}, kRekey));
  return await_initiation(u, "INITIATION after the flag that requests a rekey");
}

void respond(Unit& u) {
  if (u.is_good()) u.line().send_raw(u.line().responder().response());
  u.line().responder().responds = true;
}

// A case of a connection that is up; afterwards each INITIATION gets its RESPONSE again.
void add(UnitGroup& group, const std::string& name, const std::string& clause,
         const std::string& description, const UnitGroup::Run& run) {
  group
      .add(name, clause, description,
           [run](Unit& u) {
             if (u.attach()) run(u);
             u.line().responder().responds = true;
           })
      .links = Links::kKeyed;
}

void add_initiations(UnitGroup& group) {
  add(group, "initiation", "P-KEY-6",
      "INITIATION has the version, reserved bytes of 0, mac1, and the host's key.", [](Unit& u) {
        const auto seen = request_rekey(u);
        if (!seen) return;
        const auto at = seen->bytes.begin() + session::Initiation::kMac2At;
        u.expect(std::all_of(at, seen->bytes.end(), [](std::byte b) { return b == std::byte{0}; }),
                 "no mac2 without a COOKIE");
        respond(u);
        expect_serving(u, "a session that serves");
      });
  add(group, "initiation_repeated", "P-KEY-15",
      "INITIATION is repeated after 100 ms, with a new ephemeral key and a greater stamp.",
      [](Unit& u) {
        const base::Time at = u.now();
        const auto first = request_rekey(u);
        const auto second = await_initiation(u, "INITIATION once more");
        if (!first || !second) return;
        u.expect(u.now() - at >= kHandshakeRetryMin, "100 ms between them");
        u.expect(!std::ranges::equal(first->ephemeral(), second->ephemeral()),
                 "a new ephemeral key");
        u.expect(second->payload.stamp > first->payload.stamp, "a greater stamp");
        u.expect(second->payload.instance == first->payload.instance, "the same instance");
        respond(u);
        expect_serving(u, "a session that serves");
      });
  add(group, "rekey", "P-KEY-16", "The flag that requests a rekey brings new keys, which serve.",
      [](Unit& u) {
        const std::uint32_t before = u.line().responder().index();
        if (!request_rekey(u)) return;
        respond(u);
        expect_serving(u, "a session that serves");
        u.expect(u.line().responder().index() != before, "a record under the new keys");
      });
  add(group, "confirms", "P-KEY-11", "The host sends a record as soon as it has the RESPONSE.",
      [](Unit& u) {
        for (int i = 0; i < kAttempts; ++i) {  // a target may get its processor late
          if (!request_rekey(u)) return;
          respond(u);
          const std::uint32_t before = u.line().responder().index();
          u.listen(kHandshakeQuiet);
          if (u.line().responder().index() != before) return;
        }
        u.expect(false, "a record under the new keys");
      });
}

void add_bye(UnitGroup& group) {
  Case& bye =
      group.add("bye_ends_keys", "P-KEY-22", "After BYE the host makes new keys.", [](Unit& u) {
        if (!u.attach()) return;
        u.line().responder().responds = false;
        u.end_link();
        const auto seen = await_initiation(u, "INITIATION after BYE");
        respond(u);
        if (seen && u.connect()) expect_serving(u, "a session that serves");
      });
  bye.links = Links::kKeyed;
  bye.level = Level::kShould;
}

void add_responses(UnitGroup& group) {
  add(group, "response_changed", "P-KEY-3", "A RESPONSE that does not open is dropped.",
      [](Unit& u) {
        if (!request_rekey(u)) return;
        ByteVector bad = u.line().responder().response();
        bad[40] ^= std::byte{1};
        session::put_macs(bad, session::MacKeys(u.line().responder().peer()), nullptr);
        u.line().send_raw(bad);
        if (!await_initiation(u, "INITIATION once more")) return;
        respond(u);
        expect_serving(u, "a session that serves");
      });
  add(group, "response_mac", "P-KEY-6", "A RESPONSE with a wrong mac1 is dropped.", [](Unit& u) {
    if (!request_rekey(u)) return;
    ByteVector bad = u.line().responder().response();
    bad[session::Response::kMac1At] ^= std::byte{1};
    u.line().send_raw(bad);
    if (!await_initiation(u, "INITIATION once more")) return;
    respond(u);
    expect_serving(u, "a session that serves");
  });
  add(group, "cookie_obeyed", "P-KEY-18",
      "COOKIE puts mac2 into the next INITIATION, and begins none.", [](Unit& u) {
        // The next INITIATION may have left before a COOKIE that comes late.
        bool is_proven = false;
        base::Time at = u.now();
        auto last = request_rekey(u);
        for (int i = 0; i < kAttempts && last && !is_proven; ++i) {
          const session::Mac cookie{std::byte{7}, std::byte{9}};
          u.line().send_raw(u.line().responder().cookie(last->bytes, cookie));
          if (i > 0) at = u.now();
          last = await_initiation(u, "INITIATION once more");
          if (!last) return;
          ByteVector proven = last->bytes;
          session::put_macs(proven, session::MacKeys(u.line().responder().public_key()), &cookie);
          is_proven = proven == last->bytes;
        }
        u.expect(is_proven, "mac2 of the cookie");
        u.expect(u.now() - at >= kHandshakeRetryMin, "100 ms between them");
        respond(u);
        expect_serving(u, "a session that serves");
      });
}

// A record that the host must drop; it holds a DISC of the connection.
using MakeRecord = std::function<ByteVector(Unit& u, const ByteVector& datagram)>;
void add_bad_record(UnitGroup& group, const std::string& name, const std::string& clause,
                    const std::string& what, MakeRecord make) {
  group
      .add(name, clause, "A record " + what + " is dropped.",
           [make = std::move(make)](Unit& u) {
             if (!u.attach()) return;
             std::array<std::byte, fabric::kInitBytes> payload{};
             fabric::emit_init(payload.data(), u.init(fabric::InitStep::kBye));
             ByteVector bye(fabric::kFlitHeaderBytes + payload.size());
             fabric::emit_flit(bye, {.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane},
                               payload);
             u.line().send_raw(make(u, bye));
             expect_ignored(u, "a link that stays");
           })
      .links = Links::kKeyed;
}

void add_records(UnitGroup& group) {
  add_bad_record(group, "host_tag", "P-KEY-10", "with a wrong tag",
                 [](Unit& u, const ByteVector& plain) {
                   ByteVector record = u.line().responder().seal(plain);
                   record.back() ^= std::byte{1};
                   return record;
                 });
  add_bad_record(group, "host_header", "P-KEY-9", "whose header has changed",
                 [](Unit& u, const ByteVector& plain) {
                   ByteVector record = u.line().responder().seal(plain);
                   record[15] ^= std::byte{1};
                   return record;
                 });
  add_bad_record(
      group, "host_reserved", "P-KEY-5", "with reserved bytes that are not 0",
      [](Unit& u, const ByteVector& plain) { return u.line().responder().seal(plain, {}, 0, 1); });
  add_bad_record(group, "host_replay", "P-KEY-10", "with a counter that was taken",
                 [](Unit& u, const ByteVector& plain) {
                   return u.line().responder().seal(plain, u.line().responder().next_counter() - 1);
                 });
  add_bad_record(group, "host_plain", "P-KEY-3", "that is none, but a datagram without keys,",
                 [](Unit&, const ByteVector& plain) { return plain; });
  group
      .add("host_eui64", "P-KEY-19", "The EUI-64 of the host follows from its key.",
           [](Unit& u) {
             if (!u.connect()) return;
             u.expect(u.target().eui64.value == session::eui64_of(u.line().responder().peer()),
                      "the EUI-64 of the key");
           })
      .links = Links::kKeyed;
  group
      .add("host_counters", "P-KEY-9", "No counter is used twice, and each is greater.",
           [](Unit& u) {
             if (!u.attach()) return;
             std::uint64_t next = 0;
             const base::Time until = u.now() + 500ms;
             for (int i = 0; i < 3 && u.is_good(); ++i) {
               send_message(u, {});
               while (const auto datagram = u.line().receive_raw(until)) {
                 if (session::type_of(*datagram) != MessageType::kData) continue;
                 const std::uint64_t counter = session::Data::counter(*datagram);
                 u.expect(counter >= next, "a greater counter");
                 next = counter + 1;
                 break;
               }
             }
             u.expect(next > 0, "a record of the host");
           })
      .links = Links::kKeyed;
}

}  // namespace

std::vector<Case> host_key_cases() {
  UnitGroup group("key");
  add_initiations(group);
  add_bye(group);
  add_responses(group);
  add_records(group);
  return group.take();
}

}  // namespace splitnic::conformance
