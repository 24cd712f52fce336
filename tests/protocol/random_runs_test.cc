// Header prediction: random sequences of cells look for a case in which a run and cell by cell have
// different effects.
#include <gtest/gtest.h>

#include "tests/support/prediction_twins.h"

namespace splitnic::fabric::testing::random_runs_test {

constexpr std::size_t kMcp = PredictionTwin::kMcp;

// A random sequence: writes that are lost, doubled, swapped, changed and mixed, in batches of any
// size, while regions, windows and queue pairs end.
class RandomCells {
 public:
  explicit RandomCells(std::uint64_t seed) : random_(seed) {}

  // The difference that one sequence makes.
  std::string run_one(PredictionTwins& twins) {
    QpInit init{.common = {.mcp = kMcp}, .ack_interval = pick<std::uint16_t>({2, 8, 64})};
    init.selective_repeat = random_.below(3) != 0;
    init.common.send_depth = init.common.receive_depth = 4;
    init.window_bytes_max = 4096;
    init.common.max_rd_atomic = 1;  // nothing is read, and each queue pair makes room for all
    twins.both([&](PredictionTwin& twin) { twin.connect(init); });
    make_target(twins);
    const std::uint64_t receives = random_.below(3);
    twins.both([&](PredictionTwin& twin) {
      for (std::uint64_t i = 0; i < receives; ++i) {
        static_cast<void>(twin.pair.a().post_recv(twin.pairs[0].a, {}, i));
      }
    });
    Cells cells = make_cells(twins.with);
    for (std::uint64_t i = random_.below(4); i > 0; --i) disturb(cells);
    std::string different;
    for (std::span<const std::vector<std::byte>> rest(cells); !rest.empty() && different.empty();) {
      const std::size_t n = std::min<std::size_t>(rest.size(), 1 + random_.below(12));
      twins.take(rest.first(n));
      rest = rest.subspan(n);
      different = twins.difference();
      if (random_.below(6) == 0) disturb_owner(twins);
    }
    end_target(twins);
    return different;
  }

 private:
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + random_.below(of.size()));
  }

  void make_target(PredictionTwins& twins) {
    const std::uint64_t kind = random_.below(4);
    twins.both([&](PredictionTwin& twin) {
      twin.guard.from = PredictionTwin::kBytes;
      target_ = twin.memory.handle;
      has_window_ = kind < 3;
      if (!has_window_) return;
      const Qpn bound = kind == 1 ? twin.pairs[0].a : Qpn();
      target_ = twin.table()
                    .windows()
                    .bind_window(twin.pair.a().pd, twin.memory.handle, twin.memory.start,
                                 PredictionTwin::kBytes, kRemoteWrite, bound)
                    .value();
      if (kind == 2) twin.table().one_touch().enable(target_);
    });
  }
  void end_target(PredictionTwins& twins) {
    twins.both([&](PredictionTwin& twin) {
      if (has_window_) static_cast<void>(twin.table().windows().unbind(target_));
      static_cast<void>(twin.table().set_valid(twin.memory.handle, true));
      twin.disconnect();
    });
  }

  Cells make_cells(PredictionTwin& model) {
    CellMaker mine(model.pair, 1, model.pairs[0].b, 0, model.pairs[0].a);
    CellMaker other(model.pair, 1, model.pairs[1].b, 0, model.pairs[1].a);
    Cells out;
    for (std::uint64_t packets = 1 + random_.below(3); packets > 0; --packets) {
      const std::size_t bytes = 1 + random_.below(11 * kMcp);
      const std::size_t offset = random_.below(PredictionTwin::kBytes - bytes + 9);
      std::optional<std::uint32_t> idata;
      if (random_.below(2) == 0) idata = random_.next32();
      const Cells one =
          write_of(mine, model.memory.at(offset), target_, bytes, random_.below(200), idata);
      out.insert(out.end(), one.begin(), one.end());
    }
    if (random_.below(4) == 0) {
      const Cells one = write_of(other, model.other_memory.start, model.other_memory.handle,
                                 1 + random_.below(6 * kMcp), random_.below(200));
      out.insert(out.begin() + static_cast<std::ptrdiff_t>(random_.below(out.size())), one.begin(),
                 one.end());
    }
    return out;
  }

  void disturb(Cells& cells) {
    if (cells.empty()) return;
    const auto at = static_cast<std::ptrdiff_t>(random_.below(cells.size()));
    const auto to = static_cast<std::ptrdiff_t>(random_.below(cells.size()));
    std::vector<std::byte>& cell = cells[static_cast<std::size_t>(at)];
    switch (random_.below(7)) {
      case 0:  // lost, and perhaps retransmitted
        if (random_.below(2) == 0) {
          std::vector<std::byte> again = cell;
          change(again, [](MacHeader& h) { h.flags |= kFlagRetransmission; });
          cells.push_back(std::move(again));
        }
        cells.erase(cells.begin() + at);
        break;
      case 1:
        cells.insert(cells.begin() + to, std::vector<std::byte>(cell));
        break;
      case 2:
        std::swap(cells[static_cast<std::size_t>(at)], cells[static_cast<std::size_t>(to)]);
        break;
      case 3:  // a bit of it, and the CRC no longer fits
        cell[random_.below(cell.size())] ^= static_cast<std::byte>(1U << random_.below(8));
        break;
      case 4:  // a bit of its header, and the CRC fits
        cell[random_.below(kMacHeaderBytes)] ^= static_cast<std::byte>(1U << random_.below(8));
        reseal(cell);
        break;
      case 5:
        change(cell, [&](MacHeader& h) {
          h.flags = static_cast<std::uint8_t>(
              h.flags ^ pick<int>({kFlagAckRequest, kFlagSolicited, kFlagRetransmission}));
        });
        break;
      default:  // shorter by a word
        if (cell.size() < kMacHeaderBytes + kVaMhBytes + 12) return;
        cell.resize(cell.size() - 4);
        if (random_.below(2) == 0) {
          change(cell, [](MacHeader& h) {
            h.payload_bytes = static_cast<std::uint16_t>(h.payload_bytes - 4);
          });
        } else {
          reseal(cell);
        }
    }
  }

  void disturb_owner(PredictionTwins& twins) {
    const std::uint64_t what = random_.below(5);
    const std::uint64_t number = random_.below(PredictionTwin::kBytes);
    twins.both([&](PredictionTwin& twin) {
      QpAttr attr = twin.qp().attr();
      switch (what) {
        case 0:
          static_cast<void>(twin.table().windows().unbind(target_));
          break;
        case 1:
          static_cast<void>(twin.table().set_valid(twin.memory.handle, number % 2 == 0));
          break;
        case 2:
          twin.guard.from = number;
          break;
        case 3:
          twin.qp().enter_error();
          break;
        default:
          attr.rights = kRemoteRead | (number % 2 == 0 ? kRemoteWrite : 0);
          static_cast<void>(twin.qp().modify(QpState::kRts, kAttrRights, attr));
      }
    });
  }

  base::SeededRandom random_;
  MemoryHandle target_;
  bool has_window_ = false;
};

// The parameter is the seed; the ten together are 10^5 sequences.
class RandomRuns : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomRuns, S001_40_ten_thousand_sequences_have_the_effect_of_cell_by_cell) {
  PredictionTwins twins;
  RandomCells cells(GetParam());
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(cells.run_one(twins), "") << "sequence " << i;
  }
  // Half of all cells and more, were none of them disturbed; the disturbed ones are the point.
  EXPECT_GT(twins.with.predicted(), 10'000U);
  EXPECT_EQ(twins.without.predicted(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, RandomRuns, ::testing::Range<std::uint64_t>(1, 11));

}  // namespace splitnic::fabric::testing::random_runs_test
