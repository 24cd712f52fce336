#include "control/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <set>
#include <utility>

#include "base/log.h"
#include "control/mailbox.h"
#include "control/nic_request.h"
#include "control/unix_socket.h"

namespace splitnic::control {
namespace {

namespace asio = boost::asio;
using Stream = asio::local::stream_protocol;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptRetry{100};

class ServedClient;

// One reply to one request, from any thread. If it is destroyed without one, the client gets
// kFailed.
class PendingReply {
 public:
  PendingReply(std::shared_ptr<Mailbox> mailbox, std::weak_ptr<ServedClient> client)
      : mailbox_(std::move(mailbox)), client_(std::move(client)) {}
  ~PendingReply() { send(Reply{ReplyStatus::kFailed, "the program dropped the request"}); }
  PendingReply(const PendingReply&) = delete;
  PendingReply& operator=(const PendingReply&) = delete;
  void send(Reply reply);

 private:
  std::shared_ptr<Mailbox> mailbox_;
  std::weak_ptr<ServedClient> client_;  // locked on the control thread only
  std::atomic<bool> is_sent_{false};
};

// The server, as its clients see it.
class ClientOwner {
 public:
  virtual ~ClientOwner() = default;
  virtual void on_request(const std::shared_ptr<ServedClient>& client, Request request) = 0;
  virtual void on_closed(const std::shared_ptr<ServedClient>& client) = 0;
};

// The kernel has the user who connected, whatever the process has become since.
bool is_trusted(Stream::socket& socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return false;
  }
  return peer.uid == 0 || peer.uid == ::geteuid();
}

// Clients that are not trusted may use these; all others change something for the users.
bool is_only_look(const Request& request) {
  switch (request.command) {
    case Command::kShow:
    case Command::kStats:
    case Command::kPing:
    case Command::kPeers:
      return true;
    case Command::kNic: {
      const auto nic = parse_nic_request(request.what, request.value);
      return !nic || only_looks(nic->kind);  // one that is not valid is refused by the program
    }
    case Command::kSet:
    case Command::kReload:
    case Command::kEvict:
      return false;
  }
  return false;
}

// A connection of a client: length, request, reply, and the next request.
class ServedClient : public std::enable_shared_from_this<ServedClient> {
 public:
  ServedClient(Stream::socket socket, std::weak_ptr<ClientOwner> owner)
      : socket_(std::move(socket)), is_trusted_(is_trusted(socket_)), owner_(std::move(owner)) {}

  void read_length() {
    in_.resize(kLengthBytes);
    asio::async_read(socket_, asio::buffer(in_),
                     [self = shared_from_this()](ErrorCode error, std::size_t) {
                       if (error) return self->close();
                       self->on_length(decode_length(self->in_));
                     });
  }

  void send(const Reply& reply, bool close_after) {
    out_ = encode(reply);
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this(), close_after](ErrorCode error, std::size_t) {
                        if (error || close_after) return self->close();
                        self->read_length();
                      });
  }

  void close() {
    ErrorCode ignored;
    socket_.close(ignored);
    if (const auto owner = owner_.lock()) owner->on_closed(shared_from_this());
  }

 private:
  void on_length(std::size_t bytes) {
    if (bytes > kRequestBytesMax) {
      return send({ReplyStatus::kBadRequest, "the request is too long"}, true);
    }
    in_.resize(bytes);
    asio::async_read(socket_, asio::buffer(in_),
                     [self = shared_from_this()](ErrorCode error, std::size_t) {
                       if (error) return self->close();
                       self->on_body();
                     });
  }
  void on_body() {
    auto request = decode_request(in_);
    if (!request) return send({ReplyStatus::kBadRequest, "the request is malformed"}, true);
    if (!is_trusted_ && !is_only_look(*request)) {
      return send({ReplyStatus::kRefused,
                   "not permitted: only root and the user of the program may change anything"},
                  false);
    }
    if (const auto owner = owner_.lock()) {
      owner->on_request(shared_from_this(), *std::move(request));
    }
  }

  Stream::socket socket_;
  const bool is_trusted_;
  std::weak_ptr<ClientOwner> owner_;
  std::string in_;
  std::string out_;
};

void PendingReply::send(Reply reply) {
  if (is_sent_.exchange(true)) return;
  mailbox_->post([client = client_, reply = std::move(reply)] {
    if (const auto to = client.lock()) to->send(reply, false);
  });
}

}  // namespace

class Server::Impl : public ClientOwner, public std::enable_shared_from_this<Server::Impl> {
 public:
  Impl(asio::io_context& io, std::string path, RequestHandler handler)
      : path_(std::move(path)),
        handler_(std::move(handler)),
        mailbox_(std::make_shared<Mailbox>(io)),
        acceptor_(io),
        accept_timer_(io) {}

  base::Status open() {
    if (auto listening = file_.listen(path_, acceptor_); !listening) return listening;
    accept();
    return {};
  }

  void stop() {
    mailbox_->close();
    file_.remove();
    ErrorCode ignored;
    acceptor_.close(ignored);
    accept_timer_.cancel();
    const auto clients = std::exchange(clients_, {});
    for (const auto& client : clients) client->close();
  }

  void on_request(const std::shared_ptr<ServedClient>& client, Request request) override {
    auto pending = std::make_shared<PendingReply>(mailbox_, client);
    handler_(std::move(request), [pending](Reply reply) { pending->send(std::move(reply)); });
  }
  void on_closed(const std::shared_ptr<ServedClient>& client) override { clients_.erase(client); }
  const std::string& path() const { return path_; }

 private:
  void accept() {
    acceptor_.async_accept([self = shared_from_this()](ErrorCode error, Stream::socket socket) {
      if (error == asio::error::operation_aborted || !self->acceptor_.is_open()) return;
      if (error) return self->accept_later(error);
      if (self->clients_.size() < kClientsMax) {
        auto client = std::make_shared<ServedClient>(std::move(socket), self);
        self->clients_.insert(client);
        client->read_length();
      }
      self->accept();
    });
  }
  // Out of descriptors, for example: the client waits in the backlog.
  void accept_later(ErrorCode error) {
    base::log_warn("control socket: accepting a client: " + error.message());
    accept_timer_.expires_after(kAcceptRetry);
    accept_timer_.async_wait([self = shared_from_this()](ErrorCode cancelled) {
      if (!cancelled && self->acceptor_.is_open()) self->accept();
    });
  }

  std::string path_;
  RequestHandler handler_;
  std::shared_ptr<Mailbox> mailbox_;
  Stream::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  SocketFile file_;
  std::set<std::shared_ptr<ServedClient>> clients_;
};

base::Result<std::unique_ptr<Server>> Server::open(asio::io_context& io, const std::string& path,
                                                   RequestHandler handler) {
  auto impl = std::make_shared<Impl>(io, path, std::move(handler));
  if (auto opened = impl->open(); !opened) return opened.error();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { stop(); }
void Server::stop() { impl_->stop(); }
const std::string& Server::path() const { return impl_->path(); }

}  // namespace splitnic::control
