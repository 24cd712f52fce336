// Messages, idata, the virtio-net header and the digest of GET_STATE, against
// docs/protocol/vectors.
#include "lan_bridge/frame/vnet_header.h"
#include "messaging/cfgutil/nic_state.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/idata.h"
#include "messaging/wire/send_data.h"
#include "tests/vectors/vector_file.h"

namespace splitnic::messaging {
namespace message_vectors_test {
using namespace support;

json::object meaning_of(const PoolRecord& r) {
  return {{"pool", r.pool.value},
          {"elements", r.elements},
          {"element_size", r.element_bytes},
          {"handle", r.handle.value},
          {"address", wide(r.address.value)},
          {"pool_context", wide(r.pool_context)}};
}
json::object meaning_of(const ElementRange& r) {
  return {{"pool", r.pool.value}, {"first", r.first}, {"count", r.count}};
}
json::object meaning_of(const FlushRecord& r) { return {{"pool", r.pool.value}}; }
json::object meaning_of(const ConsumedRecord& r) {
  return {{"pool", r.pool.value}, {"first", r.first}, {"count", r.count}, {"stored", r.bytes}};
}
void read_record(const json::object& from, PoolRecord& r) {
  r = {PoolRef(number(from, "pool")),
       number(from, "elements"),
       number(from, "element_size"),
       fabric::MemoryHandle(number(from, "handle")),
       fabric::VirtualAddress(number64(from, "address")),
       number64(from, "pool_context")};
}
void read_record(const json::object& from, ElementRange& r) {
  r = {PoolRef(number(from, "pool")), number(from, "first"), number(from, "count")};
}
void read_record(const json::object& from, FlushRecord& r) { r = {PoolRef(number(from, "pool"))}; }
void read_record(const json::object& from, ConsumedRecord& r) {
  r = {PoolRef(number(from, "pool")), number(from, "first"), number(from, "count"),
       number(from, "stored")};
}

json::object begin_meaning(Function function, TransactionContext context) {
  return {{"function", name(function)}, {"context", wide(context.value)}};
}

template <typename Message>
Read read_records(base::Bytes in) {
  const auto message = Message::parse(in);
  if (!message) return refused(name(message.error()));
  json::object out = begin_meaning(Message::Record::kFunction, message->context());
  json::array records;
  for (std::size_t i = 0; i < message->size(); ++i) records.push_back(meaning_of((*message)[i]));
  out["records"] = records;
  return understood(out);
}

template <typename Message>
OwnedBytes write_records(const json::object& from, TransactionContext context) {
  std::vector<typename Message::Record> records;
  for (const json::value& record : from.at("records").as_array())
    read_record(record.as_object(), records.emplace_back());
  OwnedBytes out(Message::bytes(records.size()));
  Message::emit(context, std::span<const typename Message::Record>(records), out);
  return out;
}

json::object cfg_meaning(Function function, TransactionContext context, CfgCode code,
                         base::Bytes data) {
  json::object out = begin_meaning(function, context);
  out["family"] = static_cast<std::uint32_t>(code) >> 16;
  out["code"] = static_cast<std::uint32_t>(code) & 0xFFFFU;
  out["data"] = hex_of_bytes(data);
  return out;
}

Read read_other(Function function, base::Bytes in) {
  switch (function) {
    case Function::kBufferRecvPoolGet: {
      const auto get = BufferRecvPoolGet::parse(in);
      if (!get) return refused(name(get.error()));
      json::object out = begin_meaning(function, get->context);
      out["packet_size"] = get->packet_bytes;
      out["packets"] = get->packets;
      return understood(out);
    }
    case Function::kBufferPoolFlushReply: {
      const auto reply = BufferPoolFlushReply::parse(in);
      return reply ? understood(begin_meaning(function, reply->context))
                   : refused(name(reply.error()));
    }
    case Function::kSendData: {
      const auto send = SendData::parse(in);
      if (!send) return refused(name(send.error()));
      json::object out = begin_meaning(function, send->context);
      out["data"] = hex_of_bytes(send->data);
      return understood(out);
    }
    case Function::kCfgUtilRequest: {
      const auto request = CfgUtilRequest::parse(in);
      if (!request) return refused(name(request.error()));
      return understood(cfg_meaning(function, request->context, request->code, request->data));
    }
    default: {
      const auto reply = CfgUtilReply::parse(in);
      if (!reply) return refused(name(reply.error()));
      json::object out = cfg_meaning(function, reply->context, reply->code, reply->data);
      out["status"] = static_cast<std::uint32_t>(reply->status);
      return understood(out);
    }
  }
}

Read read_message(const Vector& vector) {
  const auto header = MessageHeader::parse(vector.bytes);
  if (!header) return refused(name(header.error()));
  const auto function = header->function();
  if (!function) return refused(name(function.error()));
  switch (*function) {
    case Function::kBufferRecvPool:
      return read_records<BufferRecvPool>(vector.bytes);
    case Function::kBufferRecvPoolUpdate:
      return read_records<BufferRecvPoolUpdate>(vector.bytes);
    case Function::kBufferPoolFlushRequest:
      return read_records<BufferPoolFlushRequest>(vector.bytes);
    case Function::kBufferRdmaIndicate:
      return read_records<BufferRdmaIndicate>(vector.bytes);
    default:
      return read_other(*function, vector.bytes);
  }
}

template <typename Message>
OwnedBytes emitted(const Message& message, std::size_t bytes) {
  OwnedBytes out(bytes);
  static_cast<void>(message.emit(out));
  return out;
}

OwnedBytes write_message(const Vector& vector) {
  const json::object& from = vector.meaning;
  const TransactionContext context(number64(from, "context"));
  const std::string function = text(from, "function");
  if (function == name(Function::kBufferRecvPool))
    return write_records<BufferRecvPool>(from, context);
  if (function == name(Function::kBufferRecvPoolUpdate))
    return write_records<BufferRecvPoolUpdate>(from, context);
  if (function == name(Function::kBufferPoolFlushRequest))
    return write_records<BufferPoolFlushRequest>(from, context);
  if (function == name(Function::kBufferRdmaIndicate))
    return write_records<BufferRdmaIndicate>(from, context);
  if (function == name(Function::kBufferRecvPoolGet))
    return emitted(BufferRecvPoolGet{context, number(from, "packet_size"), number(from, "packets")},
                   20);
  if (function == name(Function::kBufferPoolFlushReply))
    return emitted(BufferPoolFlushReply{context}, 12);
  const OwnedBytes data = bytes_at(from, "data");
  if (function == name(Function::kSendData))
    return emitted(SendData{context, data}, SendData::bytes(data.size()));
  const auto code = static_cast<CfgCode>(number(from, "family") << 16 | number(from, "code"));
  if (function == name(Function::kCfgUtilRequest))
    return emitted(CfgUtilRequest{context, code, data}, CfgUtilRequest::bytes(data.size()));
  const auto status = static_cast<CfgStatus>(number(from, "status"));
  return emitted(CfgUtilReply{context, code, status, data}, CfgUtilReply::bytes(data.size()));
}

TEST(MessageVectorsTest, P_MSG_1_P_MSG_2_P_MSG_7_messages) {
  compare_with_vectors("message", read_message, write_message);
}

TEST(MessageVectorsTest, P_DATA_14_idata) {
  compare_with_vectors(
      "idata",
      [](const Vector& vector) {
        const auto idata = base::load_be<std::uint32_t>(vector.bytes.data());
        if (text(vector.meaning, "form") == "A") {
          const auto a = PoolElementIdata::decode(idata);
          return understood(
              {{"form", "A"}, {"pool", a.pool}, {"element", a.element}, {"size", a.bytes}});
        }
        const auto b = OffsetLengthIdata::decode(idata);
        return understood({{"form", "B"}, {"offset", b.offset}, {"size", b.bytes}});
      },
      [](const Vector& vector) {
        const json::object& from = vector.meaning;
        const auto size = number(from, "size");
        const auto idata = text(from, "form") == "A"
                               ? PoolElementIdata::encode(PoolRef(number(from, "pool")),
                                                          number(from, "element"), size)
                               : OffsetLengthIdata::encode(number(from, "offset"), size);
        OwnedBytes out(4);
        base::store_be(out.data(), idata.value());
        return out;
      });
}

TEST(MessageVectorsTest, P_DATA_15_virtio_net_headers) {
  compare_with_vectors(
      "vnet",
      [](const Vector& vector) {
        const auto h = lan::VnetHeader::parse(vector.bytes);
        return understood({{"flags", h.flags},
                           {"gso_type", h.gso_type},
                           {"hdr_len", h.hdr_len},
                           {"gso_size", h.gso_size},
                           {"csum_start", h.csum_start},
                           {"csum_offset", h.csum_offset}});
      },
      [](const Vector& vector) {
        const json::object& from = vector.meaning;
        lan::VnetHeader h;
        h.flags = number<std::uint8_t>(from, "flags");
        h.gso_type = number<std::uint8_t>(from, "gso_type");
        h.hdr_len = number<std::uint16_t>(from, "hdr_len");
        h.gso_size = number<std::uint16_t>(from, "gso_size");
        h.csum_start = number<std::uint16_t>(from, "csum_start");
        h.csum_offset = number<std::uint16_t>(from, "csum_offset");
        OwnedBytes out(lan::VnetHeader::kBytes);
        h.emit(out);
        return out;
      });
}

NicState::Mac mac_of(const json::value& from) {
  NicState::Mac mac{};
  const OwnedBytes bytes = bytes_of_hex(std::string_view(from.as_string()));
  for (std::size_t i = 0; i < mac.size(); ++i) mac[i] = std::to_integer<std::uint8_t>(bytes.at(i));
  return mac;
}

NicState state_of(const json::object& from) {
  const auto flag = [&](const char* key) { return from.contains(key) && from.at(key).as_bool(); };
  NicState state;
  if (from.contains("mac")) state.mac = mac_of(from.at("mac"));
  state.promiscuous = flag("promiscuous");
  state.all_multicast = flag("all_multicast");
  state.no_unicast = flag("no_unicast");
  state.no_multicast = flag("no_multicast");
  state.no_broadcast = flag("no_broadcast");
  const auto read_macs = [&](const char* key, std::vector<NicState::Mac>& to) {
    if (!from.contains(key)) return;
    for (const json::value& mac : from.at(key).as_array()) to.push_back(mac_of(mac));
  };
  read_macs("unicast", state.unicast);
  read_macs("multicast", state.multicast);
  if (from.contains("vlans")) {
    for (const json::value& id : from.at("vlans").as_array())
      state.vlans.push_back(id.to_number<std::uint16_t>());
  }
  if (from.contains("pvid")) state.pvid = number<std::uint16_t>(from, "pvid");
  if (from.contains("mtu")) state.mtu = number(from, "mtu");
  if (from.contains("offloads")) state.offloads = number64(from, "offloads");
  if (from.contains("queues")) state.queues = number(from, "queues");
  if (from.contains("microseconds")) state.coalescing.microseconds = number(from, "microseconds");
  if (from.contains("frames")) state.coalescing.frames = number(from, "frames");
  if (from.contains("bytes")) state.coalescing.bytes = number(from, "bytes");
  state.coalescing.is_adaptive = flag("adaptive");
  if (from.contains("priorities")) {
    const OwnedBytes levels = bytes_of_hex(std::string(from.at("priorities").as_string()));
    state.qos = QosMap::parse(base::as_text(levels), {}).value();
  }
  return state;
}

TEST(MessageVectorsTest, P_CFG_21_digests) {
  for (const Vector& vector : load_vectors("digest")) {
    SCOPED_TRACE(vector.name);
    EXPECT_EQ(hex_of_bytes(base::as_bytes(state_of(vector.meaning).digest())),
              hex_of_bytes(vector.bytes));
  }
}

}  // namespace message_vectors_test
}  // namespace splitnic::messaging
