// The kernel agent of VIA: the entry for all that is set-up or error. It makes and ends VIs and
// completion queues, connects and disconnects, registers memory, takes errors and notifications
// [S001-43]. entries() counts the calls into it: none of them is part of a transfer.
//
// It is the connection handler of its adapter, so all connections of that adapter are of VIs. The
// adapter and the clock must outlive it. Thread: the data thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "fabric_emul/via/vi.h"

namespace splitnic::fabric {

class KernelAgent final : private ConnectionHandler, private ViAgent {
 public:
  using ErrorHandler = std::function<void(Vi& vi, std::string_view why)>;

  KernelAgent(Adapter& adapter, base::Clock& clock);
  KernelAgent(const KernelAgent&) = delete;
  KernelAgent& operator=(const KernelAgent&) = delete;

  // As RegionRegistrar::register_region(): `rights` determine what local and remote descriptors may
  // do there.
  base::Result<MemoryHandle> register_memory(PdId pd, base::MutableBytes memory,
                                             std::uint8_t rights);
  base::Status deregister_memory(MemoryHandle handle);

  base::Result<ViCq*> create_cq(std::size_t depth);
  // Refused while a VI uses it.
  base::Status destroy_cq(ViCq& cq);
  // Both queues may complete in one. Refused if a completion queue has no room for their depth.
  base::Result<Vi*> create_vi(const ViAttributes& attributes, ViCq& send_cq, ViCq& receive_cq);
  // Refused while it is connected or holds descriptors: disconnect() and ViCq::done() end that.
  base::Status destroy_vi(Vi& vi);

  // Waits for a peer that connects with this discriminator, or connects to one that waits.
  // Refused: a VI that is not idle, a discriminator that is waited for.
  base::Status wait(Vi& vi, std::uint32_t discriminator);
  base::Status connect(Vi& vi, Link& link, std::uint32_t discriminator);
  // Whatever its state, the VI is idle: its descriptors are done, flushed if they were not.
  base::Status disconnect(Vi& vi);

  // Handlers take note and return: they call neither VI nor agent.
  // This one is called with the next completion, once.
  void notify(ViCq& cq, std::function<void()> handler);
  // This one hears of VIs that went to the error state, and of refused connections.
  void set_error_handler(ErrorHandler handler);

  std::uint64_t entries() const { return entries_; }

 private:
  struct Hello;
  // ViAgent
  void on_failed(Vi& vi, std::string_view why) override;
  void on_send_stopped(Vi& vi) override;

  void on_link_up(Link&) override {}
  void on_link_down(Link&, std::string_view) override {}
  MgmtReject on_connect_request(ConnectionId id, Link& link, const Mgmt& request,
                                Mgmt& reply) override;
  bool on_connected(ConnectionId id, Link& link, const Mgmt& reply) override;
  void on_rejected(ConnectionId id, MgmtReject code, base::Bytes private_data) override;
  void on_disconnected(ConnectionId id, std::string_view why) override;

  base::Status make_qp(Vi& vi);
  void end_qp(Vi& vi);
  bool join(Vi& vi, const MgmtPair& mine, const MgmtPair& theirs, Link& link);
  void leave(Vi& vi);
  void refuse(ConnectionId id, std::string_view why);

  Adapter& adapter_;
  base::Clock& clock_;
  std::vector<std::unique_ptr<ViCq>> cqs_;
  std::vector<std::unique_ptr<Vi>> vis_;
  std::map<std::uint32_t, Vi*> waiting_;  // by discriminator
  // By the side that connected and the one that waited: over the loopback of the adapter both are
  // here, with one id.
  using Connections = std::map<ConnectionId, Vi*>;
  Connections connecting_, accepted_;
  ErrorHandler on_error_;
  std::uint64_t entries_ = 0;
};

}  // namespace splitnic::fabric
