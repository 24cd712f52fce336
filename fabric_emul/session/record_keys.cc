#include "fabric_emul/session/record_keys.h"

#include "base/check.h"

namespace splitnic::fabric::session {
namespace {

std::uint64_t weight_of(std::size_t plain_bytes) {
  return plain_bytes > kShortRecordBytes ? kLongRecordWeight : 1;
}

}  // namespace

RecordKeys::RecordKeys(const SessionConfig& config, const TransportKeys& keys, Origin origin)
    : limits_(config.records),
      origin_(std::move(origin)),
      sealing_(make_aead(config.provider)),
      opening_(make_aead(config.provider)) {
  CHECK(sealing_ && opening_);
  sealing_->set_key(keys.send);
  opening_->set_key(keys.receive);
  if (!config.log_key) return;
  config.log_key({origin_.local.value(), keys.receive});
  config.log_key({origin_.remote, keys.send});
}

bool RecordKeys::wants_rekey(base::Time now) const {
  return now >= rekey_at() || sealed_ >= limits_.rekey_records;
}

bool RecordKeys::may_seal(base::Time now, std::size_t records) const {
  return now < reject_at() && sealed_ + records * kLongRecordWeight <= limits_.reject_records;
}

void RecordKeys::seal(base::MutableBytes out, base::Bytes plain, std::uint8_t flags) {
  sealed_ += weight_of(plain.size());
  const std::uint64_t counter = next_counter_++;
  const base::MutableBytes sealed = begin_data(out, flags, origin_.remote, counter);
  sealing_->seal(sealed, plain, nonce_of(counter), Data::header(out));
}

RecordKeys::Opened RecordKeys::open(base::Time now, base::MutableBytes out, base::Bytes record) {
  if (now >= reject_at() || failed_ >= limits_.failed_opens_max ||
      opened_ >= limits_.reject_records) {
    return Opened::kExpired;
  }
  const std::uint64_t counter = Data::counter(record);
  if (!opening_->open(out, Data::sealed(record), nonce_of(counter), Data::header(record))) {
    ++failed_;
    return Opened::kTag;
  }
  switch (window_.accept(counter)) {
    case ReplayWindow::Verdict::kRefused:
      return Opened::kReplay;
    case ReplayWindow::Verdict::kNew:
      opened_ += weight_of(out.size());
      return Opened::kGood;
    case ReplayWindow::Verdict::kHighest:
      opened_ += weight_of(out.size());
      return Opened::kGoodHighest;
  }
  return Opened::kTag;
}

}  // namespace splitnic::fabric::session
