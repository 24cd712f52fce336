// INIT and the link, with a host as the target. docs/protocol/init.md#init
#include <algorithm>
#include <span>

#include "conformance/case.h"
#include "conformance/cases/link_parts.h"
#include "conformance/expectations.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Init;
using fabric::InitReason;
using fabric::InitStep;

constexpr base::Duration kNoReply = 60ms;
constexpr base::Duration kListen = 5ms;
constexpr base::Duration kSignOfLife = 500ms;    // P-LINK-13: IDLE after 200 ms
constexpr base::Duration kHelloRetryMin = 40ms;  // 100 ms; the suite may have read the first late
constexpr int kHelloTries = 4;
constexpr std::size_t kSoonMax = 24;  // HELLO in the second after BYE, and some more

// Of the link before, one may be on its way, and perhaps its repetition. A host may also keep its
// nonce.
constexpr int kOldHellosMax = 2;

// The link ends, and the next HELLO gets no reply.
std::optional<Init> next_hello(Unit& u) {
  if (!u.await_link()) return {};
  const auto is_old = [&u, before = u.inits().size()](const Init& hello) {
    const auto known = std::span(u.inits()).first(before);
    return std::ranges::any_of(known, [&](const SeenInit& one) {
      return one.init.step == InitStep::kHello && one.init.nonce == hello.nonce;
    });
  };
  u.end_link();
  u.replies_to_hello = false;
  for (int old = 0;; ++old) {
    const auto seen = u.await_seen(InitStep::kHello, u.inits().size(), "HELLO after BYE");
    if (!seen) return {};
    if (old == kOldHellosMax || !is_old(seen->init)) return seen->init;
  }
}

// The link comes up once more: the host sends on it. That a connection serves is for other groups,
// so that a host under construction can be checked from its first part on.
void expect_link(Unit& u) {
  u.replies_to_hello = true;
  if (!u.await_link()) return;
  const std::size_t idles = u.inbox().idles();
  for (const base::Time until = u.now() + std::max(u.config().timeout, kSignOfLife);
       u.is_good() && u.inbox().idles() == idles && u.inbox().waiting(EventKind::kMgmt) == 0 &&
       u.now() < until;) {
    u.listen(kListen);
  }
  u.expect(u.inbox().idles() > idles || u.inbox().waiting(EventKind::kMgmt) > 0,
           "IDLE or MGMT on the link");
}

// When HELLO came after BYE. A suite that waits for a processor reads several at once, so that one
// of some tries will do.
struct Hellos {
  base::Time first{}, second{};
  base::Duration wait{};  // before the last one
  bool are_apart() const {
    return second - first >= kHelloRetryMin / 2 && wait >= 2 * kHelloRetryMin;
  }
};

// Until one came later than the others and has the nonce of the one before: of three at least. All
// have one nonce, but for those of a host that had heard nothing before BYE: they may come first.
Hellos take_hellos(Unit& u) {
  constexpr std::size_t kHellosMin = 3;
  Hellos out;
  auto before = next_hello(u);
  if (!before) return out;
  std::size_t nonces = 1;
  base::Time last = out.first = u.inits().back().at;
  bool is_enough = false;
  for (std::size_t i = 1; u.is_good() && i < kSoonMax && !is_enough; ++i) {
    const auto more = u.await_seen(InitStep::kHello, u.inits().size(), "HELLO again");
    if (!more) return out;
    const bool is_same = more->init.nonce == before->nonce;
    nonces += is_same ? 0U : 1U;
    u.expect(nonces <= 2, "the nonce of the HELLO before");
    before = more->init;
    out.wait = more->at - last;
    last = more->at;
    if (i == 1) out.second = last;
    is_enough = i + 1 >= kHellosMin && is_same && out.wait >= 2 * kHelloRetryMin;
  }
  return out;
}

std::size_t count(const Unit& u, InitStep step, std::size_t since) {
  return static_cast<std::size_t>(
      std::count_if(u.inits().begin() + static_cast<std::ptrdiff_t>(since), u.inits().end(),
                    [step](const SeenInit& s) { return s.init.step == step; }));
}

void add_hellos(UnitGroup& group) {
  group.add("hello", "P-INIT-3,P-INIT-22", "HELLO has a nonce, no echo, and an instance.",
            [](Unit& u) {
              const auto hello = next_hello(u);
              if (!hello) return;
              u.expect(hello->nonce != 0 && hello->echo == 0, "a nonce other than 0, and echo 0");
              u.expect(hello->eui64 != fabric::Eui64(), "an EUI-64 other than 0");
              u.expect(hello->payload_crc == fabric::PayloadCrc::kRequired, "byte 16 of HELLO 0");
              expect_link(u);
            });
  group.add("hello_terms", "P-INIT-30", "HELLO has the profile of the link and a usable MCP.",
            [](Unit& u) {
              const auto hello = next_hello(u);
              if (!hello) return;
              u.expect(hello->profile == u.profile(), "the profile of the link");
              u.expect(hello->mcp_max >= 256 && hello->mcp_max % 4 == 0, "an MCP of at least 256");
              u.expect((hello->lanes_mask & 0x8001U) == 0x8001U, "lanes 0 and 15");
            });
  group.add(
      "hello_repeated", "P-INIT-3,P-INIT-19",
      "HELLO is repeated with the same nonce, some times soon after BYE, then later and later.",
      [](Unit& u) {
        Hellos hellos;
        for (int i = 0; i < kHelloTries && u.is_good() && !hellos.are_apart(); ++i) {
          hellos = take_hellos(u);
          if (u.is_good()) expect_link(u);
        }
        u.expect(hellos.second - hellos.first >= kHelloRetryMin / 2, "50 ms between two HELLO");
        u.expect(hellos.wait >= 2 * kHelloRetryMin, "more time before a later HELLO");
      });
}

void add_identity(UnitGroup& group) {
  group.add("instance_stays", "P-INIT-4", "The instance stays as long as the host lives.",
            [](Unit& u) {
              if (!u.await_link()) return;
              const std::uint64_t before = u.target().instance;
              const auto hello = next_hello(u);
              if (hello) u.expect(hello->instance == before, "the instance of the link before");
            });
  group.add("proof", "P-INIT-7", "CHALLENGE gets the step that echoes its token.", [](Unit& u) {
    const auto hello = next_hello(u);
    if (!hello) return;
    const std::size_t seen = u.inits().size();
    const Init challenge = u.reply_to(InitStep::kChallenge, *hello);
    u.send(challenge);
    const auto proof = u.await_seen(InitStep::kAnswer, seen, "a reply to CHALLENGE");
    if (!proof) return;
    u.expect(proof->init.echo == challenge.nonce, "the token as echo");
    u.expect(proof->init.nonce != 0, "a nonce other than 0");
    u.expect(proof->init.peer_instance == challenge.instance, "the instance of CHALLENGE");
    expect_link(u);
  });
  group.add("challenge_other_echo", "P-INIT-7",
            "A CHALLENGE that does not echo the nonce is dropped.", [](Unit& u) {
              const auto hello = next_hello(u);
              if (!hello) return;
              const std::size_t seen = u.inits().size();
              Init challenge = u.reply_to(InitStep::kChallenge, *hello);
              challenge.echo ^= 1;
              u.send(challenge);
              u.listen(kNoReply);
              u.expect(count(u, InitStep::kAnswer, seen) == 0, "no reply to it");
              expect_link(u);
            });
}

// A READY that the host must not take: it repeats HELLO.
using ChangeUnitInit = std::function<void(Unit& u, Init& init)>;
Case& add_bad_ready(UnitGroup& group, const std::string& name, const std::string& clause,
                    const std::string& what, ChangeUnitInit change) {
  return group.add_harmful(name, clause, "A READY with " + what + " is not taken.",
                           [change = std::move(change)](Unit& u) {
                             const auto hello = next_hello(u);
                             if (!hello) return;
                             const std::size_t seen = u.inits().size();
                             u.send(u.reply_to(InitStep::kChallenge, *hello));
                             const auto proof =
                                 u.await_seen(InitStep::kAnswer, seen, "a reply to CHALLENGE");
                             if (!proof) return;
                             Init ready = u.reply_to(InitStep::kReady, proof->init);
                             change(u, ready);
                             if (!u.is_good()) return;
                             const std::size_t before = u.inits().size();
                             u.send(ready);
                             u.await_seen(InitStep::kHello, before, "HELLO once more");
                             u.expect(u.inbox().waiting(EventKind::kMgmt) == 0, "no CONNECT_REQ");
                           });
}

void add_bad_readies(UnitGroup& group) {
  add_bad_ready(group, "ready_other_echo", "P-INIT-9", "another echo",
                [](Unit&, Init& i) { i.echo ^= 1; });
  add_bad_ready(group, "ready_without_address", "P-INIT-9", "no link address",
                [](Unit&, Init& i) { i.offered_lid = {}; });
  add_bad_ready(group, "ready_other_version", "P-INIT-12", "another major version",
                [](Unit&, Init& i) { i.program_version = 0x63000000; });
  add_bad_ready(group, "ready_other_profile", "P-INIT-12", "another profile", [](Unit& u, Init& i) {
    i.profile = u.is_full() ? fabric::LinkProfile::kSpeed : fabric::LinkProfile::kFull;
  });
  add_bad_ready(group, "ready_short_cells", "P-INIT-12", "an MCP of 64",
                [](Unit&, Init& i) { i.mcp_max = 64; });
  add_bad_ready(group, "ready_no_eui64", "P-INIT-12", "the EUI-64 0",
                [](Unit&, Init& i) { i.eui64 = {}; });
  add_bad_ready(group, "ready_own_eui64", "P-INIT-12", "the EUI-64 of the host",
                [](Unit& u, Init& i) { i.eui64 = u.inits().back().init.eui64; });
  add_bad_ready(group, "ready_head_only", "P-INIT-23", "byte 16 of 1 that is not agreed",
                [](Unit& u, Init& i) {
                  const Init& proof = u.inits().back().init;
                  if (u.profile() != fabric::LinkProfile::kSpeed ||
                      proof.payload_crc == fabric::PayloadCrc::kOmitted) {
                    return u.outcome().skip("the host accepts cells without this CRC");
                  }
                  i.payload_crc = fabric::PayloadCrc::kOmitted;
                })
      .links = Links::kPlain;
}

void add_refusals(UnitGroup& group) {
  for (const auto reason : {InitReason::kBusy, InitReason::kDuplicate}) {
    group.add("refused_" + std::to_string(static_cast<unsigned>(reason)), "P-INIT-13",
              "After REFUSE with reason " + std::string(name(reason)) + " the host tries again.",
              [reason](Unit& u) {
                const auto hello = next_hello(u);
                if (!hello) return;
                const std::size_t seen = u.inits().size();
                Init refuse = u.reply_to(InitStep::kRefuse, *hello);
                refuse.reason = reason;
                u.send(refuse);
                if (u.await_seen(InitStep::kHello, seen, "HELLO after REFUSE")) expect_link(u);
              });
  }
}

void add_probes(UnitGroup& group) {
  group.add("probed", "P-INIT-31", "A PROBE gets a PROBE_REPLY that echoes its nonce.",
            [](Unit& u) {
              if (u.attach()) expect_probe_reply(u);
            });
  group.add("probe_of_another", "P-INIT-31", "A PROBE of another instance is dropped.",
            [](Unit& u) {
              if (!u.attach()) return;
              Init probe = u.init(InitStep::kProbe);
              probe.instance ^= 2;
              u.send(probe);
              expect_serving(u, "a link that serves");
              u.expect(u.inbox().waiting(EventKind::kProbe) == 0, "no reply to it");
            });
}

void add_link_ends(UnitGroup& group) {
  group.add("bye_comes_back", "P-INIT-15,P-INIT-14", "After BYE the host links and connects again.",
            [](Unit& u) {
              if (!u.connect()) return;
              const std::uint64_t before = u.transaction();
              u.end_link();
              if (!u.connect()) return;
              u.expect(u.transaction() != before, "a new transaction");
              expect_serving(u, "a connection that serves");
            });
  group.add("bye_of_another", "P-INIT-15", "BYE of another instance is dropped.", [](Unit& u) {
    if (!u.attach()) return;
    Init bye = u.init(InitStep::kBye);
    bye.instance ^= 2;
    u.send(bye);
    expect_ignored(u, "a link that stays");
  });
  group.add("hello_to_a_host", "P-INIT-16", "HELLO is for listeners: a host drops it.",
            [](Unit& u) {
              if (!u.attach()) return;
              Init hello = u.init(InitStep::kHello);
              hello.peer_instance = 0;
              u.send(hello);
              expect_ignored(u, "a link that stays");
              u.expect(u.inbox().waiting(EventKind::kInit) == 0, "no reply to it");
            });
  group.add("host_idles", "P-LINK-13", "A host that has nothing to send sends IDLE.", [](Unit& u) {
    if (u.attach()) expect_idle(u);
  });
  group.add(
      "silence", "P-LINK-15",
      "A host that hears nothing sends HELLO, and continues after READY of the same instance.",
      [](Unit& u) {
        if (!u.attach()) return;
        const std::size_t seen = u.inits().size();
        u.habits.keeps_alive = false;
        if (!u.await_seen(InitStep::kHello, seen, "HELLO after a silence")) return;
        u.habits.keeps_alive = true;
        expect_ignored(u, "the connection of before");
      });
  group.add("another_instance", "P-INIT-11",
            "READY of another instance ends the connection; a new one names that instance.",
            [](Unit& u) {
              if (!u.attach()) return;
              u.begin_instance();
              const std::uint64_t ours = u.init(InitStep::kHello).instance;
              if (!u.await_link()) return;
              const auto request = u.await_request("a new CONNECT_REQ");
              if (!request) return;
              u.expect(request->mgmt.peer_instance == ours, "the new instance in CONNECT_REQ");
            });
}

}  // namespace

std::vector<Case> host_link_cases() {
  UnitGroup group("link");
  add_hellos(group);
  add_identity(group);
  add_bad_readies(group);
  add_refusals(group);
  add_probes(group);
  add_link_ends(group);
  return group.take();
}

}  // namespace splitnic::conformance
