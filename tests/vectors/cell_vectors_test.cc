// Cells with every extension, against docs/protocol/vectors.
#include "fabric_emul/wire/cell.h"
#include "tests/vectors/vector_file.h"

namespace splitnic::fabric {
namespace cell_vectors_test {
using namespace support;

void describe_ack(const CellView& cell, json::object& out) {
  AckExt ack;
  if (!parse_ack(cell, ack)) return;
  json::object words{{"code", static_cast<unsigned>(ack.code)},
                     {"msn", ack.msn},
                     {"credits", ack.receive_credits},
                     {"detail", ack.detail}};
  if (ack.selective) {
    words["cumulative"] = ack.cumulative.value;
    words["hold"] = ack.hold_10us;
    json::array bitmap;
    for (unsigned i = 0; i < ack.bitmap_words; ++i) bitmap.push_back(ack.bitmap[i]);
    words["bitmap"] = bitmap;
  }
  out["ack"] = words;
}

json::object meaning_of(const CellView& cell) {
  const MacHeader& h = cell.header;
  json::object out{{"version", h.version},
                   {"sl", h.sl},
                   {"pos", static_cast<unsigned>(h.pos)},
                   {"op", static_cast<unsigned>(h.op)},
                   {"flags", h.flags & 0xFCU},
                   {"dlid", h.dlid.value},
                   {"slid", h.slid.value},
                   {"service", static_cast<unsigned>(h.service)},
                   {"stripe", h.stripe},
                   {"dqpn", h.dqpn.value},
                   {"sqpn", h.sqpn.value},
                   {"psn", h.psn.value},
                   {"csn", h.csn},
                   {"partition", h.partition.value},
                   {"lcn", h.lcn.value},
                   {"payload", hex_of_bytes(cell.payload)}};
  if (!cell.gnh.empty()) out["gnh"] = hex_of_bytes(cell.gnh);
  if (cell.ee) out["ee"] = *cell.ee;
  if (cell.stream_number) out["stream"] = *cell.stream_number;
  if (cell.va_mh) {
    out["va_mh"] = json::object{{"address", wide(cell.va_mh->address.value)},
                                {"handle", cell.va_mh->handle.value},
                                {"length", cell.va_mh->length}};
  }
  if (const auto read = ReadExt::parse(cell.read_ext)) {
    out["read"] = json::object{{"msn", read->msn},
                               {"sink_handle", read->sink_handle.value},
                               {"sink_offset", wide(read->sink_offset)}};
  }
  if (const auto atomic = AtomicExt::parse(cell.atomic_ext)) {
    out["atomic"] = json::object{{"op", static_cast<unsigned>(atomic->op)},
                                 {"operand1", wide(atomic->operand1)},
                                 {"operand2", wide(atomic->operand2)}};
  }
  if (cell.idata) out["idata"] = *cell.idata;
  if (cell.dereg) out["dereg"] = *cell.dereg;
  if (cell.packet_crc) out["packet_crc"] = *cell.packet_crc;
  describe_ack(cell, out);
  return out;
}

MacHeader header_of(const json::object& from) {
  MacHeader h;
  h.sl = number<std::uint8_t>(from, "sl");
  h.pos = static_cast<Pos>(number(from, "pos"));
  h.op = static_cast<Op>(number(from, "op"));
  h.flags = number<std::uint8_t>(from, "flags");
  h.service = static_cast<Service>(number(from, "service"));
  h.stripe = number<std::uint8_t>(from, "stripe");
  h.dlid = Lid(number<std::uint16_t>(from, "dlid"));
  h.slid = Lid(number<std::uint16_t>(from, "slid"));
  h.dqpn = Qpn(number(from, "dqpn"));
  h.sqpn = Qpn(number(from, "sqpn"));
  h.psn = Psn(number(from, "psn"));
  h.csn = number<std::uint16_t>(from, "csn");
  h.partition = PartitionKey(number<std::uint16_t>(from, "partition"));
  h.lcn = Lcn(number(from, "lcn"));
  return h;
}

AckExt ack_of(const json::object& from) {
  AckExt ack;
  ack.code = static_cast<AckCode>(number(from, "code"));
  ack.msn = number(from, "msn");
  ack.receive_credits = number<std::uint16_t>(from, "credits");
  ack.detail = number<std::uint16_t>(from, "detail");
  ack.selective = from.contains("cumulative");
  if (!ack.selective) return ack;
  ack.cumulative = Lcn(number(from, "cumulative"));
  ack.hold_10us = number<std::uint8_t>(from, "hold");
  for (const json::value& word : from.at("bitmap").as_array())
    ack.bitmap[ack.bitmap_words++] = word.to_number<std::uint32_t>();
  return ack;
}

// The extensions of a head, which points to some of them.
struct Extensions {
  std::optional<AckExt> ack;
  std::optional<Gnh> gnh;
  std::optional<ReadExt> read;
  std::optional<AtomicExt> atomic;
};

void set_pointers(CellHead& head, const json::object& from, Extensions& ext) {
  if (from.contains("ack")) head.ack = &ext.ack.emplace(ack_of(from.at("ack").as_object()));
  if (from.contains("gnh")) head.gnh = &ext.gnh.emplace(*Gnh::parse(bytes_at(from, "gnh")));
  if (from.contains("read")) {
    const json::object& read = from.at("read").as_object();
    head.read =
        &ext.read.emplace(ReadExt{number(read, "msn"), MemoryHandle(number(read, "sink_handle")),
                                  number64(read, "sink_offset")});
  }
  if (from.contains("atomic")) {
    const json::object& atomic = from.at("atomic").as_object();
    head.atomic =
        &ext.atomic.emplace(AtomicExt{static_cast<FetchOp>(number(atomic, "op")),
                                      number64(atomic, "operand1"), number64(atomic, "operand2")});
  }
}

OwnedBytes cell_of(const json::object& from) {
  CellHead head;
  Extensions ext;
  head.header = header_of(from);
  const OwnedBytes payload = bytes_at(from, "payload");
  head.header.payload_bytes = static_cast<std::uint16_t>(payload.size());
  set_pointers(head, from, ext);
  if (from.contains("ee")) head.ee = number(from, "ee");
  if (from.contains("stream")) head.stream_number = number(from, "stream");
  if (from.contains("idata")) head.idata = number(from, "idata");
  if (from.contains("dereg")) head.dereg = number(from, "dereg");
  if (from.contains("va_mh")) {
    const json::object& va_mh = from.at("va_mh").as_object();
    head.va_mh = VaMh{VirtualAddress(number64(va_mh, "address")),
                      MemoryHandle(number(va_mh, "handle")), number(va_mh, "length")};
  }
  OwnedBytes out(cell_bytes(head, payload.size()));
  const std::size_t head_bytes = emit_cell_head(out, head);
  std::copy(payload.begin(), payload.end(), out.begin() + static_cast<std::ptrdiff_t>(head_bytes));
  std::optional<std::uint32_t> packet_crc;
  if (from.contains("packet_crc")) packet_crc = number(from, "packet_crc");
  seal_cell(out, head_bytes, payload.size(), packet_crc);
  return out;
}

TEST(CellVectorsTest, P_CELL_1_P_CELL_2_P_ACK_7_cells) {
  compare_with_vectors(
      "cell",
      [](const Vector& vector) {
        CellView cell;
        const CellError error = parse_cell(vector.bytes, cell);
        return error == CellError::kNone ? understood(meaning_of(cell)) : refused(name(error));
      },
      [](const Vector& vector) { return cell_of(vector.meaning); });
}

}  // namespace cell_vectors_test
}  // namespace splitnic::fabric
