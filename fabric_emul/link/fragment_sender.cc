#include "fabric_emul/link/fragment_sender.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace splitnic::fabric {

base::MutableBytes FragmentSender::reserve(std::size_t cell_bytes) {
  CHECK(empty());
  if (cell_.size() < cell_bytes) cell_.resize(cell_bytes);
  return base::MutableBytes(cell_).first(cell_bytes);
}

void FragmentSender::commit(std::size_t cell_bytes, std::uint8_t vl, bool crc_head_only) {
  CHECK(empty() && cell_bytes > 0 && cell_bytes <= cell_.size());
  bytes_ = cell_bytes;
  sent_ = 0;
  ++number_;
  vl_ = vl;
  ctl_ = kFlitHeaderCrcOnly;
  if (crc_head_only) ctl_ |= kFlitCellCrcHeadOnly;
}

bool FragmentSender::drain(SendBatch& batch) {
  const std::size_t payload_max =
      (batch.stride() - kFlitHeaderBytes) / kFragmentUnit * kFragmentUnit;
  while (!empty()) {
    const std::size_t payload = std::min(payload_max, bytes_ - sent_);
    const base::MutableBytes room = batch.reserve(kFlitHeaderBytes + payload, vl_);
    if (room.empty()) return false;
    std::memcpy(room.data() + kFlitHeaderBytes, cell_.data() + sent_, payload);
    FlitHeader header;
    header.vl = vl_;
    header.ctl = ctl_;
    header.size = static_cast<std::uint16_t>(payload);
    if (payload == bytes_) {
      header.ctl |= kFlitSof | kFlitEof;  // the path carries the whole cell by now
    } else {
      if (sent_ == 0) header.ctl |= kFlitSof;
      if (sent_ + payload == bytes_) header.ctl |= kFlitEof;
      set_fragment(header, {number_, sent_});
      counters_.add(LinkCounter::kTxFragment);
    }
    seal_flit(batch.commit(kFlitHeaderBytes + payload), header);
    counters_.add(LinkCounter::kTxFlit);
    sent_ += payload;
  }
  return true;
}

}  // namespace splitnic::fabric
