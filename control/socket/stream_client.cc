#include "control/socket/stream_client.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "control/socket/client.h"
#include "control/socket/unix_socket.h"

namespace splitnic::control {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

}  // namespace

class StreamClient::Impl : public std::enable_shared_from_this<StreamClient::Impl> {
 public:
  Impl(asio::io_context& io, std::string path, Handlers handlers)
      : path_(std::move(path)), socket_(io), handlers_(std::move(handlers)) {}

  base::Status open(const Request& request) {
    const auto endpoint = unix_endpoint(path_);
    if (!endpoint) return endpoint.error();
    if (const ErrorCode error = connect_to_listener(socket_, *endpoint); error) {
      return unreachable(path_, error);
    }
    bytes_ = encode(request);
    asio::async_write(socket_, asio::buffer(bytes_),
                      [self = shared_from_this()](ErrorCode error, std::size_t) {
                        if (error) return self->on_error(error);
                        self->read_length();
                      });
    return {};
  }
  void close() {
    is_closed_ = true;
    ErrorCode ignored;
    socket_.close(ignored);
  }

 private:
  void read_length() {
    if (is_closed_) return;
    bytes_.resize(kLengthBytes);
    asio::async_read(socket_, asio::buffer(bytes_),
                     [self = shared_from_this()](ErrorCode error, std::size_t) {
                       if (error) return self->on_error(error);
                       self->read_message(decode_length(self->bytes_));
                     });
  }
  void read_message(std::size_t length) {
    if (length > kReplyBytesMax) return end(base::Error("a message on " + path_ + " is too long"));
    bytes_.resize(length);
    asio::async_read(socket_, asio::buffer(bytes_),
                     [self = shared_from_this()](ErrorCode error, std::size_t) {
                       if (error) return self->on_error(error);
                       self->on_message();
                       self->read_length();
                     });
  }
  void on_message() {
    if (is_closed_) return;
    bool is_good = true;
    if (!is_begun_) {
      const auto reply = decode_reply(bytes_);
      if (reply && reply->status != ReplyStatus::kOk) return end(base::Error(reply->text));
      is_begun_ = is_good = reply.has_value();
      if (is_good && handlers_.on_begin) handlers_.on_begin(reply->text);
    } else {
      is_good = handlers_.on_message(bytes_);
    }
    if (!is_good) end(base::Error("a message on " + path_ + " is malformed: another version?"));
  }
  void on_error(const ErrorCode& error) {
    end(error == asio::error::eof
            ? base::Error("the program at " + path_ + " ended")
            : base::Error::from_errno("reading from " + path_, error.value()));
  }
  void end(base::Error why) {
    if (std::exchange(is_closed_, true)) return;
    close();
    handlers_.on_end(std::move(why));
  }

  const std::string path_;
  asio::local::stream_protocol::socket socket_;
  const Handlers handlers_;
  std::string bytes_;
  bool is_begun_ = false;
  bool is_closed_ = false;
};

StreamClient::StreamClient(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
StreamClient::~StreamClient() { impl_->close(); }

base::Result<std::unique_ptr<StreamClient>> StreamClient::open(asio::io_context& io,
                                                               const std::string& path,
                                                               const Request& request,
                                                               Handlers handlers) {
  auto impl = std::make_shared<Impl>(io, path, std::move(handlers));
  if (auto opened = impl->open(request); !opened) return opened.error();
  return std::unique_ptr<StreamClient>(new StreamClient(std::move(impl)));
}

}  // namespace splitnic::control
