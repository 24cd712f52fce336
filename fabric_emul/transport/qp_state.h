// The states of a queue pair and the 22 changes that a modify may ask for, as data. The same edges
// hold for every service; which attributes go with them is in qp_attr.h.
//
//             to  RESET  INIT  RTR  RTS  SQD  SQE  ERR
//   from RESET      x     x
//        INIT       x     x     x                   x
//        RTR        x                x              x
//        RTS        x                x    x         x
//        SQD        x                x    x         x
//        SQE        x                x              x
//        ERR        x                               x
//
// Only a local send error leads to SQE, never a modify, and never on RC, where such an error leads
// to ERR. Any fatal error leads to ERR too; that is no modify and needs no edge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fabric_emul/wire/op_table.h"

namespace splitnic::fabric {

enum class QpState : std::uint8_t {
  kReset,  // as created: nothing may be posted, cells are dropped
  kInit,   // receives may be posted; cells are dropped
  kRtr,    // ready to receive: cells are taken and acknowledged
  kRts,    // ready to send as well
  kSqd,    // send queue draining or drained: nothing new is sent
  kSqe,    // send queue in error (not RC): receiving continues
  kErr,    // everything posted completes as flushed; only RESET leads out
  kCount_
};
inline constexpr std::size_t kQpStates = static_cast<std::size_t>(QpState::kCount_);

inline constexpr std::array<std::string_view, 7> kQpStateNames = {"RESET", "INIT", "RTR", "RTS",
                                                                  "SQD",   "SQE",  "ERR"};
static_assert(kQpStateNames.size() == kQpStates, "every state has a name");
constexpr std::string_view name(QpState state) {
  return kQpStateNames[static_cast<std::size_t>(state)];
}

struct QpEdge {
  QpState from;
  QpState to;
};
inline constexpr auto kQpEdges = std::to_array<QpEdge>({
    {QpState::kReset, QpState::kReset}, {QpState::kReset, QpState::kInit},

    {QpState::kInit, QpState::kReset},  {QpState::kInit, QpState::kErr},
    {QpState::kInit, QpState::kInit},   {QpState::kInit, QpState::kRtr},

    {QpState::kRtr, QpState::kReset},   {QpState::kRtr, QpState::kErr},
    {QpState::kRtr, QpState::kRts},

    {QpState::kRts, QpState::kReset},   {QpState::kRts, QpState::kErr},
    {QpState::kRts, QpState::kRts},     {QpState::kRts, QpState::kSqd},

    {QpState::kSqd, QpState::kReset},   {QpState::kSqd, QpState::kErr},
    {QpState::kSqd, QpState::kRts},     {QpState::kSqd, QpState::kSqd},

    {QpState::kSqe, QpState::kReset},   {QpState::kSqe, QpState::kErr},
    {QpState::kSqe, QpState::kRts},

    {QpState::kErr, QpState::kReset},   {QpState::kErr, QpState::kErr},
});
static_assert(kQpEdges.size() == 22);

// Total over all pairs of states: an edge that is not listed is illegal.
constexpr bool is_legal(QpState from, QpState to) {
  for (const QpEdge& edge : kQpEdges) {
    if (edge.from == from && edge.to == to) return true;
  }
  return false;
}
static_assert(!is_legal(QpState::kReset, QpState::kRts));

// The state of a queue pair after a send has failed locally.
constexpr QpState state_after_send_error(Service service) {
  const bool continues = service == Service::kUc || service == Service::kRd ||
                         service == Service::kUd || service == Service::kRaw;
  return continues ? QpState::kSqe : QpState::kErr;
}
static_assert(state_after_send_error(Service::kRc) == QpState::kErr);

}  // namespace splitnic::fabric
