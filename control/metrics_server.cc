#include "control/metrics_server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "control/mailbox.h"
#include "control/metrics_text.h"
#include "control/unix_socket.h"

namespace splitnic::control {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using ErrorCode = boost::system::error_code;
using Clock = std::chrono::steady_clock;
using AnyStream = asio::generic::stream_protocol;
using Text = std::shared_ptr<const std::string>;

}  // namespace

class MetricsClient;

// The server, as its clients see it.
class MetricsOwner {
 public:
  virtual ~MetricsOwner() = default;
  virtual void want_text(const std::shared_ptr<MetricsClient>& client) = 0;
  virtual void on_closed(const std::shared_ptr<MetricsClient>& client) = 0;
};

// One request and its response; then the connection is closed.
class MetricsClient : public std::enable_shared_from_this<MetricsClient> {
 public:
  MetricsClient(AnyStream::socket socket, std::weak_ptr<MetricsOwner> owner)
      : stream_(std::move(socket)), owner_(std::move(owner)) {
    parser_.header_limit(kMetricsRequestBytesMax);
    parser_.body_limit(0);
  }

  void read() {
    stream_.expires_after(kMetricsClientTime);
    http::async_read_header(
        stream_, buffer_, parser_,
        [self = shared_from_this()](ErrorCode error, std::size_t) { self->on_header(error); });
  }
  void send(const Text& text) {
    if (text == nullptr)
      return respond(http::status::service_unavailable, "busy or stopping: try again\n");
    respond(http::status::ok, *text);
  }
  // Nothing has been requested yet.
  bool is_idle() const { return !has_request_; }
  void close() {
    stream_.close();
    if (const auto owner = owner_.lock()) owner->on_closed(shared_from_this());
  }

 private:
  void on_header(ErrorCode error) {
    const bool is_http = error.category() == make_error_code(http::error::bad_target).category();
    if (error == http::error::end_of_stream || (error && !is_http)) return close();
    has_request_ = true;
    if (error) {
      return respond(http::status::bad_request, "this is no HTTP request\n");
    }
    const auto& request = parser_.get();
    is_head_ = request.method() == http::verb::head;
    if (request.method() != http::verb::get && !is_head_) {
      return respond(http::status::method_not_allowed, "only GET and HEAD\n");
    }
    if (request.target() != "/metrics") {
      return respond(http::status::not_found, "the counters are at /metrics\n");
    }
    if (const auto owner = owner_.lock()) owner->want_text(shared_from_this());
  }
  void respond(http::status status, const std::string& text) {
    response_.emplace(status, 11);
    response_->set(http::field::content_type,
                   status == http::status::ok ? kMetricsType : "text/plain");
    response_->set(http::field::cache_control, "no-store");
    if (status == http::status::method_not_allowed) response_->set(http::field::allow, "GET, HEAD");
    response_->keep_alive(false);
    response_->body() = is_head_ ? std::string() : text;
    response_->prepare_payload();
    stream_.expires_after(kMetricsClientTime);
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](ErrorCode, std::size_t) { self->close(); });
  }

  beast::basic_stream<AnyStream> stream_;
  std::weak_ptr<MetricsOwner> owner_;
  beast::flat_buffer buffer_{kMetricsRequestBytesMax};
  http::request_parser<http::empty_body> parser_;
  std::optional<http::response<http::string_body>> response_;
  bool has_request_ = false;
  bool is_head_ = false;
};

class MetricsServer::Impl : public MetricsOwner, public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& io, SnapshotSource source)
      : io_(io), source_(std::move(source)), mailbox_(std::make_shared<Mailbox>(io)), retry_(io) {}

  base::Status open(const MetricsAddress& address) {
    if (!address.path.empty()) {
      auto& acceptor = local_.emplace(io_);
      if (auto listening = file_.listen(address.path, acceptor); !listening) return listening;
      accept(acceptor);
      return {};
    }
    const asio::ip::tcp::endpoint endpoint(address.ip, address.port);
    auto& acceptor = tcp_.emplace(io_);
    ErrorCode error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) return base::Error::from_errno("listening for metrics", error.value());
    accept(acceptor);
    return {};
  }

  void stop() {
    mailbox_->close();
    file_.remove();
    ErrorCode ignored;
    if (local_) local_->close(ignored);
    if (tcp_) tcp_->close(ignored);
    retry_.cancel();
    waiting_.clear();
    const auto clients = std::exchange(clients_, {});
    for (const auto& client : clients) client->close();
  }

  void want_text(const std::shared_ptr<MetricsClient>& client) override {
    const auto now = Clock::now();
    if (text_ != nullptr && now - made_at_ < kMetricsAge) return client->send(text_);
    waiting_.push_back(client);
    // A snapshot that never came, because a data thread ended, does not hold up the next one.
    if (is_asked_ && now - asked_at_ < kMetricsClientTime) return;
    is_asked_ = true;
    asked_at_ = now;
    const bool is_posted =
        source_([mailbox = mailbox_, self = weak_from_this()](Snapshot snapshot) {
          mailbox->post([self, snapshot = std::move(snapshot)] {
            if (const auto server = self.lock()) server->on_snapshot(snapshot);
          });
        });
    if (!is_posted) respond_to_all(nullptr);
  }
  void on_closed(const std::shared_ptr<MetricsClient>& client) override {
    std::erase(clients_, client);
  }

 private:
  void on_snapshot(Snapshot snapshot) {
    snapshot.counters.emplace_back("metrics.drop.busy", dropped_);
    text_ = std::make_shared<const std::string>(metrics_text(snapshot));
    made_at_ = Clock::now();
    respond_to_all(text_);
  }
  void respond_to_all(const Text& text) {
    is_asked_ = false;
    for (const auto& waiting : std::exchange(waiting_, {})) {
      if (const auto client = waiting.lock()) client->send(text);
    }
  }

  template <class Acceptor>
  void accept(Acceptor& acceptor) {
    acceptor.async_accept([self = shared_from_this(), &acceptor](
                              ErrorCode error, typename Acceptor::protocol_type::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor.is_open()) return;
      if (error) return self->accept_later(acceptor, error);
      if (self->has_room()) {
        const auto client =
            std::make_shared<MetricsClient>(AnyStream::socket(std::move(socket)), self);
        self->clients_.push_back(client);
        client->read();
      }
      self->accept(acceptor);
    });
  }
  // Clients that request nothing do not shut out others: the oldest of them makes room.
  bool has_room() {
    if (clients_.size() < kMetricsClientsMax) return true;
    ++dropped_;
    const auto idle = std::ranges::find_if(clients_, [](const auto& c) { return c->is_idle(); });
    if (idle == clients_.end()) return false;
    const std::shared_ptr<MetricsClient> oldest = *idle;
    oldest->close();
    return true;
  }
  // Out of descriptors, for example: the client waits in the backlog.
  template <class Acceptor>
  void accept_later(Acceptor& acceptor, ErrorCode error) {
    base::log_warn("metrics: accepting a client: " + error.message());
    retry_.expires_after(std::chrono::milliseconds(100));
    retry_.async_wait([self = shared_from_this(), &acceptor](ErrorCode cancelled) {
      if (!cancelled && acceptor.is_open()) self->accept(acceptor);
    });
  }

  asio::io_context& io_;
  const SnapshotSource source_;
  std::shared_ptr<Mailbox> mailbox_;
  std::optional<asio::local::stream_protocol::acceptor> local_;
  std::optional<asio::ip::tcp::acceptor> tcp_;
  asio::steady_timer retry_;
  SocketFile file_;
  std::vector<std::shared_ptr<MetricsClient>> clients_;  // the oldest first
  std::uint64_t dropped_ = 0;                            // clients, for want of room
  std::vector<std::weak_ptr<MetricsClient>> waiting_;    // for the snapshot that was asked for
  bool is_asked_ = false;
  Clock::time_point asked_at_;
  Text text_;
  Clock::time_point made_at_;
};

base::Result<std::unique_ptr<MetricsServer>> MetricsServer::open(asio::io_context& io,
                                                                 const MetricsAddress& address,
                                                                 SnapshotSource source) {
  auto impl = std::make_shared<Impl>(io, std::move(source));
  if (auto opened = impl->open(address); !opened) return opened.error();
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
}

MetricsServer::MetricsServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() { stop(); }
void MetricsServer::stop() { impl_->stop(); }

}  // namespace splitnic::control
