// Datagrams of a peer that keeps no rule, and errors of a peer that are not those of another one.
// docs/protocol/errors.md
#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

constexpr int kDatagrams = 400;
constexpr std::size_t kDatagramMax = 600;  // bytes

ByteVector random_bytes(End& h, std::size_t bytes) {
  ByteVector out(bytes);
  for (std::byte& byte : out) byte = static_cast<std::byte>(h.random().next32() >> 24);
  return out;
}

// Of a datagram, a flit, a cell or a message one layer is random, and what is around it is right.
ByteVector random_datagram(End& h) {
  const ByteVector bytes = random_bytes(h, 4 * (1 + h.random().below(kDatagramMax / 4)));
  constexpr std::uint8_t kWhole = fabric::kFlitSof | fabric::kFlitEof | fabric::kFlitHeaderCrcOnly;
  const auto flit_of = [](fabric::FlitType type, std::uint8_t ctl, base::Bytes payload) {
    ByteVector out(fabric::kFlitHeaderBytes + payload.size());
    fabric::emit_flit(out, {.type = type, .vl = fabric::kMgmtLane, .ctl = ctl}, payload);
    return out;
  };
  switch (h.random().below(5)) {
    case 0: {
      ByteVector out = bytes;
      out[0] &= std::byte{0x7F};  // no record
      return out;
    }
    case 1:
      return flit_of(fabric::FlitType::kInit, 0, bytes);
    case 2:
      return flit_of(fabric::FlitType::kData, kWhole, bytes);
    case 3: {
      ByteVector cell = make_cell(h, h.cell(0, fabric::Op::kSend, fabric::Pos::kOnly), bytes);
      const std::size_t at = h.random().below(28);
      cell[at] ^= static_cast<std::byte>(1U << h.random().below(8));
      reseal(h, cell);
      return flit_of(fabric::FlitType::kData, kWhole, cell);
    }
    default: {
      const ByteVector cell = make_cell(h, h.cell(0, fabric::Op::kSend, fabric::Pos::kOnly), bytes);
      return flit_of(fabric::FlitType::kData, kWhole, cell);
    }
  }
}

void add_garbage(Group& group) {
  group.add_harmful("random_datagrams", "P-GEN-8",
                    "Hundreds of random datagrams, flits, cells and messages stop nothing.",
                    [](Host& h) {
                      if (!h.attach()) return;
                      h.habits.acknowledges = false;
                      for (int i = 0; i < kDatagrams && h.is_good(); ++i) {
                        h.line().send(random_datagram(h));
                        if (i % 16 == 15) h.listen(std::chrono::milliseconds(1));
                      }
                      h.habits.acknowledges = true;
                      h.begin_instance(h.config().instance ^ 0x200);
                      if (h.attach()) expect_serving(h, "a new instance that is served");
                    });
}

void add_others(Group& group) {
  Case& errors = group.add_of_two(
      "errors_of_another", "P-ERR-4",
      "The errors of one host do not end the connection of another.", [](Host& a, Host& b) {
        if (!a.attach() || !b.attach()) return;
        const ByteVector wrong(8, std::byte{0});
        for (int i = 0; i < 8; ++i) send_message(a, wrong);
        expect_ended(a, "an end of the connection of the host with eight errors");
        expect_ignored(b, "the connection of the other host, which stays");
      });
  errors.may_harm = true;
}

void add_addresses(Group& group) {
  group.add_of_two("addresses_differ", "P-INIT-14", "Each link has its own address of the host.",
                   [](Host& a, Host& b) {
                     if (!a.link() || !b.link()) return;
                     a.expect(a.target().lid == fabric::Lid(1), "LID 1 of the listener");
                     b.expect(b.target().lid == a.target().lid, "one LID of the listener");
                     b.expect(a.lid() != b.lid(), "another LID for each host");
                   });
}

}  // namespace

std::vector<Case> hostile_cases() {
  Group link("link"), messages("msg");
  add_garbage(link);
  add_addresses(link);
  add_others(messages);
  std::vector<Case> all = link.take();
  for (Case& one : messages.take()) all.push_back(std::move(one));
  return all;
}

}  // namespace splitnic::conformance
