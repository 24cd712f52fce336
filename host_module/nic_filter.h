// The step SET_FILTER of nic_sync.h: the lists of the user and of the kernel, and promiscuous mode.
// A kernel that lists unicast addresses for an interface makes it promiscuous, since a TAP has no
// filter. The remote NIC has one, so it gets the list instead, as far as the I/O unit permits it;
// what it does not permit is requested again from time to time.
// docs/nic_service.md#lists-of-the-kernel
#pragma once

#include "host_module/nic_sync.h"

namespace splitnic::host {

bool is_filter_due(const NicSync& sync, base::Time now);
// REQUIRES a reply.
SyncEffect on_filter(NicSync& sync, const messaging::CfgReply& reply);

// Returns why promiscuous mode is refused, and what to do.
std::string promiscuous_refusal();

}  // namespace splitnic::host
