#include "control/socket/served_client.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "control/config/nic_request.h"
#include "control/socket/frame_stream.h"

namespace splitnic::control {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

// Clients that are not trusted may use these; all others change something for the users, or show
// their traffic.
bool is_only_look(const Request& request) {
  switch (request.command) {
    case Command::kShow:
    case Command::kStats:
    case Command::kPing:
    case Command::kPeers:
    case Command::kMonitor:
    case Command::kTopology:
      return true;
    case Command::kNic: {
      const auto nic = parse_nic_request(request.what, request.value);
      return !nic || only_looks(nic->kind);  // one that is not valid is refused by the program
    }
    case Command::kCapture:  // the traffic of the users
    case Command::kEndCapture:
    case Command::kSet:
    case Command::kReload:
    case Command::kEvict:
      return false;
  }
  return false;
}

}  // namespace

ServedClient::ServedClient(Socket socket, bool is_trusted, std::weak_ptr<ClientOwner> owner)
    : socket_(std::move(socket)), is_trusted_(is_trusted), owner_(std::move(owner)) {}

void ServedClient::read_length() {
  in_.resize(kLengthBytes);
  asio::async_read(socket_, asio::buffer(in_),
                   [self = shared_from_this()](ErrorCode error, std::size_t) {
                     if (error) return self->close();
                     self->on_length(decode_length(self->in_));
                   });
}

void ServedClient::on_length(std::size_t bytes) {
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

void ServedClient::on_body() {
  auto request = decode_request(in_);
  if (!request) return send({ReplyStatus::kBadRequest, "the request is malformed"}, true);
  if (!is_trusted_ && !is_only_look(*request)) {
    return send({ReplyStatus::kRefused,
                 request->command == Command::kCapture
                     ? "not permitted: only root and the user of the program may capture frames"
                     : "not permitted: only root and the user of the program may change anything"},
                false);
  }
  if (const auto owner = owner_.lock()) {
    owner->on_request(shared_from_this(), *std::move(request));
  }
}

void ServedClient::send(const Reply& reply, bool close_after) {
  out_ = encode(reply);
  asio::async_write(socket_, asio::buffer(out_),
                    [self = shared_from_this(), close_after](ErrorCode error, std::size_t) {
                      if (error || close_after) return self->close();
                      self->read_length();
                    });
}

void ServedClient::watch(base::EventLog& log, std::shared_ptr<Mailbox> mailbox,
                         std::uint64_t past) {
  feed_ = std::make_shared<EventFeed>(log, std::move(mailbox), past, [this](std::string message) {
    send_to_watcher(std::move(message));
  });
  send_to_watcher(encode(Reply{ReplyStatus::kOk, ""}));
  close_at_next_byte();
}

// It sends nothing more: whatever comes is its end.
void ServedClient::close_at_next_byte() {
  in_.resize(1);
  asio::async_read(socket_, asio::buffer(in_),
                   [self = shared_from_this()](ErrorCode, std::size_t) { self->close(); });
}

void ServedClient::capture(std::shared_ptr<lan::FrameCapture> frames) {
  const std::string interfaces = interface_list(frames->interfaces());
  frames_ = std::make_shared<FrameFeed>(
      socket_.get_executor(), std::move(frames),
      [this](std::string message, bool is_last) { send_frames(std::move(message), is_last); });
  send_frames(encode(Reply{ReplyStatus::kOk, interfaces}), false);
  close_at_next_byte();
}

void ServedClient::send_frames(std::string message, bool is_last) {
  out_ = std::move(message);
  asio::async_write(socket_, asio::buffer(out_),
                    [self = shared_from_this(), is_last](ErrorCode error, std::size_t) {
                      if (error || is_last) return self->close();
                      if (self->frames_) self->frames_->next();
                    });
}

void ServedClient::send_to_watcher(std::string message) {
  out_ = std::move(message);
  asio::async_write(socket_, asio::buffer(out_),
                    [self = shared_from_this()](ErrorCode error, std::size_t) {
                      if (error) return self->close();
                      if (self->feed_) self->feed_->next();
                    });
}

void ServedClient::close() {
  feed_.reset();
  frames_.reset();
  ErrorCode ignored;
  socket_.close(ignored);
  if (const auto owner = owner_.lock()) owner->on_closed(shared_from_this());
}

}  // namespace splitnic::control
