// MGMT and TERMINATE against docs/protocol/vectors.
#include "fabric_emul/wire/mgmt.h"

#include "fabric_emul/wire/terminate.h"
#include "tests/vectors/vector_file.h"

namespace splitnic::fabric {
namespace mgmt_vectors_test {
using namespace support;

json::object meaning_of(const MgmtPair& pair) {
  return {{"channel", pair.channel},
          {"service", static_cast<unsigned>(pair.service)},
          {"flags", pair.flags},
          {"qpn", pair.qpn.value},
          {"peer_qpn", pair.peer_qpn.value},
          {"start_psn", pair.start_psn.value},
          {"start_lcn", pair.start_lcn.value},
          {"mcp", pair.mcp},
          {"receive_credits", pair.receive_credits},
          {"max_dest_rd_atomic", pair.max_dest_rd_atomic},
          {"msg_max", pair.msg_max},
          {"completed", pair.completed.value}};
}

json::object meaning_of(const Mgmt& m) {
  json::array pairs;
  for (const MgmtPair& pair : m.used_pairs()) pairs.push_back(meaning_of(pair));
  return {{"kind", name(m.kind)},
          {"reject", static_cast<unsigned>(m.reject)},
          {"transaction", wide(m.transaction)},
          {"eui64", wide(m.eui64.value)},
          {"instance", wide(m.instance)},
          {"peer_eui64", wide(m.peer_eui64.value)},
          {"peer_instance", wide(m.peer_instance)},
          {"pairs", pairs},
          {"private", hex_of_bytes(m.private_data)}};
}

MgmtPair pair_of(const json::object& from) {
  MgmtPair pair;
  pair.channel = number<std::uint8_t>(from, "channel");
  pair.service = static_cast<Service>(number(from, "service"));
  pair.flags = number<std::uint16_t>(from, "flags");
  pair.qpn = Qpn(number(from, "qpn"));
  pair.peer_qpn = Qpn(number(from, "peer_qpn"));
  pair.start_psn = Psn(number(from, "start_psn"));
  pair.start_lcn = Lcn(number(from, "start_lcn"));
  pair.mcp = number<std::uint16_t>(from, "mcp");
  pair.receive_credits = number<std::uint16_t>(from, "receive_credits");
  pair.max_dest_rd_atomic = number<std::uint16_t>(from, "max_dest_rd_atomic");
  pair.msg_max = number(from, "msg_max");
  pair.completed = Msn(number(from, "completed"));
  return pair;
}

OwnedBytes mgmt_of(const json::object& from) {
  Mgmt m;
  while (name(m.kind) != text(from, "kind"))
    m.kind = static_cast<MgmtKind>(static_cast<unsigned>(m.kind) + 1);
  m.reject = static_cast<MgmtReject>(number(from, "reject"));
  m.transaction = number64(from, "transaction");
  m.eui64 = Eui64(number64(from, "eui64"));
  m.instance = number64(from, "instance");
  m.peer_eui64 = Eui64(number64(from, "peer_eui64"));
  m.peer_instance = number64(from, "peer_instance");
  for (const json::value& pair : from.at("pairs").as_array())
    m.pairs[m.pair_count++] = pair_of(pair.as_object());
  const OwnedBytes private_data = bytes_at(from, "private");
  m.private_data = private_data;
  OwnedBytes out(m.bytes());
  emit_mgmt(out, m);
  return out;
}

TEST(MgmtVectorsTest, P_MGMT_2_P_MGMT_3_connection_setup) {
  compare_with_vectors(
      "mgmt",
      [](const Vector& vector) {
        Mgmt m;
        const MgmtError error = parse_mgmt(vector.bytes, m);
        return error == MgmtError::kNone ? understood(meaning_of(m)) : refused(name(error));
      },
      [](const Vector& vector) { return mgmt_of(vector.meaning); });
}

json::object meaning_of(const Terminate& end) {
  const auto cause = static_cast<unsigned>(end.cause);
  OwnedBytes header(kMacHeaderBytes);
  end.offending.emit(header.data());
  return {{"layer", cause >> 12},
          {"type", cause >> 8 & 0xFU},
          {"code", cause & 0xFFU},
          {"check", end.check == 0 ? std::string() : std::string(1, end.check)},
          {"tag", end.handle.value},
          {"address", wide(end.address.value)},
          {"length", end.length},
          {"header", hex_of_bytes(header)}};
}

OwnedBytes terminate_of(const json::object& from) {
  Terminate end;
  end.cause = static_cast<TerminateCause>(number(from, "layer") << 12 | number(from, "type") << 8 |
                                          number(from, "code"));
  const std::string letter = text(from, "check");
  end.check = letter.empty() ? '\0' : letter.front();
  end.handle = MemoryHandle(number(from, "tag"));
  end.address = VirtualAddress(number64(from, "address"));
  end.length = number(from, "length");
  end.offending = MacHeader::parse(bytes_at(from, "header").data());
  OwnedBytes out(kTerminateBytes);
  end.emit(out.data());
  return out;
}

TEST(MgmtVectorsTest, P_TERM_1_causes_that_end_a_stream) {
  compare_with_vectors(
      "terminate",
      [](const Vector& vector) {
        const auto end = Terminate::parse(vector.bytes);
        return end ? understood(meaning_of(*end)) : refused("terminate");
      },
      [](const Vector& vector) { return terminate_of(vector.meaning); });
}

}  // namespace mgmt_vectors_test
}  // namespace splitnic::fabric
