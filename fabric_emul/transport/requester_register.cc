// Registration through the send queue: the key is given when the work request is posted, the region
// is made when its turn comes, and a table without room is answered in one of two ways, chosen when
// the queue pair is created [S002-30 to S002-34].
#include <array>
#include <cerrno>
#include <limits>

#include "fabric_emul/transport/requester.h"
#include "fabric_emul/transport/service.h"

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

}  // namespace

// What the Send of a combined work request must be. nullptr: it is.
const char* Requester::announced_refused(const SendWr& wr, std::uint64_t region_bytes) const {
  if (wr.op != WrOp::kRegisterSend) return nullptr;
  std::uint64_t bytes = 0;
  for (const Sge& piece : wr.gather) bytes += piece.length;
  if (wr.region_at > bytes || bytes - wr.region_at < kVaMhBytes) {
    return "the message has no room for address, key and length of the region";
  }
  const bool fits = region_bytes <= std::numeric_limits<std::uint32_t>::max();
  return fits ? nullptr : "a region whose length is sent is at most 2^32 - 1 bytes";
}

base::Result<MemoryHandle> Requester::post_register(const SendWr& wr, const NewRegion& region) {
  auto handle = context_.mrwt.reserve_region(context_.pd, region);
  if (!handle) return handle;
  const VaMh made{context_.mrwt.start_of(*handle), *handle,
                  static_cast<std::uint32_t>(context_.mrwt.length_of(*handle))};
  const char* why = announced_refused(wr, context_.mrwt.length_of(*handle));
  base::Status posted = why != nullptr ? base::Status(base::Error(why, EINVAL)) : post(wr);
  if (!posted) {
    context_.mrwt.give_up_reserved(*handle);
    return posted.error();
  }
  Wqe& w = sq_.back();
  w.region = made;
  w.region_at = wr.region_at;
  registrations_.push_back({*handle, region});
  return handle;
}

// The region of the work request `no`, whose turn has come. False: it cannot be made.
bool Requester::register_now(std::uint64_t no) {
  const Registration it = registrations_.front();
  registrations_.pop_front();
  const auto refused = context_.mrwt.make_reserved(context_.pd, it.handle, it.region);
  wqe(no).is_registered = !refused;
  if (!refused) return true;
  const WcStatus status = status_of(*refused);
  if (context_.failure_option == FailureOption::kAnticipatory) {
    failed_ = Ending{no, status};
    context_.fault = status;
    if (is_acknowledged(context_.service)) context_.terminates = it.handle;
  } else {
    ending_ = Ending{no, status, true};
    context_.drain_fault = true;
    complete_acknowledged();
  }
  return false;
}

// The failing work request completes behind those before it, and those behind it are flushed; the
// queue pair goes on receiving, and sends again after resume_sq [S002-32].
void Requester::end_drained(WcStatus status) {
  complete_front(status);
  while (!sq_.empty()) complete_front(WcStatus::kFlushed);
  forget_local_work();
  send_no_ = tail_no_;
  send_csn_ = 0;
}

// Where the message names the region: its bytes are put over those of the gather list [S002-34].
void Requester::announce_region(const Wqe& w, std::uint64_t offset, base::MutableBytes body) {
  if (w.op != WrOp::kRegisterSend) return;
  std::array<std::byte, kVaMhBytes> bytes;
  w.region.emit(bytes.data());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t at = std::uint64_t{w.region_at} + i;
    if (at >= offset && at - offset < body.size()) body[at - offset] = bytes[i];
  }
}

// What did not run: the keys that were given for it end.
void Requester::forget_local_work() {
  for (const Registration& it : registrations_) context_.mrwt.give_up_reserved(it.handle);
  registrations_.clear();
  local_work_.clear();
  delay_until_ = base::kNever;
}

}  // namespace splitnic::fabric
