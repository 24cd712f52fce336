// Queue pairs of one adapter that are connected to each other [S000-11].
#include <cerrno>

#include "fabric_emul/verbs/adapter.h"

namespace splitnic::fabric {
namespace {

// Nobody but the adapter hears these addresses.
constexpr Eui64 kListening(0x0200'0000'0000'0001ULL);
constexpr Eui64 kConnecting(0x0200'0000'0000'0002ULL);

}  // namespace

base::Result<Link*> Adapter::open_loopback(base::Time now) {
  if (loopback_) return loopback_->near;
  PortConfig config;
  config.instance = random_.next() | 1;
  config.links_max = 1;
  config.eui64 = kListening;
  config.listens = true;
  auto made = std::make_unique<Loopback>();
  const auto listening = insert_port(made->listening(), config);
  if (!listening) return listening.error().within("opening the loopback");
  config.eui64 = kConnecting;
  config.listens = false;
  const auto connecting = insert_port(made->connecting(), config);
  if (!connecting) {
    ports_.pop_back();
    return connecting.error().within("opening the loopback");
  }
  made->far_port = *listening;
  made->near = &(*connecting)->connect(made->listening().address(), now);
  loopback_ = std::move(made);
  has_more_ = true;  // HELLO is due
  return loopback_->near;
}

base::Status Adapter::connect_local(Qpn one, Qpn other) {
  Link* near = loopback_ ? loopback_->near : nullptr;
  Link* far = loopback_ ? loopback_->far() : nullptr;
  if (near == nullptr || far == nullptr) {
    return base::Error("the loopback is not up: open it, and wait until its link is", ENOTCONN);
  }
  if (one == other) return base::Error("a queue pair is not connected to itself", EINVAL);
  for (const Qpn qpn : {one, other}) {
    const Qp* qp = qps_.find(qpn);
    if (qp == nullptr) return base::Error("no such queue pair");
    if (qp->state() != QpState::kReset && qp->state() != QpState::kInit) {
      return base::Error("the queue pair is connected", EISCONN);
    }
  }
  const MgmtPair first = describe(one, 0, 0);
  const MgmtPair second = describe(other, 0, 0);
  if (auto done = connect_qp(first, second, *near); !done) return done;
  return connect_qp(second, first, *far);
}

}  // namespace splitnic::fabric
