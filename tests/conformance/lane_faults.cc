// Wrong I/O units of the full profile. A relay has the flits of one link, so it remembers what both
// sides have stated; what is behind a flit that it drops is lost too, until it comes once more.
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/crc32c.h"
#include "base/endian.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::FlitHeader;
using fabric::FlitType;
using fabric::Lsn;

constexpr std::uint32_t kLaneMask = 0xFFFFFF;
constexpr std::uint32_t kLaneHalf = 1U << 23;

// A rule of the headers of all flits but INIT, in both directions. `change` returns false to drop
// the flit; `on_ready` is called when READY passes, with which both sides begin once more.
using ChangeHeader = std::function<bool(To to, FlitHeader& header)>;
Rule header_rule(ChangeHeader change, std::function<void()> on_ready = {}) {
  return [change = std::move(change), on_ready = std::move(on_ready)](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    fabric::Init init;
    if (fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone) return true;
    if (flit.header.type == FlitType::kInit) {
      const bool is_ready = fabric::parse_init(flit.payload, init) == fabric::InitError::kNone &&
                            init.step == fabric::InitStep::kReady;
      if (is_ready && on_ready) on_ready();
      return true;
    }
    FlitHeader header = flit.header;
    if (!change(to, header)) return false;
    if (header == flit.header) return true;
    const RelayBytes payload(flit.payload.begin(), flit.payload.end());
    datagram = flit_of(header, payload);
    return true;
  };
}
Fault of_lanes(const std::string& name, const std::string& what, const std::string& noticed_by,
               std::function<Rule()> make) {
  return {.name = "lane_" + name,
          .what = what,
          .noticed_by = "lane." + noticed_by,
          .make = std::move(make),
          .is_full = true};
}
Fault of_flits(const std::string& name, const std::string& what, const std::string& noticed_by,
               const ChangeHeader& change) {
  return of_lanes(name, what, noticed_by, [change] { return header_rule(change); });
}

// The DATA flits that have passed in one direction since READY.
struct SentFlits {
  std::set<std::uint32_t> lsns{};
  bool is_repeated(const FlitHeader& header) { return !lsns.insert(header.lsn.value).second; }
};
Fault of_repeated(const std::string& name, const std::string& what, const std::string& noticed_by,
                  const std::function<bool(FlitHeader& header)>& change) {
  return of_lanes(name, what, noticed_by, [change] {
    const auto sent = std::make_shared<SentFlits>();
    return header_rule(
        [change, sent](To to, FlitHeader& header) {
          const bool is_repeated =
              to == To::kSuite && header.type == FlitType::kData && sent->is_repeated(header);
          return !is_repeated || change(header);
        },
        [sent] { sent->lsns.clear(); });
  });
}

// The lanes and limits that the target sees.
void add_lanes(std::vector<Fault>& all) {
  all.push_back(of_flits("zero", "all cells leave on lane 0", "of_service_level",
                         [](To to, FlitHeader& header) {
                           const bool is_data = to == To::kSuite && header.type == FlitType::kData;
                           if (is_data && header.vl != fabric::kMgmtLane) header.vl = 0;
                           return true;
                         }));
  all.push_back(of_flits("mgmt_as_data", "connection messages leave on lane 0", "of_service_level",
                         [](To to, FlitHeader& header) {
                           const bool is_data = to == To::kSuite && header.type == FlitType::kData;
                           if (is_data && header.vl == fabric::kMgmtLane) header.vl = 0;
                           return true;
                         }));
  all.push_back(
      of_lanes("payload", "the flit payload of the peer is not looked at", "flit_payload", [] {
        return init_rule(To::kTarget, [](fabric::Init& init) {
          init.flit_payload_max = fabric::kFlitPayloadDefault;
          return true;
        });
      }));
  all.push_back(of_lanes("all_lanes", "the lanes of the peer are not looked at", "few_lanes", [] {
    return init_rule(To::kTarget, [](fabric::Init& init) {
      init.lanes_mask = 0x800F;
      return true;
    });
  }));
  all.push_back(of_flits("any_lane", "a flit of any lane is taken", "not_common",
                         [](To to, FlitHeader& header) {
                           if (to == To::kTarget && header.vl == 7) header.vl = 0;
                           return true;
                         }));
  all.push_back(of_lanes("idle", "IDLE leaves every 50 ms", "idle_of_lanes", [] {
    return header_rule([count = std::make_shared<unsigned>(0)](To to, FlitHeader& header) {
      return to != To::kSuite || header.type != FlitType::kIdle || ++*count % 5 == 0;
    });
  }));
}

void add_credits(std::vector<Fault>& all) {
  all.push_back(of_lanes("no_credits", "flits leave without credits", "credits", [] {
    return init_rule(To::kTarget, [](fabric::Init& init) {
      init.initial_credit = 4096;
      return true;
    });
  }));
  const auto obeys = [](bool is_behind) {
    return [is_behind] {
      struct Limits {
        std::array<std::uint32_t, fabric::kLaneCount> newest{};
        std::set<unsigned> blocked{};
      };
      const auto limits = std::make_shared<Limits>();
      const ChangeHeader obey = [is_behind, limits](To to, FlitHeader& header) {
        if (to == To::kSuite) {
          return header.type != FlitType::kData || !limits->blocked.contains(header.vl);
        }
        std::uint32_t& newest = limits->newest.at(header.credit_vl);
        const std::uint32_t ahead = (header.credit_limit - newest) & kLaneMask;
        const bool is_far = ahead >= kLaneHalf && ahead < kLaneHalf + 10000;
        const bool is_old = ahead >= kLaneHalf && !is_far;
        if (newest != 0 && (is_behind ? is_old : is_far)) limits->blocked.insert(header.credit_vl);
        if (ahead < kLaneHalf) newest = header.credit_limit;
        return true;
      };
      return header_rule(obey, [limits] { *limits = {}; });
    };
  };
  all.push_back(of_lanes("limit_back", "a credit limit that goes back is obeyed", "limit_goes_back",
                         obeys(true)));
  all.push_back(of_lanes("limit_far", "a credit limit of any number is obeyed", "limit_too_far",
                         obeys(false)));
  all.push_back(of_lanes("blocks_all", "a lane without credits blocks lane 15", "blocked_lane", [] {
    // CONNECT_REP leaves, and then the pools wait.
    struct Waiting {
      unsigned cells = 0;
      bool has_credits = false;
    };
    const auto waiting = std::make_shared<Waiting>();
    const ChangeHeader block = [waiting](To to, FlitHeader& header) {
      if (to == To::kTarget) {
        waiting->has_credits |= header.credit_vl == 3 && header.credit_limit > 0;
        return true;
      }
      if (header.type != FlitType::kData || header.vl != fabric::kMgmtLane) return true;
      waiting->cells += (header.ctl & fabric::kFlitSof) != 0 ? 1U : 0U;
      return waiting->has_credits || waiting->cells <= 1;
    };
    return header_rule(block, [waiting] { *waiting = {}; });
  }));
  all.push_back(of_flits("beyond", "blocks beyond the credits are granted once more",
                         "beyond_credits", [](To to, FlitHeader& header) {
                           if (to == To::kSuite && header.credit_vl == 1 &&
                               header.credit_limit > kFullTargetBlocks) {
                             ++header.credit_limit;
                           }
                           return true;
                         }));
  all.push_back(of_flits("lost_blocks", "the blocks of what forms no cell are lost", "no_first",
                         [](To to, FlitHeader& header) {
                           if (to == To::kSuite && header.credit_vl == 1) {
                             header.credit_limit = kFullTargetBlocks;
                           }
                           return true;
                         }));
}

void add_sending(std::vector<Fault>& all) {
  all.push_back(of_flits("first_lsn", "the first flit has another number", "first_lsn",
                         [](To to, FlitHeader& header) {
                           if (to == To::kSuite && header.type == FlitType::kData) {
                             header.lsn = header.lsn + 7U;
                           }
                           return true;
                         }));
  all.push_back(of_repeated("sent_once", "flits are never sent once more", "time_out",
                            [](FlitHeader&) { return false; }));
  all.push_back(of_repeated("retransmits_others", "a retransmission has the lane of another flit",
                            "lnak_goes_back", [](FlitHeader& header) {
                              header.vl = header.vl == 0 ? 3 : 0;
                              return true;
                            }));
  all.push_back(of_flits("lnak_ignored", "LNAK is ignored: flits come once more at their time-out",
                         "lnak_goes_back", [](To to, FlitHeader& header) {
                           return to != To::kTarget || header.type != FlitType::kLnak;
                         }));
  all.push_back(
      of_lanes("begins_behind", "retransmissions leave out the first flit", "lnak_goes_back", [] {
        const auto sent = std::make_shared<SentFlits>();
        const auto stated = std::make_shared<Lsn>();
        const ChangeHeader leave_out = [sent, stated](To to, FlitHeader& header) {
          if (to == To::kTarget) {
            *stated = header.ack;
            return true;
          }
          if (header.type != FlitType::kData) return true;
          return !sent->is_repeated(header) || header.lsn != *stated + 1U;
        };
        return header_rule(leave_out, [sent] { sent->lsns.clear(); });
      }));
}

// Ctl of the flits to the target, with what the lane is in: a cell, or between two.
Rule first_rule(std::function<std::uint8_t(std::uint8_t ctl, bool is_in_cell)> change) {
  const auto in_cell = std::make_shared<std::set<unsigned>>();
  const auto sent = std::make_shared<SentFlits>();
  const ChangeHeader change_first = [=](To to, FlitHeader& header) {
    if (to != To::kTarget || header.type != FlitType::kData || sent->is_repeated(header)) {
      return true;
    }
    header.ctl = change(header.ctl, in_cell->contains(header.vl));
    if ((header.ctl & fabric::kFlitEof) != 0) {
      in_cell->erase(header.vl);
    } else {
      in_cell->insert(header.vl);
    }
    return true;
  };
  return header_rule(change_first, [=] {
    in_cell->clear();
    sent->lsns.clear();
  });
}

// Sets EOF where the flits of a lane are a whole cell, for a target that looks at no EOF.
Rule whole_cell_rule() {
  const auto begun = std::make_shared<std::map<unsigned, RelayBytes>>();
  return flit_rule(To::kTarget, [begun](FlitHeader& header, RelayBytes& payload, RelayBytes&) {
    RelayBytes& cell = (*begun)[header.vl];
    if ((header.ctl & fabric::kFlitSof) != 0) cell.clear();
    cell.insert(cell.end(), payload.begin(), payload.end());
    fabric::CellView view;
    if (fabric::parse_cell(cell, view) == fabric::CellError::kNone) header.ctl |= fabric::kFlitEof;
    return true;
  });
}

void add_cells(std::vector<Fault>& all) {
  all.push_back(
      of_lanes("any_last", "a whole cell without EOF is taken", "without_last", whole_cell_rule));
  all.push_back(of_lanes("any_first", "a cell begins without SOF", "without_first", [] {
    return first_rule([](std::uint8_t ctl, bool is_in_cell) {
      return is_in_cell ? ctl : static_cast<std::uint8_t>(ctl | fabric::kFlitSof);
    });
  }));
  all.push_back(of_lanes("joined", "SOF inside a cell is ignored", "behind_half_a_cell", [] {
    return first_rule([](std::uint8_t ctl, bool is_in_cell) {
      return is_in_cell ? static_cast<std::uint8_t>(ctl & ~unsigned{fabric::kFlitSof}) : ctl;
    });
  }));
}

void add_receiving(std::vector<Fault>& all) {
  all.push_back(of_flits("no_lnak", "a gap gets no LNAK", "gap", [](To to, FlitHeader& header) {
    return to != To::kSuite || header.type != FlitType::kLnak;
  }));
  all.push_back(of_lanes("many_lnaks", "a gap gets two LNAK", "gap", [] {
    return [](To to, RelayBytes& datagram) {
      fabric::FlitView flit;
      if (to == To::kSuite && fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
          flit.header.type == FlitType::kLnak) {
        const RelayBytes once = datagram;
        datagram.insert(datagram.end(), once.begin(), once.end());
      }
      return true;
    };
  }));
  all.push_back(of_flits("head_crc", "a flit whose CRC does not cover the payload is taken",
                         "crc_without_payload", [](To to, FlitHeader& header) {
                           if (to == To::kTarget) {
                             header.ctl = static_cast<std::uint8_t>(
                                 header.ctl & ~unsigned{fabric::kFlitHeaderCrcOnly});
                           }
                           return true;
                         }));
  all.push_back(of_lanes("any_ack", "the acknowledge number is not checked", "ack_of_unsent", [] {
    const auto last = std::make_shared<std::optional<Lsn>>();
    const ChangeHeader repair = [last](To to, FlitHeader& header) {
      if (to == To::kSuite) {
        if (header.type == FlitType::kData) *last = header.lsn;
      } else if (*last && header.ack - **last > 0) {
        header.ack = **last;
      }
      return true;
    };
    return header_rule(repair, [last] { last->reset(); });
  }));
  all.push_back(of_lanes("taken_twice", "a repeated flit gets LNAK", "repeated", [] {
    return [sent = std::make_shared<SentFlits>(), is_due = std::make_shared<bool>(false)](
               To to, RelayBytes& datagram) {
      fabric::FlitView flit;
      if (fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone) return true;
      const bool is_data = flit.header.type == FlitType::kData;
      if (to == To::kTarget) {
        *is_due |= is_data && sent->is_repeated(flit.header);
      } else if (std::exchange(*is_due, false) && flit.header.type != FlitType::kInit) {
        FlitHeader lnak = flit.header;
        lnak.type = FlitType::kLnak;
        RelayBytes more(fabric::kFlitHeaderBytes);
        fabric::emit_flit(more, lnak);
        datagram.insert(datagram.end(), more.begin(), more.end());
      }
      return true;
    };
  }));
  all.push_back(of_lanes("any_crc", "a flit with a wrong CRC is taken", "corrupt", [] {
    return [](To to, RelayBytes& datagram) {
      fabric::FlitView flit;
      if (to == To::kTarget && fabric::parse_flit(datagram, flit) == fabric::FlitError::kCrc) {
        constexpr std::size_t kCrcAt = 12;
        RelayBytes covered(datagram.begin(), datagram.begin() + kCrcAt);
        covered.insert(covered.end(), datagram.begin() + fabric::kFlitHeaderBytes, datagram.end());
        base::store_be(datagram.data() + kCrcAt, base::crc32c(covered));
      }
      return true;
    };
  }));
}

}  // namespace

std::vector<Fault> lane_faults() {
  std::vector<Fault> all;
  add_lanes(all);
  add_credits(all);
  add_sending(all);
  add_cells(all);
  add_receiving(all);
  return all;
}

}  // namespace splitnic::conformance
