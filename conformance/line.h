// One end's way to the target: datagrams of flits over a carrier, sealed where the end has keys.
// It records what passes in the transcript of the case.
#pragma once

#include <optional>
#include <vector>

#include "conformance/carrier.h"
#include "conformance/lanes.h"
#include "conformance/responder.h"
#include "conformance/session.h"
#include "conformance/states/observer.h"
#include "conformance/transcript.h"

namespace splitnic::conformance {

class Line {
 public:
  // Both outlive this. `session` null: a plain link.
  Line(Carrier& carrier, Session* session)
      : carrier_(carrier), records_(session), session_(session) {}
  // The same for an I/O unit.
  Line(Carrier& carrier, Responder* responder)
      : carrier_(carrier), records_(responder), responder_(responder) {}
  explicit Line(Carrier& carrier) : carrier_(carrier) {}

  bool is_keyed() const { return records_ != nullptr; }
  Session& session() { return *session_; }        // REQUIRES a host that is_keyed()
  Responder& responder() { return *responder_; }  // REQUIRES an I/O unit that is_keyed()
  Carrier& carrier() { return carrier_; }
  // Of the link in the full profile; in the others they are not open.
  Lanes& lanes() { return lanes_; }
  base::Time now() { return carrier_.now(); }

  // Shows what passes to this observer too, which outlives this or is replaced by nullptr.
  void observe(Observer* observer) { observer_ = observer; }
  // Shows it a cell that passed in several flits, or in one of the full profile.
  void note_cell(Direction direction, base::Bytes cell);

  // A new transcript, and nothing that has arrived before; the lanes behave.
  void begin();
  Transcript& transcript() { return transcript_; }
  // The same, and the host on this line is another process from now on; one with keys agrees on
  // new ones. `timeout`: of one reply. Returns false if no RESPONSE is good.
  bool begin_process(base::Duration timeout);

  // Agrees on new keys: repeats the INITIATION until `until`, with the cookie of a target that
  // requires one. Returns false if no RESPONSE is good.
  bool agree(base::Time until);

  // Sends one datagram of flits. A keyed line needs keys.
  void send(base::Bytes datagram);
  // Returns when the last one was sent.
  base::Time last_sent() const { return last_sent_; }
  // Returns the next datagram of flits; of a keyed line only what good records hold. What is left
  // of a flood when the time is over is not read. A unit that responds replies to INITIATION.
  std::optional<std::vector<std::byte>> receive(base::Time until);

  // The same without records: each datagram as it is on the carrier.
  void send_raw(base::Bytes datagram);
  std::optional<std::vector<std::byte>> receive_raw(base::Time until);

 private:
  void put(base::Bytes datagram);
  std::optional<base::Bytes> take(base::Time until);
  void note(Direction direction, base::Bytes datagram);

  Carrier& carrier_;
  Records* records_ = nullptr;
  Session* session_ = nullptr;
  Responder* responder_ = nullptr;
  Lanes lanes_;
  Transcript transcript_;
  Observer* observer_ = nullptr;
  base::Time last_sent_{};
};

}  // namespace splitnic::conformance
