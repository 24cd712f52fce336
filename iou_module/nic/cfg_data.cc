#include "iou_module/nic/cfg_data.h"

#include "base/parse_message.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::iou {

bool has_bad_type(const google::protobuf::Message& message) {
  const auto& others = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < others.field_count(); ++i) {
    if (message.GetDescriptor()->FindFieldByNumber(others.field(i).number()) != nullptr)
      return true;
  }
  return false;
}

bool parse(const messaging::CfgRequest& request, google::protobuf::Message& out) {
  return request.data.size() <= messaging::kMsgMaxMost && base::parse_message(request.data, out) &&
         !has_bad_type(out);
}

messaging::CfgReply ok(const google::protobuf::Message& message) {
  return {messaging::CfgStatus::kOk, message.SerializeAsString()};
}

}  // namespace splitnic::iou
