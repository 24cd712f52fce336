// A decorator that records every cell that passes and lets a test inject its own cells, as a
// capture and a packet generator do. It sits directly above the carrier. Thread: the test.
#pragma once

#include <algorithm>
#include <deque>
#include <span>
#include <vector>

#include "fabric_emul/underlay/underlay_decorator.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric::testing {

struct TappedCell {
  bool sent = false;  // by the owner; false: received
  std::vector<std::byte> bytes;
  FlitHeader flit{};  // of its first flit; in the full profile each flit is recorded

  // Spans of the view point into this object. REQUIRES a valid cell, as those that we sent are.
  CellView view() const {
    CellView out;
    out.header = MacHeader::parse(bytes.data());
    static_cast<void>(parse_cell(bytes, out));
    return out;
  }
  MacHeader header() const { return MacHeader::parse(bytes.data()); }
};

class RecordingUnderlay final : public UnderlayDecorator {
 public:
  explicit RecordingUnderlay(Underlay& below) : UnderlayDecorator(below) {}

  bool is_recording = false;
  bool blocks = false;            // send() returns kBlocked
  std::vector<TappedCell> cells;  // oldest first

  // The owner will receive this cell as if `from` had sent it.
  void inject(const PeerAddress& from, base::Bytes cell) {
    const std::vector<std::byte> copy(cell.begin(), cell.end());
    inject_batch(from, std::span(&copy, 1));
  }
  // The same with several cells in one batch, a datagram each; shorter ones are followed by filler.
  void inject_batch(const PeerAddress& from, std::span<const std::vector<std::byte>> what) {
    std::size_t longest = 0;
    for (const auto& cell : what) longest = std::max(longest, cell.size());
    const std::size_t stride = kFlitHeaderBytes + longest;
    Injected batch{from, std::vector<std::byte>(stride * what.size()), stride};
    FlitHeader header;
    header.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly;
    for (std::size_t i = 0; i < what.size(); ++i) {
      emit_flit(base::MutableBytes(batch.bytes).subspan(i * stride, stride), header, what[i]);
    }
    injected_.push_back(std::move(batch));
  }

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    if (blocks) return SendStatus::kBlocked;
    const SendStatus status = below_.send(to, bytes, stride);
    if (status == SendStatus::kSent) record(true, bytes, stride);
    return status;
  }
  std::optional<Received> receive() override {
    if (!injected_.empty()) {
      current_ = std::move(injected_.front());
      injected_.pop_front();
      return Received{current_.bytes, current_.stride, current_.from};
    }
    auto batch = below_.receive();
    if (batch) record(false, batch->bytes, batch->stride);
    return batch;
  }
  base::Time deadline() const override {
    return injected_.empty() ? below_.deadline() : base::Time{};
  }

 private:
  struct Injected {
    PeerAddress from;
    std::vector<std::byte> bytes;
    std::size_t stride = 0;
  };

  void record(bool sent, base::Bytes bytes, std::size_t stride) {
    if (!is_recording) return;
    for (std::size_t at = 0; at < bytes.size(); at += stride) {
      FlitWalker walker(bytes.subspan(at, std::min(stride, bytes.size() - at)));
      FlitView flit;
      while (walker.next(flit) == FlitWalker::Step::kFlit) {
        if (flit.header.type != FlitType::kData) continue;
        cells.push_back({sent, {flit.payload.begin(), flit.payload.end()}, flit.header});
      }
    }
  }

  std::deque<Injected> injected_;
  Injected current_;
};

}  // namespace splitnic::fabric::testing
