#include "fabric_emul/link/fragment_receiver.h"

#include <utility>

namespace splitnic::fabric {

void FragmentReceiver::drop() {
  if (std::exchange(is_begun_, false)) counters_.add(LinkCounter::kRxDropFragment);
}

bool FragmentReceiver::continues(const FlitHeader& header) const {
  const Fragment fragment = fragment_of(header);
  return is_begun_ && fragment.number == number_ && fragment.offset == cell_.size() &&
         header.vl == vl_;
}

// The network may repeat a datagram.
bool FragmentReceiver::is_copy(const FlitView& flit) const {
  const Fragment fragment = fragment_of(flit.header);
  return is_begun_ && fragment.number == number_ &&
         fragment.offset + flit.payload.size() <= cell_.size();
}

void FragmentReceiver::begin(const FlitHeader& header) {
  drop();
  cell_.clear();
  is_begun_ = true;
  number_ = fragment_of(header).number;
  vl_ = header.vl;
}

base::Bytes FragmentReceiver::take(const FlitView& flit, std::size_t cell_bytes_max) {
  counters_.add(LinkCounter::kRxFragment);
  if (is_copy(flit)) {
    counters_.add(LinkCounter::kRxDropFragment);
    return {};
  }
  if ((flit.header.ctl & kFlitSof) != 0) begin(flit.header);
  const bool is_last = (flit.header.ctl & kFlitEof) != 0;
  const bool is_aligned = is_last || flit.payload.size() % kFragmentUnit == 0;
  if (!continues(flit.header) || !is_aligned ||
      cell_.size() + flit.payload.size() > cell_bytes_max) {
    is_begun_ = false;
    counters_.add(LinkCounter::kRxDropFragment);
    return {};
  }
  cell_.insert(cell_.end(), flit.payload.begin(), flit.payload.end());
  if (!is_last) return {};
  is_begun_ = false;
  return cell_;
}

}  // namespace splitnic::fabric
