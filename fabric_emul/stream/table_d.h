// Table D: the fate of a tagged cell that passed the access checks, by its Last bit, the touch
// control of its entry, and its place in the byte stream. docs/protocol/stream.md
#pragma once

#include <cstdint>

namespace splitnic::fabric {

enum class StreamPlace : std::uint8_t { kInOrder, kEarly, kOutside };

enum class TableD : std::uint8_t {
  kPlace,          // rows 1 and 2
  kEndAndRefuse,   // row 3: the entry ends, TERMINATE
  kPlaceAndEnd,    // row 4
  kPlaceAndTouch,  // row 5: the entry ends when the stream has caught up
  kDrop,           // row 6: the sender retransmits it
};

// Total. A cell outside the window is dropped whatever the other inputs are.
constexpr TableD table_d(bool is_last, bool is_one_touch, bool is_touched, StreamPlace place) {
  if (place == StreamPlace::kOutside) return TableD::kDrop;  // [S002-27]
  if (!is_last || !is_one_touch) return TableD::kPlace;      // [S002-23] also if touched
  if (is_touched) return TableD::kEndAndRefuse;              // [S002-24]
  if (place == StreamPlace::kInOrder) return TableD::kPlaceAndEnd;  // [S002-25]
  return TableD::kPlaceAndTouch;                                    // [S002-26]
}

}  // namespace splitnic::fabric
