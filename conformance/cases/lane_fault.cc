// Flits of the full profile that are late, twice, corrupt or wrong, at the target as the receiver.
// docs/protocol/flit.md#full-profile
#include <array>

#include "conformance/case.h"
#include "conformance/cases/lane_parts.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::FlitHeader;
using fabric::FlitType;

constexpr base::Duration kTaken = 20ms;  // a flit that is taken would be acknowledged: P-LINK-33
constexpr std::size_t kEchoBytes = 200;  // one cell of the full profile, and several flits
constexpr std::uint8_t kJunkLane = 1;    // nothing else is on it
constexpr std::uint32_t kAtOnce = 32;    // flits that the carrier holds

// An ECHO in one cell of several flits, which the case sends.
struct EchoFlits {
  messaging::TransactionContext context{};
  std::vector<LaneFlit> flits{};
};
EchoFlits echo_flits(End& h) {
  EchoFlits out{.context = h.next_context()};
  const auto head = h.cell(0, fabric::Op::kSend, fabric::Pos::kOnly);
  const ByteVector cell = make_cell(h, head, echo_message(out.context, kEchoBytes));
  advance(h, 0, fabric::Pos::kOnly);
  out.flits = h.lanes().cut(h.lanes().lane_of(cell), cell);
  return out;
}

// The flit with a header that `change` has changed.
ByteVector changed(End& h, const LaneFlit& flit, const std::function<void(FlitHeader&)>& change) {
  FlitHeader header = h.lanes().control(FlitType::kData);
  header.vl = flit.header.vl;
  header.ctl = flit.header.ctl;
  header.lsn = flit.header.lsn;
  change(header);
  ByteVector out(fabric::kFlitHeaderBytes + flit.payload.size());
  fabric::emit_flit(out, header, flit.payload);
  return out;
}

// The flits of a cell leave at once, with this Ctl.
void send_cut(End& h, std::uint8_t vl, base::Bytes cell, const Lanes::CtlOf& ctl_of = {}) {
  for (const LaneFlit& flit : h.lanes().cut(vl, cell, ctl_of)) {
    h.line().send(h.lanes().bytes_of(flit));
  }
}

bool is_all_acknowledged(End& h) { return h.lanes().acknowledged() == h.lanes().next_lsn() - 1U; }

// All is acknowledged and no LNAK is counted.
bool attach_quiet(End& h) {
  if (!h.attach()) return false;
  h.listen(kTaken);
  h.expect(wait_until(h, [&] { return is_all_acknowledged(h); }),
           "an acknowledgement of all flits");
  h.lanes().behave();
  return h.is_good();
}

// Until a flit shows what the target has made of all datagrams before, however long it waits for a
// processor: PROBE_REPLY comes behind them, and each flit behind that has its acknowledge number.
void await_flit_behind(End& h) {
  const fabric::Init probe = h.init(fabric::InitStep::kProbe);
  h.send(probe);
  if (!h.await(EventKind::kProbe, "PROBE_REPLY")) return;
  const std::size_t before = h.lanes().heard();
  h.expect(wait_until(h, [&] { return h.lanes().heard() > before; }), "a flit behind PROBE_REPLY");
}

// For a case that has sent what must be requested, and retransmits nothing meanwhile: a target that
// gets its processor late would find what is missing behind what is wrong, and request nothing.
void await_lnak_and_retransmit(End& h) {
  wait_until(h, [&] { return h.lanes().lnaks() > 0; });
  h.lanes().retransmits = true;
}

void add_order(SharedGroup& group) {
  group.add("gap", "P-LINK-24", "A flit behind a gap is dropped, and one LNAK is sent.",
            [](End& h) {
              if (!attach_quiet(h)) return;
              const EchoFlits echo = echo_flits(h);
              const fabric::Lsn before = echo.flits.front().header.lsn - 1U;
              h.lanes().retransmits = false;  // the missing one would fill the gap
              for (std::size_t i = 1; i < echo.flits.size(); ++i) {
                h.line().send(h.lanes().bytes_of(echo.flits[i]));
              }
              await_lnak_and_retransmit(h);
              await_reply(h, echo.context);
              h.expect(h.lanes().lnaks() == 1 && h.lanes().last_lnak() == before,
                       "one LNAK with the number before the gap");
              expect_serving(h, "a link that serves on");
            });
  group.add("repeated", "P-LINK-24", "A flit that was taken before is acknowledged, and no more.",
            [](End& h) {
              if (!attach_quiet(h)) return;
              const EchoFlits echo = echo_flits(h);
              for (int i = 0; i < 2; ++i) {
                for (const LaneFlit& flit : echo.flits) h.line().send(h.lanes().bytes_of(flit));
              }
              await_reply(h, echo.context);
              h.listen(kTaken);
              h.expect(h.lanes().lnaks() == 0 && !h.inbox().has_message(echo.context),
                       "one reply, and no LNAK");
              expect_serving(h, "a link that serves on");
            });
  group.add("corrupt", "P-LINK-24", "A flit with a wrong CRC is requested by LNAK.", [](End& h) {
    if (!attach_quiet(h)) return;
    const EchoFlits echo = echo_flits(h);
    ByteVector wrong = h.lanes().bytes_of(echo.flits.front());
    wrong.back() ^= std::byte{1};
    h.lanes().retransmits = false;
    h.line().send(wrong);
    await_lnak_and_retransmit(h);
    await_reply(h, echo.context);
    h.expect(h.lanes().lnaks() > 0 && h.lanes().last_lnak() == echo.flits.front().header.lsn - 1U,
             "an LNAK with the number before the flit");
    expect_serving(h, "a link that serves on");
  });
}

// A flit with such a header is not taken; it is when it comes as it should be.
void add_dropped(SharedGroup& group, const std::string& name, const std::string& clause,
                 const std::string& description, std::function<void(FlitHeader&)> change) {
  group.add(name, clause, description, [change = std::move(change)](End& h) {
    if (!attach_quiet(h)) return;
    const EchoFlits echo = echo_flits(h);
    const LaneFlit& first = echo.flits.front();
    h.lanes().retransmits = false;  // the right flits would be acknowledged
    h.line().send(changed(h, first, change));
    await_flit_behind(h);
    // An ACK of the suite may be behind it: then LNAK requests both.
    const fabric::Lsn before = first.header.lsn - 1U;
    const bool is_requested = h.lanes().lnaks() > 0 && h.lanes().last_lnak() == before;
    h.expect(is_requested || h.lanes().acknowledged() == before, "no acknowledgement of the flit");
    h.lanes().retransmits = true;
    await_reply(h, echo.context);
    expect_serving(h, "a link that serves on");
  });
}

void add_headers(SharedGroup& group) {
  add_dropped(group, "crc_without_payload", "P-LINK-23",
              "A flit whose CRC does not cover the payload is dropped.",
              [](FlitHeader& header) { header.ctl |= fabric::kFlitHeaderCrcOnly; });
  add_dropped(group, "ack_of_unsent", "P-LINK-25",
              "A flit that acknowledges what was not sent is dropped whole.",
              [](FlitHeader& header) { header.ack = header.ack + 500U; });
  group.add("not_common", "P-LINK-35",
            "A flit of a lane that is not common is acknowledged, and its cell is dropped.",
            [](End& h) {
              if (!attach_quiet(h)) return;
              constexpr std::uint8_t kNoLane = 7;
              const auto context = h.next_context();
              const ByteVector cell = next_echo(h, context);
              send_cut(h, kNoLane, cell);
              const fabric::Lsn last = h.lanes().next_lsn() - 1U;
              const auto is_taken = [&] { return h.lanes().acknowledged() - last >= 0; };
              if (!h.expect(wait_until(h, is_taken), "an acknowledgement")) return;
              expect_missing(h, cell, context);
            });
}

// Flits of junk with these bits in Ctl form no cell on their lane. Their blocks come back, sooner
// or later: more can be sent than was granted at first.
void add_no_cell(SharedGroup& group, const std::string& name, const std::string& description,
                 std::vector<std::uint8_t> ctls) {
  group.add(name, "P-LINK-31", description, [ctls = std::move(ctls)](End& h) {
    if (!attach_quiet(h)) return;
    constexpr std::uint32_t kJunkBlocks = 2;
    constexpr std::uint32_t kRoomMax = 1 << 14;
    const ByteVector junk(2 * fabric::kCreditBlockBytes - 28, std::byte{0xA5});
    const Lanes& lanes = h.lanes();
    const std::uint32_t before = lanes.target_limit(kJunkLane);
    const std::uint32_t room = lanes.room(kJunkLane);
    if (room > kRoomMax) return h.outcome().skip("the target grants very many blocks");
    std::uint32_t sent = 0;
    for (std::size_t i = 0; sent <= room && h.is_good(); ++i) {
      const auto has_room = [&] { return lanes.room(kJunkLane) >= kJunkBlocks; };
      h.expect(wait_until(h, has_room), "credits for the blocks that were dropped");
      send_cut(h, kJunkLane, junk, [&](std::uint8_t) { return ctls[i % ctls.size()]; });
      sent += kJunkBlocks;
      if (i % kAtOnce == kAtOnce - 1) h.listen(1ms);
    }
    h.listen(kTaken);
    h.expect(lanes.target_limit(kJunkLane) - before <= sent, "no more credits than were used");
    expect_serving(h, "a link that serves on");
  });
}

// A good cell is dropped when none of its flits has this bit. Behind it comes another one.
void add_cell_without(SharedGroup& group, const std::string& name, const std::string& description,
                      std::uint8_t bit) {
  group.add(name, "P-LINK-31", description, [bit](End& h) {
    if (!attach_quiet(h)) return;
    const auto context = h.next_context();
    const ByteVector cell = next_echo(h, context);
    send_cut(h, h.lanes().lane_of(cell), cell, [bit](std::uint8_t right) {
      return static_cast<std::uint8_t>(right & ~unsigned{bit});
    });
    if (!h.expect(wait_until(h, [&] { return is_all_acknowledged(h); }), "an acknowledgement"))
      return;
    expect_missing(h, cell, context);
  });
}

// A good cell without SOF or EOF is none, and one behind half a cell of its lane is taken.
void add_cells(SharedGroup& group) {
  add_cell_without(group, "without_first", "A cell whose first flit has no SOF is dropped.",
                   fabric::kFlitSof);
  add_cell_without(group, "without_last",
                   "A whole cell whose last flit has no EOF is dropped when the next one begins.",
                   fabric::kFlitEof);
  group.add("behind_half_a_cell", "P-LINK-31",
            "A cell that begins before the end of another one is taken.", [](End& h) {
              if (!attach_quiet(h)) return;
              const auto context = h.next_context();
              const ByteVector cell = next_echo(h, context);
              const std::uint8_t vl = h.lanes().lane_of(cell);
              const ByteVector junk(fabric::kCreditBlockBytes, std::byte{0xA5});
              send_cut(h, vl, junk, [](std::uint8_t) { return fabric::kFlitSof; });
              send_cut(h, vl, cell);
              await_reply(h, context);
              expect_serving(h, "a link that serves on");
            });
}

// A cell without an end holds the blocks of its flits: of one byte each, so that one cell holds all
// that were granted. One more is beyond them, whatever it is.
void add_beyond_credits(SharedGroup& group) {
  group.add("beyond_credits", "P-LINK-32",
            "A flit beyond the credits is dropped, and its blocks are not granted.", [](End& h) {
              if (!attach_quiet(h)) return;
              Lanes& lanes = h.lanes();
              const std::uint32_t limit = lanes.target_limit(kJunkLane);
              const std::uint32_t granted = lanes.room(kJunkLane);
              if (granted >= h.channel(0).mcp)
                return h.outcome().skip("the target grants more blocks than a cell has bytes");
              const ByteVector byte(1, std::byte{0xA5});
              const auto send = [&](std::uint8_t ctl) {
                send_cut(h, kJunkLane, byte, [ctl](std::uint8_t) { return ctl; });
              };
              for (std::uint32_t i = 0; i < granted && h.is_good(); ++i) {
                send(i == 0 ? fabric::kFlitSof : std::uint8_t{0});
                if (i % kAtOnce == kAtOnce - 1) h.listen(1ms);
              }
              const auto await_taken = [&] {
                h.expect(wait_until(h, [&] { return is_all_acknowledged(h); }),
                         "an acknowledgement of all flits");
              };
              await_taken();
              if (lanes.target_limit(kJunkLane) != limit)
                return h.outcome().skip("the target takes no cell of flits of one byte");
              send(fabric::kFlitEof);
              await_taken();
              h.listen(kTaken);
              h.expect(lanes.target_limit(kJunkLane) - limit <= granted,
                       "no block for the flit beyond the credits");
              expect_serving(h, "a link that serves on");
            });
}

}  // namespace

std::vector<Case> lane_fault_cases() {
  SharedGroup group("lane");
  add_order(group);
  add_headers(group);
  add_beyond_credits(group);
  add_cells(group);
  add_no_cell(group, "no_first", "A flit without SOF outside of a cell is dropped.", {0});
  add_no_cell(group, "two_firsts", "A cell is dropped when the next one begins before its end.",
              {fabric::kFlitSof, fabric::kFlitSof | fabric::kFlitEof});
  return group.take(Profiles::kFull);
}

}  // namespace splitnic::conformance
