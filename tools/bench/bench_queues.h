// The queue pairs of one session at one end, and the memory of their messages: one of RC, UC, UD or
// STREAM, or several of RD, which share one end-to-end context and each of which sends to
// all of the other end's [S000-12]. One session at a time; close() ends it. Thread: that of the
// adapter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"
#include "tools/bench/bench_handshake.h"
#include "tools/bench/message_mark.h"

namespace splitnic::bench {

class BenchQueues {
 public:
  // `adapter` outlives this.
  explicit BenchQueues(fabric::Adapter& adapter);
  BenchQueues(const BenchQueues&) = delete;
  BenchQueues& operator=(const BenchQueues&) = delete;

  // Makes memory, and queue pairs in INIT with receives posted for all that the other end may have
  // in flight. `pieces`: of each message that is posted. REQUIRES that no session is open, and what
  // check_run() and check_pieces() take. After an error close().
  base::Status open(const Handshake& what, std::size_t queue_pairs, std::size_t pieces,
                    base::Time now);
  // The memory gets the bytes of pattern_at(), which the other end reads.
  void fill();
  void close(base::Time now);

  // This end for CONNECT: of RD the end-to-end context. REQUIRES a session.
  fabric::MgmtPair describe();
  // The private data that go with it.
  Handshake offer() const;
  // Connects with the other end, which has sent these.
  base::Status connect(const fabric::MgmtPair& theirs, const Handshake& their_offer,
                       fabric::Link& link);

  // Posts the next message of the run; one with kReport is an empty Send.
  base::Status post(const MessageMark& mark);
  // The same, to the sender of the message that `wc` reports, by the queue pair that received it.
  base::Status reply(const fabric::Wc& wc, const MessageMark& mark);
  // In place of a receive that is complete.
  base::Status post_receive(fabric::Qpn qpn);

  // The value of the other end's word before the newest FetchOp, which adds 1 to it: the number of
  // those that were executed before [S000-05]. REQUIRES that it is complete.
  std::uint64_t fetched() const;

  // Whether each slot that was read into has the bytes that fill() puts there at the other end.
  // REQUIRES that all reads are complete.
  bool are_reads_right() const;

  bool owns(fabric::Qpn qpn) const;
  // Anybody may send to a queue pair of a datagram service.
  bool is_from_peer(const fabric::Wc& received) const;

  const Handshake& what() const { return what_; }
  // Messages that the active end may have in flight.
  std::size_t in_flight_max() const { return in_flight_max_; }
  std::array<fabric::CqId, 2> completion_queues() const { return {send_cq_, recv_cq_}; }

 private:
  struct Way {
    fabric::Qpn from, to;
  };

  bool is_rd() const { return what_.service == fabric::Service::kRd; }
  base::Status open_memory();
  base::Status open_queue_pair(std::size_t receives, base::Time now);
  base::Result<fabric::Qpn> create(const fabric::CommonInit& common, base::Time now);
  base::Status connect_datagrams(const fabric::MgmtPair& theirs, fabric::Link& link);
  base::Status start(fabric::Qpn qpn, std::uint16_t mcp);
  base::Status send(const Way& way, const MessageMark& mark);
  void name_remote(fabric::SendWr& wr) const;
  fabric::Sge slot(std::size_t number) const;
  std::size_t slot_behind(std::size_t number) const { return number + 1 < slots_ ? number + 1 : 0; }
  std::span<const fabric::Sge> pieces_of(std::size_t slot_number,
                                         std::span<fabric::Sge> room) const;

  fabric::Adapter& adapter_;
  const fabric::PdId pd_;
  const fabric::CqId send_cq_, recv_cq_;

  // Of the session.
  Handshake what_;  // without the numbers of queue pairs
  std::vector<std::byte> memory_;
  fabric::MemoryHandle handle_, remote_handle_;
  fabric::VirtualAddress start_, remote_start_;
  fabric::EeId ee_;
  fabric::Lid remote_lid_;
  std::vector<fabric::Qpn> queue_pairs_, peers_;
  std::size_t in_flight_max_ = 1, pieces_ = 1;
  std::size_t slots_ = 1;  // of memory_
  std::size_t next_message_ = 0, next_slot_ = 0, next_receive_ = 0;
};

}  // namespace splitnic::bench
