#include "fabric_emul/transport/local_operations.h"

#include <array>
#include <cerrno>
#include <limits>

namespace splitnic::fabric {
namespace {

constexpr WcStatus status_of(RegisterCheck check) {
  switch (check) {
    case RegisterCheck::kEntry:
      return WcStatus::kRegisterEntry;
    case RegisterCheck::kInstance:
      return WcStatus::kRegisterInstance;
    case RegisterCheck::kSpace:
      break;
  }
  return WcStatus::kRegisterSpace;
}

// The Send of a combined work request has room for the description of the region.
base::Status check_announcement(const SendWr& wr, std::uint64_t region_bytes) {
  if (wr.op != WrOp::kRegisterSend) return {};
  const std::uint64_t bytes = total_length(wr.gather);
  if (wr.region_at > bytes || bytes - wr.region_at < kVaMhBytes) {
    return base::Error("the message has no room for address, key and length of the region", EINVAL);
  }
  if (region_bytes > std::numeric_limits<std::uint32_t>::max()) {
    return base::Error("a region whose length is sent is at most 2^32 - 1 bytes", EINVAL);
  }
  return {};
}

}  // namespace

base::Status LocalOperations::check(const SendWr& wr) {
  if (wr.idata || !wr.gather.empty()) {
    return base::Error("a work request that sends nothing carries no data", EINVAL);
  }
  if (wr.op == WrOp::kDelay && wr.local.delay < base::Duration{0}) {
    return base::Error("a delay is not negative", EINVAL);
  }
  return {};
}

LocalOperations::Step LocalOperations::run(WrOp op, base::Time now) {
  const LocalWork& work = work_.front();
  std::optional<AccessCheck> refused;
  if (op == WrOp::kDelay) {
    if (!is_delaying()) delay_until_ = now + work.delay;
    if (now < delay_until_) return Step::kWaiting;
    delay_until_ = base::kNever;
    is_delay_over_ = false;
  } else if (op == WrOp::kBind) {
    refused =
        context_.mrwt.windows().bind_reserved(context_.pd, work.window, work.region, work.address,
                                              work.length, work.rights, work.bound_qp);
    if (!refused && work.is_one_touch) context_.mrwt.one_touch().enable(work.window);
  } else {
    refused = context_.mrwt.windows().disassociate(context_.pd, work.window);
  }
  if (refused) return Step::kFailed;
  work_.pop_front();
  return Step::kDone;
}

base::Result<VaMh> LocalOperations::reserve(const SendWr& wr, const NewRegion& region) {
  const auto handle = context_.mrwt.regions().reserve_region(context_.pd, region);
  if (!handle) return handle.error();
  const std::uint64_t length = context_.mrwt.length_of(*handle);
  if (const auto announced = check_announcement(wr, length); !announced) {
    context_.mrwt.regions().give_up_reserved(*handle);
    return announced.error();
  }
  registrations_.push_back({*handle, region});
  return VaMh{context_.mrwt.start_of(*handle), *handle, static_cast<std::uint32_t>(length)};
}

void LocalOperations::cancel_newest() {
  context_.mrwt.regions().give_up_reserved(registrations_.back().handle);
  registrations_.pop_back();
}

std::optional<WcStatus> LocalOperations::make_region() {
  const Registration it = registrations_.front();
  registrations_.pop_front();
  last_key_ = it.handle;
  const auto refused = context_.mrwt.regions().make_reserved(context_.pd, it.handle, it.region);
  return refused ? std::optional(status_of(*refused)) : std::nullopt;
}

void LocalOperations::forget() {
  for (const Registration& it : registrations_) context_.mrwt.regions().give_up_reserved(it.handle);
  registrations_.clear();
  work_.clear();
  delay_until_ = base::kNever;
  is_delay_over_ = false;
}

void announce_region(const VaMh& region, std::uint64_t at, std::uint64_t offset,
                     base::MutableBytes body) {
  std::array<std::byte, kVaMhBytes> bytes;
  region.emit(bytes.data());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t place = at + i;
    if (place >= offset && place - offset < body.size()) body[place - offset] = bytes[i];
  }
}

}  // namespace splitnic::fabric
