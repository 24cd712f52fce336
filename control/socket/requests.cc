#include "control/socket/requests.h"

#include "base/bytes.h"
#include "base/endian.h"
#include "base/parse_message.h"
#include "control/socket/admin.pb.h"
#include "lan_bridge/frame/frame_copies.h"

namespace splitnic::control {
namespace {

admin::Status to_wire(ReplyStatus status) {
  switch (status) {
    case ReplyStatus::kOk:
      return admin::STATUS_OK;
    case ReplyStatus::kBadRequest:
      return admin::STATUS_BAD_REQUEST;
    case ReplyStatus::kRefused:
      return admin::STATUS_REFUSED;
    case ReplyStatus::kFailed:
      return admin::STATUS_FAILED;
  }
  return admin::STATUS_FAILED;
}

std::optional<ReplyStatus> from_wire(admin::Status status) {
  switch (status) {
    case admin::STATUS_OK:
      return ReplyStatus::kOk;
    case admin::STATUS_BAD_REQUEST:
      return ReplyStatus::kBadRequest;
    case admin::STATUS_REFUSED:
      return ReplyStatus::kRefused;
    case admin::STATUS_FAILED:
      return ReplyStatus::kFailed;
    default:
      return std::nullopt;  // proto3 enums are open: any number may arrive
  }
}

}  // namespace

std::string with_length(const std::string& message) {
  std::string out(kLengthBytes, '\0');
  base::store_be(reinterpret_cast<std::byte*>(out.data()),
                 static_cast<std::uint32_t>(message.size()));
  return out + message;
}

std::string encode(const Request& request) {
  admin::Request out;
  switch (request.command) {
    case Command::kShow:
      out.mutable_show()->set_json(request.json);
      out.mutable_show()->set_verbose(request.verbose);
      break;
    case Command::kStats:
      out.mutable_stats()->set_json(request.json);
      break;
    case Command::kSet:
      out.mutable_set()->set_what(request.what);
      out.mutable_set()->set_value(request.value);
      break;
    case Command::kPing:
      out.mutable_ping()->set_count(request.count);
      break;
    case Command::kReload:
      out.mutable_reload();
      break;
    case Command::kPeers:
      out.mutable_peers()->set_json(request.json);
      break;
    case Command::kEvict:
      out.mutable_evict()->set_name(request.value);
      break;
    case Command::kNic:
      out.mutable_nic()->set_what(request.what);
      out.mutable_nic()->set_value(request.value);
      out.mutable_nic()->set_interface(request.interface);
      out.mutable_nic()->set_json(request.json);
      break;
    case Command::kMonitor:
      out.mutable_monitor()->set_past(request.count);
      break;
    case Command::kTopology:
      out.mutable_topology()->set_form(request.what);
      break;
    case Command::kCapture:
      out.mutable_capture()->set_interface(request.interface);
      out.mutable_capture()->set_snap(request.count);
      break;
    case Command::kEndCapture:
      out.mutable_end_capture();
      break;
  }
  return with_length(out.SerializeAsString());
}

std::string encode(const Reply& reply) {
  if (reply.text.size() + 64 > kReplyBytesMax) {
    return encode(Reply{ReplyStatus::kFailed, "the reply is too long for the control socket"});
  }
  admin::Reply out;
  out.set_status(to_wire(reply.status));
  out.set_text(reply.text);
  return with_length(out.SerializeAsString());
}

std::optional<Request> decode_request(std::string_view bytes) {
  admin::Request in;
  if (bytes.size() > kRequestBytesMax || !base::parse_message(base::as_bytes(bytes), in)) {
    return std::nullopt;
  }
  Request request;
  switch (in.command_case()) {
    case admin::Request::kShow:
      request.command = Command::kShow;
      request.json = in.show().json();
      request.verbose = in.show().verbose();
      return request;
    case admin::Request::kStats:
      request.command = Command::kStats;
      request.json = in.stats().json();
      return request;
    case admin::Request::kSet:
      request.command = Command::kSet;
      request.what = in.set().what();
      request.value = in.set().value();
      if (request.what.empty()) return std::nullopt;
      return request;
    case admin::Request::kPing:
      request.command = Command::kPing;
      request.count = in.ping().count();
      if (request.count == 0 || request.count > kPingCountMax) return std::nullopt;
      return request;
    case admin::Request::kReload:
      request.command = Command::kReload;
      return request;
    case admin::Request::kPeers:
      request.command = Command::kPeers;
      request.json = in.peers().json();
      return request;
    case admin::Request::kEvict:
      request.command = Command::kEvict;
      request.value = in.evict().name();
      if (request.value.empty()) return std::nullopt;
      return request;
    case admin::Request::kNic:
      request.command = Command::kNic;
      request.what = in.nic().what();
      request.value = in.nic().value();
      request.interface = in.nic().interface();
      request.json = in.nic().json();
      return request;
    case admin::Request::kMonitor:
      request.command = Command::kMonitor;
      request.count = in.monitor().past();
      if (request.count > kPastEventsMax) return std::nullopt;
      return request;
    case admin::Request::kTopology:
      request.command = Command::kTopology;
      request.what = in.topology().form();
      return request;
    case admin::Request::kCapture:
      request.command = Command::kCapture;
      request.interface = in.capture().interface();
      request.count = in.capture().snap();
      if (request.count == 0 || request.count > lan::FrameCopies::kSnapMax) return std::nullopt;
      return request;
    case admin::Request::kEndCapture:
      request.command = Command::kEndCapture;
      return request;
    case admin::Request::COMMAND_NOT_SET:
      break;
  }
  return std::nullopt;
}

std::optional<Reply> decode_reply(std::string_view bytes) {
  admin::Reply in;
  if (bytes.size() > kReplyBytesMax || !base::parse_message(base::as_bytes(bytes), in)) {
    return std::nullopt;
  }
  const auto status = from_wire(in.status());
  if (!status) return std::nullopt;
  return Reply{*status, in.text()};
}

std::uint32_t decode_length(std::string_view bytes) {
  return base::load_be<std::uint32_t>(base::as_bytes(bytes).data());
}

}  // namespace splitnic::control
