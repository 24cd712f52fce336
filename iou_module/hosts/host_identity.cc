#include "iou_module/hosts/host_identity.h"

#include "iou_module/hosts/host_label.h"

namespace splitnic::iou {

void HostIdentity::set_states_name_of_another(bool is_of_another) {
  name_with_node_ = is_of_another ? name_with_node(stated_name_, node()) : "";
}

}  // namespace splitnic::iou
