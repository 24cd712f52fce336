#include "tests/bench/fabric/libfabric_end.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstring>
#include <utility>

namespace splitnic::bench {

LibfabricEnd::LibfabricEnd(Config config, Control& control)
    : config_(std::move(config)),
      memory_(slots_for(config_.bytes) * slot_stride(config_.bytes), std::byte{1}),
      contexts_(2 * slots_for(config_.bytes)),
      info_(find()) {
  open_endpoint();
  register_memory();
  if (config_.op == Op::kSend) receives_due_ = slots_for(config_.bytes);
  post_receives();
  meet(control);
}

std::string LibfabricEnd::title() const {
  return config_.provider + " " + std::string(name(config_.op)) + " of " +
         std::to_string(config_.bytes) + " B";
}

void LibfabricEnd::check(long result, const char* what) const {
  if (result >= 0) return;
  fail(title() + ": " + what + ": " + ::fi_strerror(static_cast<int>(-result)));
}

LibfabricEnd::Info LibfabricEnd::find() const {
  const Info hints(::fi_allocinfo());
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  // The reply to the last Send stands for those before it.
  if (config_.op == Op::kSend) hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = ::strdup(config_.provider.c_str());
  const bool has_address = config_.provider != "shm";
  fi_info* found = nullptr;
  check(::fi_getinfo(FI_VERSION(1, 17), has_address ? config_.address.c_str() : nullptr, nullptr,
                     has_address ? FI_SOURCE : 0, hints.get(), &found),
        "fi_getinfo");
  return Info(found);
}

void LibfabricEnd::open_endpoint() {
  fid_fabric* fabric = nullptr;
  check(::fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  check(::fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
  domain_.reset(domain);
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  fid_av* av = nullptr;
  check(::fi_av_open(domain, &table, &av, nullptr), "fi_av_open");
  av_.reset(av);
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_DATA;
  queue.size = 4096;
  queue.wait_obj = FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  check(::fi_cq_open(domain, &queue, &cq, nullptr), "fi_cq_open");
  cq_.reset(cq);
  fid_ep* ep = nullptr;
  check(::fi_endpoint(domain, info_.get(), &ep, nullptr), "fi_endpoint");
  ep_.reset(ep);
  check(::fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
  check(::fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check(::fi_enable(ep), "fi_enable");
}

void LibfabricEnd::register_memory() {
  constexpr std::uint64_t kRights =
      FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  fid_mr* mr = nullptr;
  check(::fi_mr_reg(domain_.get(), memory_.data(), memory_.size(), kRights, 0, 1, 0, &mr, nullptr),
        "fi_mr_reg");
  mr_.reset(mr);
  if ((info_->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) return;
  check(::fi_mr_bind(mr, &ep_->fid, 0), "fi_mr_bind");
  check(::fi_mr_enable(mr), "fi_mr_enable");
}

void LibfabricEnd::meet(Control& control) {
  Handshake mine;
  mine.key = ::fi_mr_key(mr_.get());
  if ((info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0) {
    std::byte* const start = memory_.data();
    std::memcpy(&mine.start, &start, sizeof mine.start);
  }
  mine.name_bytes = mine.name.size();
  check(::fi_getname(&ep_->fid, mine.name.data(), &mine.name_bytes), "fi_getname");
  control.send_value(mine);
  theirs_ = control.receive_value<Handshake>();
  if (::fi_av_insert(av_.get(), theirs_.name.data(), 1, &peer_, 0, nullptr) != 1) {
    fail(title() + ": fi_av_insert");
  }
}

ssize_t LibfabricEnd::try_post(std::size_t offset, Word word) {
  std::byte* const piece = memory_.data() + offset;
  void* const descriptor = ::fi_mr_desc(mr_.get());
  const auto data = static_cast<std::uint64_t>(word);
  const std::uint64_t remote = theirs_.start + offset;
  fi_context2* const context = &contexts_[next_];
  switch (config_.op) {
    case Op::kWrite:
      return ::fi_writedata(ep_.get(), piece, config_.bytes, descriptor, data, peer_, remote,
                            theirs_.key, context);
    case Op::kRead:
      return ::fi_read(ep_.get(), piece, config_.bytes, descriptor, peer_, remote, theirs_.key,
                       context);
    default:
      return ::fi_senddata(ep_.get(), piece, config_.bytes, descriptor, data, peer_, context);
  }
}

bool LibfabricEnd::post(Word word) {
  const ssize_t done = try_post(next_ * slot_stride(config_.bytes), word);
  if (done == -FI_EAGAIN) return false;
  check(done, "posting");
  next_ = (next_ + 1) % slots_for(config_.bytes);
  ++posted_;
  return true;
}

// As many as the provider takes now; the rest in a later turn.
void LibfabricEnd::post_receives() {
  const std::size_t slots = slots_for(config_.bytes);
  for (; receives_due_ > 0; --receives_due_, next_receive_ = (next_receive_ + 1) % slots) {
    const ssize_t done = ::fi_recv(
        ep_.get(), memory_.data() + next_receive_ * slot_stride(config_.bytes), config_.bytes,
        ::fi_mr_desc(mr_.get()), FI_ADDR_UNSPEC, &contexts_[slots + next_receive_]);
    if (done == -FI_EAGAIN) return;
    check(done, "fi_recv");
  }
}

void LibfabricEnd::fail_completion() {
  fi_cq_err_entry error{};
  check(::fi_cq_readerr(cq_.get(), &error, 0), "fi_cq_readerr");
  fail(title() + ": one ended as " + ::fi_strerror(error.err));
}

bool LibfabricEnd::iterate() {
  std::array<fi_cq_data_entry, 64> entries;
  const ssize_t got = ::fi_cq_read(cq_.get(), entries.data(), entries.size());
  if (got == -FI_EAVAIL) fail_completion();
  if (got != -FI_EAGAIN) check(got, "fi_cq_read");
  for (ssize_t i = 0; i < got; ++i) {
    const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
    if ((entry.flags & FI_REMOTE_CQ_DATA) == 0) {
      ++sent_;
      continue;
    }
    ++received_;
    if (config_.op == Op::kSend) ++receives_due_;
    if (!config_.is_active && entry.data == static_cast<std::uint64_t>(Word::kReply)) {
      ++replies_due_;
    }
  }
  post_receives();
  while (replies_due_ > 0 && post(Word::kCount)) --replies_due_;
  return got > 0;
}

}  // namespace splitnic::bench
