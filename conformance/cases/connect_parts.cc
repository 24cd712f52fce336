#include "conformance/cases/connect_parts.h"

#include <utility>

#include "conformance/expectations.h"
#include "messaging/connect.pb.h"

namespace splitnic::conformance {

using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::MgmtReject;
using messaging::connect::Capabilities;

std::optional<Mgmt> await_mgmt(Host& h, MgmtKind kind, std::uint64_t transaction) {
  const std::string expected(name(kind));
  const auto event = h.await(EventKind::kMgmt, expected);
  if (!event) return std::nullopt;
  const bool is_it = event->mgmt.kind == kind && event->mgmt.transaction == transaction;
  if (!h.expect(is_it, expected + " of our transaction")) return std::nullopt;
  return event->mgmt;
}

std::optional<Mgmt> ask(Host& h, Mgmt& request, MgmtKind kind) {
  const auto event = h.ask(request);
  if (!event) return std::nullopt;
  const bool is_it = event->mgmt.kind == kind && event->mgmt.transaction == request.transaction;
  const std::string expected = std::string(name(kind)) + " of our transaction";
  if (!h.expect(is_it, expected)) return std::nullopt;
  return event->mgmt;
}

Mgmt changed_request(Host& h, const ChangeRequest& change) {
  Mgmt request = h.request(capabilities_of(h.terms));
  Capabilities mine;
  mine.ParseFromString(capabilities_of(h.terms));
  change(h, request, mine);
  h.put_capabilities(request, mine.SerializeAsString());
  return request;
}

Case& add_refused_request(Group& group, const std::string& name, const std::string& clause,
                          const std::string& what, MgmtReject code, ChangeRequest change) {
  return group.add(name, clause, "A CONNECT_REQ with " + what + " is refused.",
                   [code, change = std::move(change)](Host& h) {
                     if (!h.link()) return;
                     Mgmt request = changed_request(h, change);
                     const auto reply = ask(h, request, MgmtKind::kConnectRej);
                     if (!reply) return;
                     h.expect(reply->reject == code, "the code " + std::string(fabric::name(code)));
                   });
}

bool connect_changed(Host& h, const ChangeRequest& change) {
  if (!h.link()) return false;
  Mgmt request = changed_request(h, change);
  const auto reply = ask(h, request, MgmtKind::kConnectRep);
  return reply && h.adopt(*reply);
}

Case& add_accepted_request(Group& group, const std::string& name, const std::string& clause,
                           const std::string& description, ChangeRequest change) {
  return group.add(name, clause, description, [change = std::move(change)](Host& h) {
    if (connect_changed(h, change)) expect_serving(h, "a connection that serves");
  });
}

}  // namespace splitnic::conformance
