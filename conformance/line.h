// One host's way to the target: datagrams of flits over a carrier, sealed where the host has keys.
// It records what passes in the transcript of the case.
#pragma once

#include <optional>
#include <vector>

#include "conformance/carrier.h"
#include "conformance/session.h"
#include "conformance/transcript.h"

namespace splitnic::conformance {

class Line {
 public:
  // Both outlive this. `session` null: a plain link.
  Line(Carrier& carrier, Session* session) : carrier_(carrier), session_(session) {}

  bool is_keyed() const { return session_ != nullptr; }
  Session& session() { return *session_; }  // REQUIRES is_keyed()
  Carrier& carrier() { return carrier_; }
  base::Time now() { return carrier_.now(); }

  // A new transcript, and nothing that has arrived before.
  void begin();
  Transcript& transcript() { return transcript_; }

  // Agrees on new keys: repeats the INITIATION until `until`, with the cookie of a target that
  // requires one. Returns false if no RESPONSE is good.
  bool agree(base::Time until);

  // Sends one datagram of flits. A keyed line needs keys.
  void send(base::Bytes datagram);
  // When the last one was sent.
  base::Time last_sent() const { return last_sent_; }
  // Returns the next datagram of flits; of a keyed line only what good records hold. What is left
  // of a flood when the time is over is not read.
  std::optional<std::vector<std::byte>> receive(base::Time until);

  // The same without records: each datagram as it is on the carrier.
  void send_raw(base::Bytes datagram);
  std::optional<std::vector<std::byte>> receive_raw(base::Time until);

 private:
  Carrier& carrier_;
  Session* session_;
  Transcript transcript_;
  base::Time last_sent_{};
};

}  // namespace splitnic::conformance
