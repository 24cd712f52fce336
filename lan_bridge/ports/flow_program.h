// The program that selects the queue of a frame by its flow, for the kernel: classic BPF, as a
// fanout group takes it. steering.h gives a TAP the same one, so both directions of a flow have the
// same queue at both interfaces of a NIC.
//
// TCP goes by addresses and ports. UDP goes by addresses: its datagrams may be fragments, which
// have no ports, between whole ones of the same flow. Fragments and other protocols over IP go by
// addresses too, ICMP among them, so that a reply comes back to the thread that has just carried
// its request; frames with two VLAN tags go by MAC addresses. ARP and every other ethertype have no
// flow and go by the processor that sends or receives them. Pure.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace splitnic::lan {

// Offsets of a load from here are no offsets in the frame: SKF_AD_OFF and SKF_LL_OFF.
inline constexpr std::uint32_t kFromAncillary = 0xFFFFF000;
inline constexpr std::uint32_t kFromMac = 0xFFE00000;

// Returns the program: its result modulo the number of queues is the queue. All jumps go forward,
// and conditional ones have no `jf`.
std::vector<sock_filter> flow_program();

}  // namespace splitnic::lan
