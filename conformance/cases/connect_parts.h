// The parts of the cases of connections: a CONNECT_REQ of which something is changed, and its
// reply.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "conformance/cases/parts.h"

namespace splitnic::messaging::connect {
class Capabilities;
}

namespace splitnic::conformance {

// The next connection message, which has to be this one.
std::optional<fabric::Mgmt> await_mgmt(Host& h, fabric::MgmtKind kind, std::uint64_t transaction);
// The reply to a CONNECT_REQ. The request may get another transaction.
std::optional<fabric::Mgmt> ask(Host& h, fabric::Mgmt& request, fabric::MgmtKind kind);

// A CONNECT_REQ of which the case has changed something.
using ChangeRequest =
    std::function<void(Host&, fabric::Mgmt&, messaging::connect::Capabilities& mine)>;
fabric::Mgmt changed_request(Host& h, const ChangeRequest& change);
// One that is accepted: the host has the connection.
bool connect_changed(Host& h, const ChangeRequest& change);
// One that is refused with this code.
Case& add_refused_request(Group& group, const std::string& name, const std::string& clause,
                          const std::string& what, fabric::MgmtReject code, ChangeRequest change);
// One that is accepted, and the connection serves.
Case& add_accepted_request(Group& group, const std::string& name, const std::string& clause,
                           const std::string& description, ChangeRequest change);

}  // namespace splitnic::conformance
