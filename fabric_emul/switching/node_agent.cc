#include "fabric_emul/switching/node_agent.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/node_name.h"
#include "fabric_emul/wire/smp.h"
#include "fabric_emul/wire/smp_lids.h"

namespace splitnic::fabric {
namespace {

// A node has one port.
constexpr std::uint8_t kOnlyPort = 1;

}  // namespace

NodeAgent::NodeAgent(std::string name) : name_(std::move(name)) {
  CHECK(base::is_node_name(name_));
}

std::size_t NodeAgent::serve(base::Bytes smp, const Link& link, base::MutableBytes out) {
  Smp request;
  if (parse_smp(smp, request) != SmpError::kNone) return 0;
  if (request.hop == 0 || request.hop != request.route.hops) return 0;
  request.route.ports[request.hop - 1U] = kOnlyPort;
  Smp reply;
  reply.method = SmpMethod::kReply;
  reply.attribute = request.attribute;
  reply.manager = request.manager;
  reply.transaction = request.transaction;
  reply.route = request.route.reversed();
  reply.hop = 1;
  std::array<std::byte, kSmpBytesMax> body;
  std::size_t body_bytes = 0;
  if (request.attribute == SmpAttribute::kNode && request.method == SmpMethod::kGet) {
    SmpNode node;
    node.lid = link.local_lid() != Lid() ? link.local_lid() : given_.base;
    node.name = name_;
    node.eui64 = link.local_eui64();
    node.port_count = 1;
    node.ports[0] = {kOnlyPort,
                     node.lid == Lid() ? SmpNode::PortState::kUnset : SmpNode::PortState::kUp,
                     link.remote_lid(), link.peer_eui64()};
    body_bytes = emit_smp_node(body, node);
  } else if (request.attribute == SmpAttribute::kPort && request.method == SmpMethod::kSet) {
    PortLids lids;
    parse_smp_port(request.body, lids);  // the SMP was parsed with it
    // No manager changes a LID of the topology file, which comes by INIT.
    const bool may_be = is_valid(lids) && link.local_lid() == Lid();
    if (may_be) given_ = lids;
    if (!may_be) reply.status = SmpStatus::kBad;
    body_bytes = emit_smp_port(body, given_);
  } else {
    return 0;
  }
  reply.body = base::Bytes(body).first(body_bytes);
  return emit_smp(out, reply);
}

}  // namespace splitnic::fabric
