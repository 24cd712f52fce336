// The data of CfgUtil requests and their replies, as the NIC service reads and writes it.
// docs/protocol/cfgutil.md Pure.
#pragma once

#include "messaging/channel_pair.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace splitnic::iou {

// An unknown field belongs to a later version and is ignored. A known field with another type is an
// error: Protobuf would treat it as absent.
bool has_bad_type(const google::protobuf::Message& message);
// Returns false if the data is not such a message.
bool parse(const messaging::CfgRequest& request, google::protobuf::Message& out);
messaging::CfgReply ok(const google::protobuf::Message& message);
inline messaging::CfgReply refuse(messaging::CfgStatus status) { return {status, {}}; }

}  // namespace splitnic::iou
