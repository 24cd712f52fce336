#include "control/metrics/metrics_client.h"

#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <utility>

#include "control/metrics/metrics_server.h"

namespace splitnic::control {

namespace beast = boost::beast;
namespace http = beast::http;

class HttpClient : public MetricsClient, public std::enable_shared_from_this<HttpClient> {
 public:
  HttpClient(Socket socket, std::weak_ptr<Owner> owner, bool is_loopback)
      : stream_(std::move(socket)), owner_(std::move(owner)), is_loopback_(is_loopback) {
    parser_.header_limit(kMetricsRequestBytesMax);
    parser_.body_limit(0);
  }

  void read() {
    stream_.expires_after(kMetricsClientTime);
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](boost::system::error_code error,
                                                        std::size_t) { self->on_header(error); });
  }
  void send(const Text& text) override {
    if (text == nullptr)
      return respond(http::status::service_unavailable, "busy or stopping: try again\n");
    respond(http::status::ok, *text);
  }
  bool is_idle() const override { return !has_request_; }
  void close() override {
    stream_.close();
    if (const auto owner = owner_.lock()) owner->on_closed(shared_from_this());
  }

 private:
  void on_header(boost::system::error_code error) {
    const bool is_http = error.category() == make_error_code(http::error::bad_target).category();
    if (error == http::error::end_of_stream || (error && !is_http)) return close();
    has_request_ = true;
    if (error) return respond(http::status::bad_request, "this is no HTTP request\n");
    const auto& request = parser_.get();
    is_head_ = request.method() == http::verb::head;
    if (is_of_stranger()) {
      return respond(http::status::misdirected_request,
                     "this address is for this machine: use localhost or the address\n");
    }
    if (request.method() != http::verb::get && !is_head_) {
      return respond(http::status::method_not_allowed, "only GET and HEAD\n");
    }
    resource_ = resource_at({request.target().data(), request.target().size()});
    if (!resource_) {
      return respond(http::status::not_found, "the counters are at /metrics, the page is at /\n");
    }
    if (resource_->kind == MetricsResource::Kind::kFile) {
      return respond(http::status::ok, std::string(resource_->file));
    }
    if (const auto owner = owner_.lock()) owner->want(resource_->kind, shared_from_this());
  }
  // Programs that are no browsers may leave Host out.
  bool is_of_stranger() const {
    if (!is_loopback_) return false;
    const auto [first, last] = parser_.get().equal_range(http::field::host);
    for (auto field = first; field != last; ++field) {
      if (!is_local_host({field->value().data(), field->value().size()})) return true;
    }
    return false;
  }
  void respond(http::status status, const std::string& text) {
    const bool is_ok = status == http::status::ok;
    response_.emplace(status, 11);
    response_->set(http::field::content_type, is_ok ? resource_->type : "text/plain");
    response_->set(http::field::cache_control, "no-store");
    for (const auto& [name, value] : kSecurityHeaders) response_->set(name, value);
    if (status == http::status::method_not_allowed) response_->set(http::field::allow, "GET, HEAD");
    response_->keep_alive(false);
    response_->body() = is_head_ ? std::string() : text;
    response_->prepare_payload();
    stream_.expires_after(kMetricsClientTime);
    http::async_write(
        stream_, *response_,
        [self = shared_from_this()](boost::system::error_code, std::size_t) { self->close(); });
  }

  beast::basic_stream<boost::asio::generic::stream_protocol> stream_;
  std::weak_ptr<Owner> owner_;
  const bool is_loopback_;
  beast::flat_buffer buffer_{kMetricsRequestBytesMax};
  http::request_parser<http::empty_body> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::optional<MetricsResource> resource_;
  bool has_request_ = false;
  bool is_head_ = false;
};

MetricsClient::Pointer MetricsClient::start(Socket socket, std::weak_ptr<Owner> owner,
                                            bool is_loopback) {
  const auto client =
      std::make_shared<HttpClient>(std::move(socket), std::move(owner), is_loopback);
  client->read();
  return client;
}

}  // namespace splitnic::control
