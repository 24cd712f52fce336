// Flits, datagrams and INIT against docs/protocol/vectors.
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"
#include "tests/vectors/vector_file.h"

namespace splitnic::fabric {
namespace link_vectors_test {
using namespace support;

json::object meaning_of(const FlitView& flit) {
  const FlitHeader& h = flit.header;
  return {{"type", static_cast<unsigned>(h.type)},
          {"lane", h.vl},
          {"ctl", h.ctl & 0xF0U},
          {"lsn", h.lsn.value},
          {"ack", h.ack.value},
          {"credit_lane", h.credit_vl},
          {"credit_limit", h.credit_limit},
          {"payload", hex_of_bytes(flit.payload)}};
}

void append_flit(OwnedBytes& out, const json::object& from) {
  FlitHeader header;
  header.type = static_cast<FlitType>(number(from, "type"));
  header.vl = number<std::uint8_t>(from, "lane");
  header.ctl = number<std::uint8_t>(from, "ctl");
  header.lsn = Lsn(number(from, "lsn"));
  header.ack = Lsn(number(from, "ack"));
  header.credit_vl = number<std::uint8_t>(from, "credit_lane");
  header.credit_limit = number(from, "credit_limit");
  const OwnedBytes payload = bytes_at(from, "payload");
  const std::size_t at = out.size();
  out.resize(at + kFlitHeaderBytes + payload.size());
  emit_flit(base::MutableBytes(out).subspan(at), header, payload);
}

TEST(LinkVectorsTest, P_LINK_1_P_LINK_2_P_LINK_3_flits) {
  compare_with_vectors(
      "flit",
      [](const Vector& vector) {
        FlitView flit;
        const FlitError error = parse_flit(vector.bytes, flit);
        return error == FlitError::kNone ? understood(meaning_of(flit)) : refused(name(error));
      },
      [](const Vector& vector) {
        OwnedBytes out;
        append_flit(out, vector.meaning);
        return out;
      });
}

// Walks a datagram as a port does. An error that ends the walk is its result.
Read walk(base::Bytes datagram) {
  json::array flits;
  FlitWalker walker(datagram);
  for (FlitView flit;;) {
    switch (walker.next(flit)) {
      case FlitWalker::Step::kFlit:
        flits.push_back(meaning_of(flit));
        break;
      case FlitWalker::Step::kBad:
        if (walker.error() == FlitError::kType || walker.error() == FlitError::kPayload) break;
        return refused(name(walker.error()));
      case FlitWalker::Step::kSession:
        return refused("session");
      case FlitWalker::Step::kEnd:
        return understood({{"flits", flits}});
    }
  }
}

TEST(LinkVectorsTest, P_DG_2_P_DG_3_P_DG_5_P_DG_6_datagrams) {
  compare_with_vectors(
      "datagram",
      [](const Vector& vector) {
        Read read = walk(vector.bytes);
        // The walker has no interest in how long the filler is.
        if (read.error.empty()) read.meaning["filler"] = vector.meaning.at("filler");
        return read;
      },
      [](const Vector& vector) {
        OwnedBytes out;
        for (const json::value& flit : vector.meaning.at("flits").as_array())
          append_flit(out, flit.as_object());
        out.resize(out.size() + number(vector.meaning, "filler"));
        return out;
      });
}

json::object meaning_of(const Init& init) {
  return {{"step", name(init.step)},
          {"profile", name(init.profile)},
          {"cell_crc", static_cast<unsigned>(init.cell_crc)},
          {"program_version", init.program_version},
          {"lanes", init.lanes_mask},
          {"mcp", init.mcp_max},
          {"flit_payload", init.flit_payload_max},
          {"port", init.port},
          {"reason", static_cast<unsigned>(init.reason)},
          {"payload_crc", static_cast<unsigned>(init.payload_crc)},
          {"initial_credit", init.initial_credit},
          {"proof", wide(init.proof)},
          {"receive_buffer", init.receive_buffer_bytes},
          {"eui64", wide(init.eui64.value)},
          {"instance", wide(init.instance)},
          {"peer_instance", wide(init.peer_instance)},
          {"nonce", wide(init.nonce)},
          {"echo", wide(init.echo)},
          {"lid", init.lid.value},
          {"offered_lid", init.offered_lid.value}};
}

// The enumerator whose name is this text; the first that has another name ends the search.
template <typename Enum>
Enum named(const std::string& text, unsigned first) {
  for (unsigned value = first; value < 16; ++value) {
    if (name(static_cast<Enum>(value)) == text) return static_cast<Enum>(value);
  }
  ADD_FAILURE() << text;
  return static_cast<Enum>(first);
}

Init init_of(const json::object& from) {
  Init init;
  init.step = named<InitStep>(text(from, "step"), 1);
  init.profile = named<LinkProfile>(text(from, "profile"), 0);
  init.cell_crc = static_cast<CellCrcMode>(number(from, "cell_crc"));
  init.program_version = number(from, "program_version");
  init.lanes_mask = number<std::uint16_t>(from, "lanes");
  init.mcp_max = number<std::uint16_t>(from, "mcp");
  init.flit_payload_max = number<std::uint16_t>(from, "flit_payload");
  init.port = number<std::uint8_t>(from, "port");
  init.reason = static_cast<InitReason>(number(from, "reason"));
  init.payload_crc = static_cast<PayloadCrc>(number(from, "payload_crc"));
  init.initial_credit = number(from, "initial_credit");
  init.proof = number64(from, "proof");
  init.receive_buffer_bytes = number(from, "receive_buffer");
  init.eui64 = Eui64(number64(from, "eui64"));
  init.instance = number64(from, "instance");
  init.peer_instance = number64(from, "peer_instance");
  init.nonce = number64(from, "nonce");
  init.echo = number64(from, "echo");
  init.lid = Lid(number<std::uint16_t>(from, "lid"));
  init.offered_lid = Lid(number<std::uint16_t>(from, "offered_lid"));
  return init;
}

TEST(LinkVectorsTest, P_INIT_1_P_INIT_2_P_INIT_22_inits) {
  compare_with_vectors(
      "init",
      [](const Vector& vector) {
        Init init;
        const InitError error = parse_init(vector.bytes, init);
        return error == InitError::kNone ? understood(meaning_of(init)) : refused(name(error));
      },
      [](const Vector& vector) {
        OwnedBytes out(kInitBytes);
        emit_init(out.data(), init_of(vector.meaning));
        return out;
      });
}

}  // namespace link_vectors_test
}  // namespace splitnic::fabric
