// Wrong implementations that take what they must drop, and such that send what they must not.
#include <algorithm>
#include <memory>
#include <set>

#include "base/endian.h"
#include "fabric_emul/wire/mgmt.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::Op;
using messaging::Function;

Fault of_flits(const std::string& name, const std::string& what, const ChangeFlit& change) {
  return {name, what, "cfg.echo", false, [=] { return flit_rule(To::kSuite, change); }};
}
Fault of_sent_cells(const std::string& name, const std::string& what, const ChangeCell& change) {
  return {name, what, "cfg.echo", false, [=] { return cell_rule(To::kSuite, change); }};
}
// The relay repairs what the unit would drop.
Fault taken(const std::string& name, const std::string& what, const std::string& noticed_by,
            Function function, const ChangeMessage& repair) {
  return of_messages(name, what, noticed_by, To::kTarget, function, repair);
}

void add_sent_flits(std::vector<Fault>& all) {
  const auto ctl = [](std::uint8_t bits) {
    return [bits](fabric::FlitHeader& header, RelayBytes&, RelayBytes&) {
      header.ctl ^= bits;
      return true;
    };
  };
  all.push_back(of_flits("flit_no_sof", "DATA flits do not have SOF", ctl(fabric::kFlitSof)));
  all.push_back(of_flits("flit_long_crc", "the CRC of DATA flits covers their payload",
                         ctl(fabric::kFlitHeaderCrcOnly)));
  all.push_back(of_flits("flit_other_crc", "DATA flits leave the payload out of the cell CRC",
                         ctl(fabric::kFlitCellCrcHeadOnly)));
  all.push_back(of_flits("flit_reserved", "a reserved bit of Ctl is sent", ctl(1)));
  all.push_back(of_flits("flit_numbers", "DATA flits of the speed profile have link numbers",
                         [](fabric::FlitHeader& header, RelayBytes&, RelayBytes&) {
                           header.ack = fabric::Lsn(7);
                           return true;
                         }));
  all.push_back(of_flits("flit_lack", "a link of the speed profile sends LACK",
                         [](fabric::FlitHeader&, RelayBytes&, RelayBytes& behind) {
                           behind.resize(fabric::kFlitHeaderBytes);
                           fabric::emit_flit(behind, {.type = fabric::FlitType::kLack});
                           return true;
                         }));
  all.push_back(of_flits("filler_sent", "filler is not zero",
                         [](fabric::FlitHeader&, RelayBytes&, RelayBytes& behind) {
                           behind.resize(2 * fabric::kFlitHeaderBytes);
                           behind.back() = std::byte{1};
                           return true;
                         }));
}

// The relay repairs what the target would drop.
void add_fragments(std::vector<Fault>& all) {
  const auto taken_fragment = [&all](const std::string& name, const std::string& what,
                                     const std::string& noticed_by, const ChangeFlit& change) {
    all.push_back({name, what, noticed_by, false, [=] { return flit_rule(To::kTarget, change); }});
  };
  taken_fragment("fragments_dropped", "fragments are dropped by who states that it takes them",
                 "flit.fragments", [](fabric::FlitHeader& header, RelayBytes&, RelayBytes&) {
                   return (header.ctl & fabric::kFlitSof) != 0;
                 });
  taken_fragment("fragment_numbers", "the number of the cell is not looked at",
                 "flit.fragment_number", [](fabric::FlitHeader& header, RelayBytes&, RelayBytes&) {
                   constexpr std::uint8_t kWhole = fabric::kFlitSof | fabric::kFlitEof;
                   if ((header.ctl & kWhole) != kWhole) header.lsn = fabric::Lsn(7);
                   return true;
                 });
}

void add_sent_cells(std::vector<Fault>& all) {
  const auto patched = [](std::size_t at, std::uint8_t byte) {
    return [=](const CellView&, RelayBytes& cell) {
      cell[at] ^= std::byte{byte};
      return true;
    };
  };
  all.push_back(
      of_sent_cells("other_slid_sent", "cells come from another link address", patched(7, 0x40)));
  all.push_back(
      of_sent_cells("other_dlid_sent", "cells go to another link address", patched(5, 0x40)));
  all.push_back(of_sent_cells("reserved_sent", "a reserved bit of cells is sent", patched(12, 1)));
  all.push_back(
      of_sent_cells("ack_numbered", "ACKs have an LCN", [](const CellView& view, RelayBytes& cell) {
        if (view.header.op == Op::kAck) cell[27] ^= std::byte{1};
        return true;
      }));
  all.push_back(
      of_sent_cells("mgmt_numbered", "MGMT has a PSN", [](const CellView& view, RelayBytes& cell) {
        if (view.header.op == Op::kMgmt) cell[19] ^= std::byte{1};
        return true;
      }));
}

void add_taken_messages(std::vector<Fault>& all) {
  all.push_back(taken("pool_unchecked", "a pool of 0 elements is taken", "pool.no_elements",
                      Function::kBufferRecvPool, [](base::MutableBytes message) {
                        if (word_of(message, 4) == 0)
                          base::store_be(&message[16], std::uint32_t{16});
                        return true;
                      }));
  all.push_back(taken("indicate_unchecked", "BufferRDMAIndicate of 0 elements is taken",
                      "data.indicate_no_elements", Function::kBufferRdmaIndicate,
                      [](base::MutableBytes message) {
                        if (word_of(message, 5) == 0) become_frame(message);
                        return true;
                      }));
  all.push_back(taken("overlap_unchecked", "an Update with ranges that overlap is no error",
                      "pool.update_overlaps", Function::kBufferRecvPoolUpdate,
                      [](base::MutableBytes message) {
                        constexpr std::size_t kRecord = 3, kSecond = 6;
                        if (word_of(message, kSecond) == word_of(message, kRecord) &&
                            word_of(message, kSecond + 1) == word_of(message, kRecord + 1)) {
                          become_frame(message);
                        }
                        return true;
                      }));
  all.push_back(taken("length_unchecked", "BufferRDMAIndicate that is cut off is taken",
                      "msg.length_of_7_3", Function::kBufferRdmaIndicate,
                      [](base::MutableBytes message) {
                        if (message.size() == 24) become_frame(message);
                        return true;
                      }));
  all.push_back(taken("any_message_version", "BufferRecvPool of another version is taken",
                      "msg.version_of_1", Function::kBufferRecvPool,
                      [](base::MutableBytes message) {
                        if (message[3] == std::byte{2}) become_frame(message);
                        return true;
                      }));
  all.push_back(taken("half_a_message", "of a message with one bad record the good one is taken",
                      "pool.named_twice", Function::kBufferRecvPool,
                      [](base::MutableBytes message) {
                        if (message.size() == 76 && word_of(message, 3) == word_of(message, 11)) {
                          base::store_be(&message[44], word_of(message, 3) + 1);
                          base::store_be(&message[56], word_of(message, 6) + 1);
                        }
                        return true;
                      }));
  all.push_back(taken("reference_twice", "a reference that a message names twice is taken",
                      "pool.named_twice", Function::kBufferRecvPool,
                      [](base::MutableBytes message) {
                        constexpr std::size_t kSecond = kRecordWord + kRecordWords;
                        const std::uint32_t reference = word_of(message, kRecordWord);
                        if (word_of(message, kSecond) == reference) {
                          set_word(message, kSecond, reference + 1);
                        }
                        return true;
                      }));
  all.push_back(taken("pool_bytes_unchecked", "a pool of more than 2^48 bytes is taken",
                      "pool.too_large", Function::kBufferRecvPool, [](base::MutableBytes message) {
                        constexpr std::uint32_t kElementsMax = 66'048;  // the number is checked
                        const std::uint64_t elements = word_of(message, kRecordWord + 1);
                        const std::uint64_t bytes = elements * word_of(message, kRecordWord + 2);
                        if (elements <= kElementsMax && bytes > std::uint64_t{1} << 48) {
                          set_word(message, kRecordWord + 1, 16);
                          set_word(message, kRecordWord + 2, 2048);
                        }
                        return true;
                      }));
  all.push_back({"vnet_unchecked", "the virtio-net header of frames is not looked at",
                 "frame.drops_gso", false, [] {
                   return cell_rule(To::kTarget, [](const CellView& view, RelayBytes& cell) {
                     constexpr std::size_t kVnet = 12;
                     const bool is_first = view.header.op == Op::kRdmaWrite && view.va_mh;
                     if (!is_first || view.payload.size() < kVnet) return true;
                     std::fill_n(cell.begin() + (view.payload.data() - cell.data()), kVnet,
                                 std::byte{0});
                     return true;
                   });
                 }});
  all.push_back(
      {"idata_unchecked", "the size in idata is not compared", "data.idata_size_larger", false, [] {
         return cell_rule(To::kTarget, [](const CellView& view, RelayBytes& cell) {
           if (view.header.op != Op::kRdmaWrite || !view.va_mh || !view.idata) return true;
           const std::uint32_t right = (*view.idata & 0xFFFF0000U) | view.va_mh->length;
           base::store_be(&cell[fabric::kMacHeaderBytes + fabric::kVaMhBytes], right);
           return true;
         });
       }});
  all.push_back({"element_unguarded", "an element that its reader has may be written",
                 "data.used_element", false, [] {
                   auto seen = std::make_shared<std::set<std::uint64_t>>();
                   return cell_rule(To::kTarget, [seen](const CellView& view, RelayBytes& cell) {
                     if (view.header.op != Op::kRdmaWrite || !view.va_mh) return true;
                     if (seen->insert(view.va_mh->address.value).second) return true;
                     // The next element has not been used.
                     base::store_be(&cell[fabric::kMacHeaderBytes],
                                    view.va_mh->address.value + 65536);
                     return true;
                   });
                 }});
}

// A NAK as the ACK that would stand in its place.
RelayBytes as_ack(RelayBytes cell) {
  const unsigned pos_and_op = std::to_integer<unsigned>(cell[1]);
  cell[1] = static_cast<std::byte>((pos_and_op & 0xC0U) | static_cast<unsigned>(Op::kAck));
  cell[fabric::kMacHeaderBytes] = std::byte{0};
  renew_cell_crc(cell);
  return cell;
}

// The DISC of the unit is lost, and before it replies to the DISC of the suite it acknowledges a
// cell that came after its NAK.
Rule nak_without_end() {
  auto ack = std::make_shared<RelayBytes>();
  return flit_rule(To::kSuite,
                   [ack](fabric::FlitHeader& header, RelayBytes& cell, RelayBytes& behind) {
                     CellView view;
                     fabric::Mgmt mgmt;
                     if (fabric::parse_cell(cell, view) != fabric::CellError::kNone) return true;
                     if (view.header.op == Op::kNak) *ack = as_ack(cell);
                     if (view.header.op != Op::kMgmt || ack->empty() ||
                         fabric::parse_mgmt(view.payload, mgmt) != fabric::MgmtError::kNone) {
                       return true;
                     }
                     if (mgmt.kind == fabric::MgmtKind::kDisc) return false;
                     if (mgmt.kind != fabric::MgmtKind::kDiscRep) return true;
                     behind = flit_of(header, *ack);
                     return true;
                   });
}

void add_ends(std::vector<Fault>& all) {
  all.push_back({"nak_without_end", "a queue pair that has sent a NAK takes cells", "rc.psn_jumps",
                 false, nak_without_end});
  const auto no_disc = [] {
    return mgmt_rule(To::kSuite,
                     [](const fabric::Mgmt& mgmt) { return mgmt.kind != fabric::MgmtKind::kDisc; });
  };
  all.push_back(of_unit("nak_without_disc", "a NAK ends a queue pair, and not its connection",
                        "rc.psn_jumps", no_disc));
  all.push_back(of_unit("errors_without_disc", "eight errors end a connection without DISC",
                        "msg.eight_errors", no_disc));
}

}  // namespace

std::vector<Fault> blind_faults() {
  std::vector<Fault> all;
  add_sent_flits(all);
  add_fragments(all);
  add_sent_cells(all);
  add_taken_messages(all);
  add_ends(all);
  return all;
}

}  // namespace splitnic::conformance
