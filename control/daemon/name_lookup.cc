#include "control/daemon/name_lookup.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/udp_underlay.h"

namespace splitnic::control {
namespace {

base::Result<Endpoint> look_up(const Endpoint& endpoint) {
  const auto found = fabric::UdpUnderlay::resolve(endpoint.udp_text());
  if (!found) return found.error().within("connecting to " + endpoint.text());
  return parse_endpoint("udp://" + fabric::UdpAddress(*found).text());
}

}  // namespace

struct NameLookup::Shared {
  base::Result<Endpoint> result = Endpoint();
  std::atomic<bool> is_done{false};
};

NameLookup::NameLookup(const Endpoint& endpoint) : shared_(std::make_shared<Shared>()) {
  if (!endpoint.is_name()) {
    shared_->result = endpoint;
    shared_->is_done = true;
    return;
  }
  const auto run = [shared = shared_, endpoint] {
    shared->result = look_up(endpoint);
    shared->is_done.store(true, std::memory_order_release);
  };
  try {
    std::thread(run).detach();
  } catch (const std::system_error&) {
    run();  // without another thread, the caller waits
  }
}

bool NameLookup::is_done() const { return shared_->is_done.load(std::memory_order_acquire); }

base::Result<Endpoint> NameLookup::result() const { return shared_->result; }

}  // namespace splitnic::control
