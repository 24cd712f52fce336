// Flits and datagrams of a link that is up. docs/protocol/flit.md, docs/protocol/datagram.md
#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using fabric::FlitHeader;
using fabric::FlitType;

std::uint8_t data_ctl(const End& h) {
  std::uint8_t ctl = fabric::kFlitSof | fabric::kFlitEof | fabric::kFlitHeaderCrcOnly;
  if (h.config().crc_head_only) ctl |= fabric::kFlitCellCrcHeadOnly;
  return ctl;
}

ByteVector flit(const FlitHeader& header, base::Bytes payload = {}) {
  ByteVector out(fabric::kFlitHeaderBytes + payload.size());
  fabric::emit_flit(out, header, payload);
  return out;
}

void append(ByteVector& to, const ByteVector& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Sends what `wrap` makes of the flit of an ECHO. The ECHO is served, or it is not; then the same
// cell is sent once more as it should be.
using Wrap = std::function<ByteVector(const End& host, const ByteVector& cell)>;
void add_echo(SharedGroup& group, const std::string& name, const std::string& clause,
              const std::string& description, bool is_served, Wrap wrap) {
  group.add(name, clause, description, [is_served, wrap = std::move(wrap)](End& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    const ByteVector cell = next_echo(h, context);
    h.line().send(wrap(h, cell));
    if (is_served) {
      await_reply(h, context);
      expect_ignored(h, "a link that serves on");
      return;
    }
    expect_missing(h, cell, context);
  });
}

void add_taken_flits(SharedGroup& group) {
  add_echo(group, "good", "P-LINK-7,P-LINK-1,P-DG-7,P-CELL-18",
           "A DATA flit with one whole cell is taken.", true,
           [](const End& h, const ByteVector& cell) {
             return flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell);
           });
  add_echo(group, "crc_over_all", "P-LINK-2",
           "A DATA flit whose CRC covers the payload too is taken.", true,
           [](const End& h, const ByteVector& cell) {
             const auto ctl =
                 static_cast<std::uint8_t>(data_ctl(h) & ~unsigned{fabric::kFlitHeaderCrcOnly});
             return flit({.type = FlitType::kData, .ctl = ctl}, cell);
           });
  add_echo(group, "reserved_ctl", "P-LINK-4", "The low four bits of Ctl are ignored.", true,
           [](const End& h, const ByteVector& cell) {
             const auto ctl = static_cast<std::uint8_t>(data_ctl(h) | 0x0FU);
             return flit({.type = FlitType::kData, .ctl = ctl}, cell);
           });
  add_echo(group, "filler", "P-DG-3", "Filler behind a DATA flit is ignored.", true,
           [](const End& h, const ByteVector& cell) {
             ByteVector out = flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell);
             out.resize(out.size() + 40);
             out.back() = std::byte{0xFF};
             return out;
           });
  add_echo(group, "behind_idle", "P-DG-2", "A flit behind another one is taken.", true,
           [](const End& h, const ByteVector& cell) {
             ByteVector out = flit({.type = FlitType::kIdle, .ctl = fabric::kFlitHeaderCrcOnly});
             append(out, flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell));
             return out;
           });
  add_echo(group, "behind_unknown_type", "P-DG-6",
           "A flit of an unknown type is dropped, and the one behind it is taken.", true,
           [](const End& h, const ByteVector& cell) {
             ByteVector out = flit({.type = static_cast<FlitType>(6)}, ByteVector(8, std::byte{1}));
             append(out, flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell));
             return out;
           });
  add_echo(group, "behind_idle_with_payload", "P-DG-6",
           "An IDLE with a payload is dropped, and the flit behind it is taken.", true,
           [](const End& h, const ByteVector& cell) {
             ByteVector out = flit({.type = FlitType::kIdle}, ByteVector(8, std::byte{1}));
             append(out, flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell));
             return out;
           });
  add_echo(group, "behind_other_profile", "P-LINK-8",
           "LACK, LNAK and CREDIT have no effect in the speed profile.", true,
           [](const End& h, const ByteVector& cell) {
             ByteVector out = flit({.type = FlitType::kLack});
             append(out, flit({.type = FlitType::kLnak}));
             append(out, flit({.type = FlitType::kCredit, .credit_limit = 7}));
             append(out, flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell));
             return out;
           });
}

void add_dropped_flits(SharedGroup& group) {
  add_echo(group, "wrong_crc", "P-LINK-3", "A flit with a wrong CRC is dropped.", false,
           [](const End& h, const ByteVector& cell) {
             ByteVector out = flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell);
             out[15] ^= std::byte{1};
             return out;
           });
  add_echo(group, "behind_wrong_crc", "P-DG-6",
           "The flits behind one with a wrong CRC are dropped too.", false,
           [](const End& h, const ByteVector& cell) {
             ByteVector out = flit({.type = FlitType::kIdle});
             out[15] ^= std::byte{1};
             append(out, flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell));
             return out;
           });
  add_echo(group, "cut_off", "P-DG-6", "A flit that is cut off is dropped.", false,
           [](const End& h, const ByteVector& cell) {
             ByteVector out = flit({.type = FlitType::kData, .ctl = data_ctl(h)}, cell);
             out.resize(out.size() - 4);
             return out;
           });
  add_echo(group, "not_whole", "P-LINK-10",
           "In the speed profile a flit that does not hold a whole cell is dropped.", false,
           [](const End& h, const ByteVector& cell) {
             const auto ctl = static_cast<std::uint8_t>(data_ctl(h) & ~unsigned{fabric::kFlitEof});
             return flit({.type = FlitType::kData, .ctl = ctl}, cell);
           });
  add_echo(group, "other_cell_crc", "P-LINK-10",
           "A cell whose CRC covers other bytes than agreed is dropped.", false,
           [](const End& h, const ByteVector& cell) {
             const auto ctl = static_cast<std::uint8_t>(data_ctl(h) ^ fabric::kFlitCellCrcHeadOnly);
             return flit({.type = FlitType::kData, .ctl = ctl}, cell);
           });
}

// The flits of a cell that is cut in two, as cell `number`.
struct Halves {
  ByteVector first, second;
};
Halves halves_of(const End& h, const ByteVector& cell, std::uint16_t number) {
  const std::size_t at = cell.size() / 2 / fabric::kFragmentUnit * fabric::kFragmentUnit;
  const auto part = [&](std::size_t from, std::size_t bytes, std::uint8_t other_end) {
    FlitHeader header{.type = FlitType::kData,
                      .ctl = static_cast<std::uint8_t>(data_ctl(h) & ~unsigned{other_end})};
    fabric::set_fragment(header, {number, from});
    return flit(header, base::Bytes(cell).subspan(from, bytes));
  };
  return {part(0, at, fabric::kFlitEof), part(at, cell.size() - at, fabric::kFlitSof)};
}

using Cut = std::function<std::vector<ByteVector>(const End& host, const ByteVector& cell)>;
// A target that does not take fragments drops all of them.
void add_cut_echo(SharedGroup& group, const std::string& name, const std::string& clauses,
                  const std::string& description, bool is_served, Cut cut) {
  group.add(name, clauses, description, [is_served, cut = std::move(cut)](End& h) {
    if (!h.attach()) return;
    const auto context = h.next_context();
    const ByteVector cell = next_echo(h, context);
    for (const ByteVector& datagram : cut(h, cell)) h.line().send(datagram);
    if (!is_served || !h.target().takes_fragments) return expect_missing(h, cell, context);
    await_reply(h, context);
    expect_ignored(h, "a link that serves on");
  });
}

void add_fragments(SharedGroup& group) {
  add_cut_echo(group, "fragments", "P-LINK-40,P-LINK-42,P-LINK-43",
               "A cell in two fragments is taken by a target that has stated that, else dropped.",
               true, [](const End& h, const ByteVector& cell) {
                 const Halves cut = halves_of(h, cell, 7);
                 return std::vector{cut.first, cut.second};
               });
  add_cut_echo(group, "fragment_twice", "P-LINK-42", "A fragment that comes twice counts once.",
               true, [](const End& h, const ByteVector& cell) {
                 const Halves cut = halves_of(h, cell, 8);
                 return std::vector{cut.first, cut.first, cut.second};
               });
  add_cut_echo(group, "fragment_order", "P-LINK-42",
               "A cell whose fragments come in another order is dropped.", false,
               [](const End& h, const ByteVector& cell) {
                 const Halves cut = halves_of(h, cell, 9);
                 return std::vector{cut.second, cut.first};
               });
  add_cut_echo(group, "fragment_number", "P-LINK-42",
               "A fragment of another cell does not continue a cell.", false,
               [](const End& h, const ByteVector& cell) {
                 return std::vector{halves_of(h, cell, 10).first, halves_of(h, cell, 11).second};
               });
}

void add_two_cells(SharedGroup& group) {
  group.add("two_cells", "P-DG-2", "Two cells in one datagram are both taken.", [](End& h) {
    if (!h.attach()) return;
    const auto first = h.next_context();
    const auto second = h.next_context();
    ByteVector out = flit({.type = FlitType::kData, .ctl = data_ctl(h)}, next_echo(h, first));
    append(out, flit({.type = FlitType::kData, .ctl = data_ctl(h)}, next_echo(h, second)));
    h.line().send(out);
    await_reply(h, first);
    await_reply(h, second);
  });
}

}  // namespace

std::vector<Case> flit_cases() {
  SharedGroup group("flit");
  add_taken_flits(group);
  add_dropped_flits(group);
  add_two_cells(group);
  add_fragments(group);
  return group.take(Profiles::kWholeCells);
}

}  // namespace splitnic::conformance
