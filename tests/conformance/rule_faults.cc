// Wrong implementations of RC as its sender, of access checks, partitions, service levels, and
// links: I/O units.
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/endian.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::AckCode;
using fabric::AckExt;
using fabric::CellView;
using fabric::Op;

constexpr std::size_t kCsnAt = 20;
constexpr std::size_t kPartitionAt = 24;

// ACKs of the suite, as the target sees them.
Fault of_seen_acks(const std::string& name, const std::string& what, const std::string& noticed_by,
                   const std::function<void(AckExt& ack)>& change) {
  return of_cells(name, what, noticed_by, To::kTarget,
                  [change](const CellView& view, RelayBytes& cell) {
                    AckExt ack;
                    if (view.header.op != Op::kAck || !fabric::parse_ack(view, ack)) return true;
                    change(ack);
                    ack.emit(cell.data() + fabric::kMacHeaderBytes);
                    return true;
                  });
}

void add_repair(std::vector<Fault>& all) {
  all.push_back(of_seen_acks("repairs_by_time_out", "what is lost comes once more by time-out only",
                             "loss.one_lost", [](AckExt& ack) { ack.bitmap.fill(0); }));
  all.push_back(of_seen_acks("credits_ignored", "the receive credits of ACKs are not looked at",
                             "loss.receive_credits",
                             [](AckExt& ack) { ack.receive_credits = 64; }));
  all.push_back(
      of_unit("ack_unchecked", "an ACK of cells that were never sent has an effect",
              "loss.ack_of_unsent", [] {
                const auto last = std::make_shared<fabric::Lcn>();
                return both(cell_rule(To::kSuite,
                                      [last](const CellView& view, RelayBytes&) {
                                        if (view.header.op == Op::kSend) *last = view.header.lcn;
                                        return true;
                                      }),
                            cell_rule(To::kTarget, [last](const CellView& view, RelayBytes& cell) {
                              AckExt ack;
                              if (view.header.op != Op::kAck || !fabric::parse_ack(view, ack) ||
                                  ack.cumulative - *last != 500) {
                                return true;
                              }
                              ack.cumulative = *last;
                              ack.emit(cell.data() + fabric::kMacHeaderBytes);
                              return true;
                            }));
              }));
  all.push_back(of_cells("ack_code_unchecked", "the code of an ACK is not checked",
                         "loss.ack_of_no_code", To::kTarget,
                         [](const CellView& view, RelayBytes& cell) {
                           if (view.header.op == Op::kAck) {
                             cell.at(fabric::kMacHeaderBytes) = std::byte{0};
                           }
                           return true;
                         }));
  all.push_back(of_unit("buffer_ignored", "the receive buffer of the peer is not looked at",
                        "loss.receive_buffer", [] {
                          return init_rule(To::kTarget, [](fabric::Init& init) {
                            init.receive_buffer_bytes = 4 << 20;
                            return true;
                          });
                        }));
  all.push_back(of_cells("never_asks", "no cell asks for an ACK", "loss.asks_for_ack", To::kSuite,
                         [](const CellView&, RelayBytes& cell) {
                           cell[2] &= ~std::byte{fabric::kFlagAckRequest};
                           return true;
                         }));
}

void add_modes(std::vector<Fault>& all) {
  all.push_back(of_unit("hello_changes_the_mode", "a HELLO on a link that is up changes its CRC",
                        "link.hello_keeps_the_mode", [] {
                          const auto asks = std::make_shared<bool>(false);
                          return both(init_rule(To::kTarget,
                                                [asks](const fabric::Init& init) {
                                                  *asks = init.step == fabric::InitStep::kHello &&
                                                          init.payload_crc ==
                                                              fabric::PayloadCrc::kOmitted;
                                                  return true;
                                                }),
                                      init_rule(To::kSuite, [asks](fabric::Init& init) {
                                        if (*asks && init.step == fabric::InitStep::kReady) {
                                          init.payload_crc = fabric::PayloadCrc::kOmitted;
                                        }
                                        return true;
                                      }));
                        }));
  all.push_back(of_cells("long_bitmap", "the bitmap of an ACK has 65 words", "rc.bitmap_is_bounded",
                         To::kSuite, [](const CellView& view, RelayBytes& cell) {
                           constexpr std::size_t kWordsAt = fabric::kMacHeaderBytes + 10;
                           constexpr unsigned kTooMany = 65;
                           AckExt ack;
                           const bool is_long = view.header.op == Op::kAck &&
                                                fabric::parse_ack(view, ack) &&
                                                ack.bitmap_words == 64;
                           if (!is_long) return true;
                           cell[kWordsAt] = std::byte{kTooMany};
                           cell[3] = static_cast<std::byte>(view.header.ext_words + 1);
                           cell.insert(cell.end() - 4, 4, std::byte{0});
                           return true;
                         }));
}

void add_headers(std::vector<Fault>& all) {
  all.push_back(of_cells("partition_unchecked", "the partition of cells is not checked",
                         "cell.other_partition", To::kTarget,
                         [](const CellView&, RelayBytes& cell) {
                           base::store_be(&cell.at(kPartitionAt), std::uint16_t{0xFFFF});
                           return true;
                         }));
  all.push_back(
      of_cells("partition_of_mgmt_unchecked", "the partition of connection messages is not checked",
               "cm.other_partition", To::kTarget, [](const CellView& view, RelayBytes& cell) {
                 if (view.header.op == Op::kMgmt) {
                   base::store_be(&cell.at(kPartitionAt), std::uint16_t{0xFFFF});
                 }
                 return true;
               }));
  all.push_back(of_cells("limited_refused", "a cell of a limited member is dropped",
                         "cell.limited_member", To::kTarget, [](const CellView& view, RelayBytes&) {
                           return fabric::is_full_member(view.header.partition);
                         }));
  all.push_back(of_cells("levels_refused", "cells of service levels above 7 are dropped",
                         "cell.service_levels", To::kTarget,
                         [](const CellView& view, RelayBytes&) { return view.header.sl < 8; }));
  all.push_back(of_cells("level_of_messages", "messages have another service level than 3",
                         "cell.level_of_messages", To::kSuite,
                         [](const CellView& view, RelayBytes& cell) {
                           if (view.header.sl == 3) cell[0] |= std::byte{7};  // of the same lane
                           return true;
                         }));
  all.push_back(of_cells("wrap_is_the_past", "the PSN 0 behind the last one is an earlier one",
                         "cm.numbers_wrap", To::kTarget,
                         [](const CellView&, RelayBytes&) { return true; }));
  all.back().make = [] {
    return cell_rule(To::kTarget,
                     [is_near = std::make_shared<bool>(false)](const CellView& view, RelayBytes&) {
                       if (view.header.op != Op::kSend) return true;
                       *is_near |= view.header.psn.value >= 0xFFFFFE;
                       return !*is_near || view.header.psn.value >= 0xFFFFFE;
                     });
  };
}

// NAKs of writes, by the VA/MH of the last write that the target got. `change` returns false to
// drop the NAK.
using ChangeNak = std::function<bool(const fabric::VaMh& write, AckExt& nak, RelayBytes& cell)>;
Fault of_naks(const std::string& name, const std::string& what, const std::string& noticed_by,
              const ChangeNak& change) {
  return of_unit(name, what, noticed_by, [change] {
    const auto write = std::make_shared<std::optional<fabric::VaMh>>();
    return both(cell_rule(To::kTarget,
                          [write](const CellView& view, RelayBytes&) {
                            if (view.header.op == Op::kRdmaWrite && view.va_mh) {
                              *write = *view.va_mh;
                            }
                            return true;
                          }),
                cell_rule(To::kSuite, [write, change](const CellView& view, RelayBytes& cell) {
                  AckExt nak;
                  if (!*write || view.header.op != Op::kNak || !fabric::parse_ack(view, nak)) {
                    return true;
                  }
                  if (!change(**write, nak, cell)) return false;
                  nak.emit(cell.data() + fabric::kMacHeaderBytes);
                  return true;
                }));
  });
}

// The NAK becomes the ACK of a target that has taken the cell.
void become_ack(AckExt& nak, RelayBytes& cell) {
  const unsigned pos_and_op = std::to_integer<unsigned>(cell[1]);
  cell[1] = static_cast<std::byte>((pos_and_op & 0xC0U) | static_cast<unsigned>(Op::kAck));
  nak.code = AckCode::kAck;
  nak.detail = 0;
  nak.cumulative = nak.cumulative + 1U;
}

void add_access(std::vector<Fault>& all) {
  all.push_back(of_naks("range_before_handle", "the range is checked before the handle",
                        "data.handle_before_range",
                        [](const fabric::VaMh& write, AckExt& nak, RelayBytes&) {
                          if (write.address.value == 0) nak.detail = 'e';
                          return true;
                        }));
  all.push_back(of_naks("nak_lcn", "a NAK acknowledges the cell that it refuses",
                        "data.handle_unknown", [](const fabric::VaMh&, AckExt& nak, RelayBytes&) {
                          nak.cumulative = nak.cumulative + 1U;
                          return true;
                        }));
  all.push_back(of_naks("no_bytes_unchecked", "the handle of a write of 0 bytes is not checked",
                        "data.no_bytes_elsewhere",
                        [](const fabric::VaMh& write, AckExt& nak, RelayBytes& cell) {
                          if (write.length == 0) become_ack(nak, cell);
                          return true;
                        }));
  all.push_back(of_cells(
      "no_bytes_dropped", "a write of 0 bytes is dropped", "data.no_bytes", To::kTarget,
      [](const CellView& view, RelayBytes&) { return !view.va_mh || view.va_mh->length > 0; }));
  all.push_back(of_naks("range_by_cell", "the range of a packet is checked cell by cell",
                        "data.long_over_the_end",
                        [](const fabric::VaMh& write, AckExt& nak, RelayBytes& cell) {
                          if (nak.detail == 'e' && write.length > 2000) {
                            base::store_be(&cell.at(kCsnAt), std::uint16_t{1});
                          }
                          return true;
                        }));
  all.push_back(
      of_unit("dereg_taken", "SEND_DEREG is acknowledged as a Send is", "rc.send_dereg", [] {
        const auto is_last = std::make_shared<bool>(false);
        return both(
            cell_rule(To::kTarget,
                      [is_last](const CellView& view, RelayBytes&) {
                        *is_last |= view.header.op == Op::kSendDereg;
                        return true;
                      }),
            cell_rule(To::kSuite, [is_last](const CellView& view, RelayBytes& cell) {
              AckExt nak;
              if (!*is_last || view.header.op != Op::kNak || !fabric::parse_ack(view, nak)) {
                return true;
              }
              become_ack(nak, cell);
              nak.emit(cell.data() + fabric::kMacHeaderBytes);
              return true;
            }));
      }));
  all.push_back(of_naks("window_of_anybody", "a handle serves each queue pair",
                        "data.handle_of_another",
                        [](const fabric::VaMh&, AckExt& nak, RelayBytes& cell) {
                          if (nak.code == AckCode::kRemoteAccess && nak.detail == 'c') {
                            become_ack(nak, cell);
                          }
                          return true;
                        }));
}

void add_links(std::vector<Fault>& all) {
  all.push_back(of_unit("idle_of_one_lane", "IDLE on a data lane is dropped",
                        "state.silence_then_idle_on_lane_2", [] {
                          return [](To to, RelayBytes& datagram) {
                            fabric::FlitView flit;
                            return to != To::kTarget ||
                                   fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
                                   flit.header.type != fabric::FlitType::kIdle ||
                                   flit.header.vl == fabric::kMgmtLane;
                          };
                        }));
  all.push_back(
      of_unit("one_address", "all hosts have one link address", "link.addresses_differ", [] {
        return init_rule(To::kSuite, [](fabric::Init& init) {
          if (init.step == fabric::InitStep::kReady) init.offered_lid = fabric::Lid(2);
          return true;
        });
      }));
  all.push_back(of_unit(
      "dies_of_garbage", "a cell with a wrong CRC ends the process", "link.random_datagrams", [] {
        return [is_dead = false](To to, const RelayBytes& datagram) mutable {
          fabric::FlitView flit;
          CellView cell;
          is_dead |= to == To::kTarget &&
                     fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
                     flit.header.type == fabric::FlitType::kData &&
                     fabric::parse_cell(flit.payload, cell) == fabric::CellError::kCrc;
          return !is_dead;
        };
      }));
  all.push_back(of_unit(
      "ends_all", "the end of a connection is that of all others", "msg.errors_of_another", [] {
        const auto has_ended = std::make_shared<bool>(false);
        return both(init_rule(To::kSuite,
                              [has_ended](const fabric::Init& init) {
                                if (init.step == fabric::InitStep::kReady) *has_ended = false;
                                return true;
                              }),
                    cell_rule(To::kSuite, [has_ended](const CellView& view, RelayBytes&) {
                      fabric::Mgmt mgmt;
                      *has_ended |=
                          view.header.op == Op::kMgmt &&
                          fabric::parse_mgmt(view.payload, mgmt) == fabric::MgmtError::kNone &&
                          mgmt.kind == fabric::MgmtKind::kDisc;
                      return view.header.op != Op::kSend || !*has_ended;
                    }));
      }));
}

// Cells of UC that the target gets. `is_taken` is called with each of them, and whether it is the
// one that came before once more.
using IsTaken = std::function<bool(const fabric::MacHeader& header, bool is_again)>;
Fault of_uc(const std::string& name, const std::string& what, const std::string& noticed_by,
            const std::function<IsTaken()>& make) {
  return of_unit(name, what, "variant." + noticed_by, [make] {
    return cell_rule(To::kTarget, [before = std::make_shared<fabric::MacHeader>(),
                                   is_taken = make()](const CellView& view, RelayBytes&) {
      if (view.header.service != fabric::Service::kUc) return true;
      const bool is_again = view.header == *before;
      *before = view.header;
      return is_taken(view.header, is_again);
    });
  });
}

void add_uc(std::vector<Fault>& all) {
  all.push_back(
      of_uc("hole_costs_two", "a hole of UC costs the packet behind it too", "uc_hole", [] {
        return [is_open = false, refused = std::optional<fabric::Psn>()](
                   const fabric::MacHeader& header, bool) mutable {
          if (header.pos == fabric::Pos::kFirst && is_open) refused = header.psn;
          is_open = !fabric::is_last(header.pos);
          return header.psn != refused;
        };
      }));
  all.push_back(
      of_uc("uc_again_ends", "a cell of UC that comes twice ends its packet", "uc_duplicate", [] {
        return [refused = std::optional<fabric::Psn>()](const fabric::MacHeader& header,
                                                        bool is_again) mutable {
          if (is_again) refused = header.psn;
          return header.psn != refused;
        };
      }));
  all.push_back(of_uc("uc_too_long_ends", "a message of UC that is too long ends the queue pair",
                      "uc_too_long", [] {
                        return [bytes = std::size_t{0}, has_ended = std::set<std::uint32_t>()](
                                   const fabric::MacHeader& header, bool) mutable {
                          bytes = header.csn == 0 ? 0 : bytes;
                          bytes += header.payload_bytes;
                          if (bytes > 4096) has_ended.insert(header.sqpn.value);
                          return !has_ended.contains(header.sqpn.value);
                        };
                      }));
  all.push_back(
      of_cells("send_mode_pools", "a message of pools in mode send is no error",
               "variant.separate_role", To::kTarget, [](const CellView& view, RelayBytes&) {
                 if (view.header.service != fabric::Service::kUc) return true;
                 const auto header = messaging::MessageHeader::parse(view.payload);
                 return !header || header->function() != messaging::Function::kBufferRecvPool;
               }));
}

}  // namespace

std::vector<Fault> rule_faults() {
  std::vector<Fault> all;
  add_repair(all);
  add_modes(all);
  add_headers(all);
  add_access(all);
  add_links(all);
  add_uc(all);
  return all;
}

}  // namespace splitnic::conformance
