// The control socket: a Unix stream socket that takes one request at a time from each of a few
// clients. Its owner may connect, and so may members of its group (unix_socket.h), to look: what
// changes something (set, evict, reload), or shows traffic (capture), is refused unless the client
// is root or the user of this program, by SO_PEERCRED [M-9], and members of the group leave places
// to these [L-16]. A stale file is replaced only if no program listens on it, and it is removed on
// stop if it is still the same file. A malformed or oversized request gets the reply kBadRequest,
// and its client is closed. Thread: open() before the io_context runs; everything else on the
// thread that runs it. Reply functions may be called from any thread, also after the server is
// gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/event_log.h"
#include "base/status.h"
#include "control/socket/requests.h"

namespace boost::asio {
class io_context;
}

namespace splitnic::control {

inline constexpr std::size_t kClientsMax = 32;
inline constexpr std::size_t kWatchersMax = 16;  // of them, so that others find room
// Of each, those that are not trusted.
inline constexpr std::size_t kGroupClientsMax = 24;
inline constexpr std::size_t kGroupWatchersMax = 12;

// Returns whether this user may do everything.
using UserCheck = std::function<bool(std::uint32_t user)>;

class Server {
 public:
  // Makes the folder of `path` if it is missing (one level). Clients can connect as soon as this
  // returns. Those that request monitor get what comes to `events`, which outlives the io_context's
  // use. Without `is_trusted` root and the user of this program are trusted.
  static base::Result<std::unique_ptr<Server>> open(boost::asio::io_context& io,
                                                    const std::string& path, RequestHandler handler,
                                                    base::EventLog& events = base::events(),
                                                    UserCheck is_trusted = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Closes every client and removes the file. Idempotent.
  void stop();
  const std::string& path() const;

 private:
  class Impl;
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace splitnic::control
