// An end that sends CONNECT_REQ and refuses those of others, with one connection at a time: replies
// and the end of the connection are reported to that. Thread: the data thread.
#pragma once

#include <string_view>

#include "fabric_emul/verbs/connection_manager.h"
#include "messaging/connection.h"

namespace splitnic::messaging {

class ConnectingEnd : public fabric::ConnectionHandler {
 public:
  // Returns the connection; null: there is none.
  virtual Connection* connection() = 0;

  // fabric::ConnectionHandler
  bool on_connected(fabric::ConnectionId id, fabric::Link& link, const fabric::Mgmt& reply) final {
    Connection* const mine = connection();
    return mine != nullptr && mine->on_connected(id, link, reply);
  }
  void on_rejected(fabric::ConnectionId id, fabric::MgmtReject code,
                   base::Bytes private_data) final {
    if (Connection* const mine = connection()) mine->on_rejected(id, code, private_data);
  }
  void on_disconnected(fabric::ConnectionId id, std::string_view why) final {
    if (Connection* const mine = connection()) mine->on_disconnected(id, why);
  }
};

}  // namespace splitnic::messaging
