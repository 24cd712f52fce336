// Handshakes and records of keyed links against docs/protocol/vectors, with every secret.
#include "fabric_emul/session/attempt.h"
#include "fabric_emul/session/cookie.h"
#include "fabric_emul/session/messages.h"
#include "fabric_emul/session/noise.h"
#include "fabric_emul/session/record_keys.h"
#include "tests/vectors/vector_file.h"

namespace splitnic::fabric::session {
namespace session_vectors_test {
using namespace support;

Bytes32 bytes32_of(const json::object& from, const char* name) {
  Bytes32 out{};
  const OwnedBytes bytes = bytes_at(from, name);
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}
Secret secret_of(const json::object& from, const char* name) {
  return Secret(bytes32_of(from, name));
}

// Both ends of the handshake that a vector describes.
class Both {
 public:
  explicit Both(const json::object& from)
      : from_(from),
        host_(secret_of(from, "initiator_private")),
        unit_(secret_of(from, "responder_private")),
        shared_(*x25519(host_.private_key, unit_.public_key)),
        prologue_(prologue_for(unit_.public_key)),
        first_(host_, unit_.public_key, shared_, prologue_),
        second_(unit_, prologue_) {}

  const StaticKey& host() const { return host_; }
  const StaticKey& unit() const { return unit_; }

  OwnedBytes initiation() {
    OwnedBytes out(kInitiationBytes);
    const InitiationPayload payload{number64(from_, "stamp"),
                                    number64(from_, "initiator_instance")};
    EXPECT_TRUE(first_.write_initiation(secret_of(from_, "initiator_ephemeral"), payload.emit(),
                                        begin_initiation(out, number(from_, "initiator_index"))));
    Mac cookie{};
    const OwnedBytes known = bytes_at(from_, "cookie");
    std::copy(known.begin(), known.end(), cookie.begin());
    put_macs(out, MacKeys(unit_.public_key), known.empty() ? nullptr : &cookie);
    return out;
  }

  void read(base::Bytes initiation) {
    EXPECT_TRUE(has_mac1(initiation, MacKeys(unit_.public_key)));
    EXPECT_EQ(Initiation::sender(initiation), number(from_, "initiator_index"));
    EXPECT_EQ(second_.read_static(Initiation::noise(initiation)), host_.public_key);
    std::array<std::byte, kInitiationPayloadBytes> payload{};
    EXPECT_TRUE(second_.read_payload(Initiation::noise(initiation), shared_, payload));
    EXPECT_EQ(InitiationPayload::parse(payload).stamp, number64(from_, "stamp"));
    EXPECT_EQ(InitiationPayload::parse(payload).instance, number64(from_, "initiator_instance"));
  }

  OwnedBytes response() {
    OwnedBytes out(kResponseBytes);
    unit_keys_ = second_.write_response(
        secret_of(from_, "responder_ephemeral"), secret_of(from_, "psk"),
        ResponsePayload{number64(from_, "responder_instance")}.emit(),
        begin_response(out, number(from_, "responder_index"), number(from_, "initiator_index")));
    put_macs(out, MacKeys(host_.public_key), nullptr);
    return out;
  }

  void read_response(base::Bytes response) {
    std::array<std::byte, kResponsePayloadBytes> payload{};
    host_keys_ = first_.read_response(Response::noise(response), secret_of(from_, "psk"), payload);
    ASSERT_TRUE(host_keys_ && unit_keys_);
    EXPECT_EQ(ResponsePayload::parse(payload).instance, number64(from_, "responder_instance"));
  }

  void check_records() {
    const SessionConfig config;
    RecordKeys host(config, *host_keys_, {{}, number(from_, "responder_index"), base::Time(), 0});
    RecordKeys unit(config, *unit_keys_, {{}, number(from_, "initiator_index"), base::Time(), 0});
    for (const json::value& value : from_.at("records").as_array()) {
      const json::object& record = value.as_object();
      const bool is_host = text(record, "from") == "initiator";
      const OwnedBytes plain = bytes_at(record, "plain");
      OwnedBytes sealed(plain.size() + kDataOverheadBytes);
      (is_host ? host : unit).seal(sealed, plain, number<std::uint8_t>(record, "flags"));
      EXPECT_EQ(hex_of_bytes(sealed), hex_of_bytes(bytes_at(record, "bytes")));
      EXPECT_EQ(Data::counter(sealed), number(record, "counter"));
      OwnedBytes opened(plain.size());
      EXPECT_EQ((is_host ? unit : host).open(base::Time(), opened, sealed),
                RecordKeys::Opened::kGoodHighest);
      EXPECT_EQ(hex_of_bytes(opened), hex_of_bytes(plain));
    }
  }

 private:
  const json::object& from_;
  const StaticKey host_, unit_;
  const Secret shared_;
  const decltype(prologue_for(PublicKey{})) prologue_;
  NoiseInitiator first_;
  NoiseResponder second_;
  std::optional<TransportKeys> host_keys_, unit_keys_;
};

TEST(SessionVectorsTest, P_KEY_1_P_KEY_9_P_KEY_18_handshakes_and_records) {
  for (const Vector& vector : load_vectors("session")) {
    SCOPED_TRACE(vector.name);
    EXPECT_EQ(type_of(vector.bytes).has_value(), vector.is_valid);
    if (!vector.is_valid) continue;
    Both both(vector.meaning);
    EXPECT_EQ(hex_of_bytes(both.host().public_key.bytes), text(vector.meaning, "initiator_public"));
    EXPECT_EQ(hex_of_bytes(both.unit().public_key.bytes), text(vector.meaning, "responder_public"));
    EXPECT_EQ(hex_of_bytes(both.initiation()), hex_of_bytes(vector.bytes));
    both.read(vector.bytes);
    const OwnedBytes response = both.response();
    EXPECT_EQ(hex_of_bytes(response), hex_of_bytes(bytes_at(vector.meaning, "response")));
    both.read_response(response);
    both.check_records();
  }
}

}  // namespace session_vectors_test
}  // namespace splitnic::fabric::session
