// Reasons for which a link goes down that its owner distinguishes: as LinkObserver::on_link_down()
// has them. Plain.
#pragma once

#include <string_view>

namespace splitnic::fabric {

inline constexpr std::string_view kPeerStopped = "the peer stopped";              // it sent BYE
inline constexpr std::string_view kClosedHere = "closed here";                    // by the owner
inline constexpr std::string_view kHeardNothing = "nothing heard from the peer";  // for too long

}  // namespace splitnic::fabric
