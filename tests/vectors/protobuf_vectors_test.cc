// Capabilities and the data of CfgUtil against docs/protocol/vectors: JSON of the vectors to
// Protobuf messages and back, by reflection. Bytes are hexadecimal text, fixed64 too.
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/connect.pb.h"
#include "tests/vectors/vector_file.h"

namespace splitnic::messaging {
namespace protobuf_vectors_test {
using namespace support;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

json::object meaning_of(const Message& message);

// `index` is -1 for a field that is not repeated.
json::value value_of(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool is_one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return meaning_of(is_one ? r.GetMessage(message, &field)
                               : r.GetRepeatedMessage(message, &field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      return json::value_from(hex_of_bytes(base::as_bytes(
          is_one ? r.GetString(message, &field) : r.GetRepeatedString(message, &field, index))));
    case FieldDescriptor::CPPTYPE_UINT64:
      return json::value_from(wide(r.GetUInt64(message, &field)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return r.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return r.GetEnumValue(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return is_one ? r.GetUInt32(message, &field) : r.GetRepeatedUInt32(message, &field, index);
    default:
      ADD_FAILURE() << field.full_name();
      return nullptr;
  }
}

json::object meaning_of(const Message& message) {
  const Reflection& r = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r.ListFields(message, &fields);
  json::object out;
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) {
      out[field->name()] = value_of(message, *field, -1);
      continue;
    }
    json::array all;
    for (int i = 0; i < r.FieldSize(message, field); ++i)
      all.push_back(value_of(message, *field, i));
    out[field->name()] = all;
  }
  return out;
}

void fill(Message& message, const json::object& from);

void set(Message& message, const FieldDescriptor& field, const json::value& value) {
  const Reflection& r = *message.GetReflection();
  const bool is_one = !field.is_repeated();
  const auto as_text = [&] { return std::string(value.as_string()); };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return fill(is_one ? *r.MutableMessage(&message, &field) : *r.AddMessage(&message, &field),
                  value.as_object());
    case FieldDescriptor::CPPTYPE_STRING: {
      const OwnedBytes bytes = bytes_of_hex(as_text());
      const std::string raw(base::as_text(bytes));
      return is_one ? r.SetString(&message, &field, raw) : r.AddString(&message, &field, raw);
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      return r.SetUInt64(&message, &field, std::stoull(as_text(), nullptr, 16));
    case FieldDescriptor::CPPTYPE_BOOL:
      return r.SetBool(&message, &field, value.as_bool());
    case FieldDescriptor::CPPTYPE_ENUM:
      return r.SetEnumValue(&message, &field, value.to_number<int>());
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto count = value.to_number<std::uint32_t>();
      return is_one ? r.SetUInt32(&message, &field, count) : r.AddUInt32(&message, &field, count);
    }
    default:
      ADD_FAILURE() << field.full_name();
  }
}

void fill(Message& message, const json::object& from) {
  for (const auto& [key, value] : from) {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(std::string(key));
    ASSERT_NE(field, nullptr) << key;
    if (!field->is_repeated()) {
      set(message, *field, value);
      continue;
    }
    for (const json::value& one : value.as_array()) set(message, *field, one);
  }
}

std::unique_ptr<Message> message_of_type(const std::string& type) {
  const std::string name =
      "splitnic.messaging." + std::string(type == "Capabilities" ? "connect." : "cfg.") + type;
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(name);
  if (descriptor == nullptr) throw std::invalid_argument(name);
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
}

// A known field of another wire type: Protobuf takes it for an unknown one.
bool has_field_of_another_type(const Message& message) {
  const auto& others = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < others.field_count(); ++i) {
    if (message.GetDescriptor()->FindFieldByNumber(others.field(i).number()) != nullptr)
      return true;
  }
  return false;
}

TEST(ProtobufVectorsTest, P_CH_2_P_CFG_5_capabilities_and_data_of_requests) {
  // Both messages are linked in.
  static_cast<void>(connect::Capabilities::descriptor());
  static_cast<void>(cfg::InitNicRequest::descriptor());
  compare_with_vectors(
      "protobuf",
      [](const Vector& vector) {
        const auto message = message_of_type(vector.type);
        if (!message->ParseFromArray(vector.bytes.data(), static_cast<int>(vector.bytes.size())))
          return refused("protobuf");
        if (has_field_of_another_type(*message)) return refused("type");
        return understood(meaning_of(*message));
      },
      [](const Vector& vector) {
        const auto message = message_of_type(vector.type);
        fill(*message, vector.meaning);
        const std::string out = message->SerializeAsString();
        const base::Bytes bytes = base::as_bytes(out);
        return OwnedBytes(bytes.begin(), bytes.end());
      });
}

}  // namespace protobuf_vectors_test
}  // namespace splitnic::messaging
