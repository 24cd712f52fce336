// The rights of hosts, as the I/O unit looks them up: by the link, which has the key, the user or
// the address of the peer. Without a hosts file all have the same. Thread: the data thread.
#pragma once

#include <string>
#include <utility>

#include "fabric_emul/verbs/adapter.h"
#include "iou_module/hosts/host_id.h"
#include "iou_module/hosts/host_rights.h"

namespace splitnic::iou {

class RightsSource {
 public:
  virtual ~RightsSource() = default;
  // Returns the identity of the host, as far as the unit can know.
  virtual HostId id_of(const fabric::Link& link) const { return host_id_of(link); }
  // Called when a host attaches, and by Iou::update_rights().
  virtual HostRights rights_of(const fabric::Link& link) const = 0;
  // Returns true if the rights of a host other than the one at this link list the address, whether
  // that host is attached or not.
  virtual bool is_of_another(const lan::MacAddress& mac, const fabric::Link& link) const = 0;
  // Returns true if the rights of a host have the name, whether that host is attached or not.
  virtual bool names(const std::string&) const { return false; }
};

class SameRights final : public RightsSource {
 public:
  explicit SameRights(HostRights rights = {}) : rights_(std::move(rights)) {}

  HostRights rights_of(const fabric::Link&) const override { return rights_; }
  bool is_of_another(const lan::MacAddress&, const fabric::Link&) const override { return false; }

 private:
  HostRights rights_;
};

}  // namespace splitnic::iou
