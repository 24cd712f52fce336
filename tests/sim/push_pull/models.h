// The two ways to move a frame that are compared [S001-53]. Each frame costs
//   push: an RDMA write with idata, into the buffer of the receiver that has the same number;
//   pull: a Send that announces address, memory handle and length, and an RDMA read of the receiver
//         into its buffer; the sender learns from the Update that the read has ended.
#pragma once

#include "tests/sim/push_pull/transfer.h"

namespace splitnic::sim {

class Push final : public Transfer {
 public:
  explicit Push(const TransferConfig& config) : Transfer(config) {}

 private:
  void send_frame(std::size_t buffer) override;
  void on_completion(const fabric::Wc& wc, base::Bytes message) override;
};

class Pull final : public Transfer {
 public:
  explicit Pull(const TransferConfig& config) : Transfer(config) {}

 private:
  void send_frame(std::size_t buffer) override;
  void on_completion(const fabric::Wc& wc, base::Bytes message) override;
};

}  // namespace splitnic::sim
