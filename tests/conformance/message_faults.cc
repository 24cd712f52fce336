// Wrong implementations of messages, pools, data and CfgUtil.
#include <memory>
#include <vector>

#include "base/endian.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/idata.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::Op;
using messaging::CfgCode;
using messaging::Function;

// Messages of the unit.
Fault of_sent(const std::string& name, const std::string& what, const std::string& noticed_by,
              Function function, const ChangeMessage& change) {
  return of_messages(name, what, noticed_by, To::kSuite, function, change);
}
// CfgUtil replies of one code.
Fault of_replies(const std::string& name, const std::string& what, const std::string& noticed_by,
                 CfgCode code, const ChangeMessage& change) {
  return of_sent(name, what, noticed_by, Function::kCfgUtilReply, [=](base::MutableBytes message) {
    return word_of(message, kCodeWord) != static_cast<std::uint32_t>(code) || change(message);
  });
}
// Replies with one status get another.
Fault of_status(const std::string& name, const std::string& what, const std::string& noticed_by,
                std::uint32_t from, std::uint32_t to) {
  return of_sent(name, what, noticed_by, Function::kCfgUtilReply, [=](base::MutableBytes message) {
    if (word_of(message, kStatusWord) == from) set_word(message, kStatusWord, to);
    return true;
  });
}
// Behind MAC header and VA/MH.
constexpr std::size_t kIdataAt = fabric::kMacHeaderBytes + fabric::kVaMhBytes;

// RDMA writes of the unit.
Fault of_writes(const std::string& name, const std::string& what, const std::string& noticed_by,
                const ChangeCell& change) {
  return {name, what, noticed_by, false, [=] {
            return cell_rule(To::kSuite, [=](const CellView& view, RelayBytes& cell) {
              return view.header.op != Op::kRdmaWrite || change(view, cell);
            });
          }};
}

void add_messages(std::vector<Fault>& all) {
  all.push_back(of_sent("reply_context", "replies have another Transaction Context", "cfg.echo",
                        Function::kCfgUtilReply, [](base::MutableBytes message) {
                          set_word(message, 2, word_of(message, 2) + 1);
                          return true;
                        }));
  all.push_back(of_sent("context_32", "replies copy 32 bits of the Transaction Context",
                        "cfg.context_large", Function::kCfgUtilReply,
                        [](base::MutableBytes message) {
                          set_word(message, 1, 0);
                          return true;
                        }));
  all.push_back(of_sent("reply_code", "replies have the code 0", "cfg.echo",
                        Function::kCfgUtilReply, [](base::MutableBytes message) {
                          set_word(message, 3, 0);
                          return true;
                        }));
  all.push_back(of_sent("message_version", "messages have version 2", "cfg.echo",
                        Function::kCfgUtilReply, [](base::MutableBytes message) {
                          message[3] = std::byte{2};
                          return true;
                        }));
  all.push_back({"errors_unlimited", "errors of a host never end its connection",
                 "msg.eight_errors", false, [] {
                   // The unit gets a frame in place of an unknown function.
                   return message_rule(To::kTarget, Function{}, [](base::MutableBytes message) {
                     messaging::emit_header(Function::kSendData, messaging::kUnsolicited, message);
                     set_word(message, 3, static_cast<std::uint32_t>(message.size() - 16));
                     return true;
                   });
                 }});
}

void add_pools(std::vector<Fault>& all) {
  const auto pools = Function::kBufferRecvPool;
  all.push_back(of_sent("pool_empty", "a pool without elements is advertised", "pool.advertised",
                        pools, [](base::MutableBytes message) {
                          set_word(message, 4, 0);
                          return true;
                        }));
  all.push_back(of_sent("pool_twice", "two pools have one reference", "pool.advertised", pools,
                        [](base::MutableBytes message) {
                          if (message.size() >= 76) set_word(message, 11, word_of(message, 3));
                          return true;
                        }));
  all.push_back(of_sent("pool_wraps", "the end of a pool wraps", "pool.advertised", pools,
                        [](base::MutableBytes message) {
                          set_word(message, 7, 0xFFFFFFFF);
                          set_word(message, 8, 0xFFFFFFF0);
                          return true;
                        }));
  all.push_back(of_sent("pool_reference", "a pool reference that idata cannot name",
                        "pool.advertised", pools, [](base::MutableBytes message) {
                          set_word(message, 3, 300);
                          return true;
                        }));
  all.push_back(of_sent("flush_context", "the reply to a flush has another context",
                        "pool.flush_own", Function::kBufferPoolFlushReply,
                        [](base::MutableBytes message) {
                          set_word(message, 2, word_of(message, 2) ^ 1);
                          return true;
                        }));
  all.push_back(of_sent("update_other", "an Update names elements that were not used",
                        "data.returned", Function::kBufferRecvPoolUpdate,
                        [](base::MutableBytes message) {
                          set_word(message, 4, word_of(message, 4) + 60);
                          return true;
                        }));
  all.push_back(of_sent("update_more", "an Update returns more elements than were used",
                        "data.returned", Function::kBufferRecvPoolUpdate,
                        [](base::MutableBytes message) {
                          set_word(message, 5, 1000);
                          return true;
                        }));
  all.push_back(of_sent("update_pool", "an Update names another pool", "data.returned",
                        Function::kBufferRecvPoolUpdate, [](base::MutableBytes message) {
                          set_word(message, 3, word_of(message, 3) + 1);
                          return true;
                        }));
}

// Whatever element idata names, the target takes the one that was written.
Rule element_of_address() {
  using messaging::PoolElementIdata;
  using messaging::PoolRecord;
  const auto pools = std::make_shared<std::vector<PoolRecord>>();
  return both(message_rule(To::kSuite, Function::kBufferRecvPool,
                           [pools](base::MutableBytes message) {
                             constexpr std::size_t kRecordsAt = 12;
                             for (std::size_t at = kRecordsAt;
                                  at + PoolRecord::kBytes <= message.size();
                                  at += PoolRecord::kBytes) {
                               pools->push_back(PoolRecord::load(&message[at]));
                             }
                             return true;
                           }),
              cell_rule(To::kTarget, [pools](const CellView& view, RelayBytes& cell) {
                if (view.header.op != Op::kRdmaWrite || !view.idata || !view.va_mh) return true;
                PoolElementIdata idata = PoolElementIdata::decode(*view.idata);
                for (const PoolRecord& pool : *pools) {
                  const std::uint64_t offset = view.va_mh->address.value - pool.address.value;
                  if (idata.pool != pool.pool.value || offset >= pool.total_bytes() ||
                      idata.element >= pool.elements) {
                    continue;
                  }
                  const auto element = static_cast<std::uint32_t>(offset / pool.element_bytes);
                  base::store_be(&cell[kIdataAt],
                                 PoolElementIdata::encode(pool.pool, element, idata.bytes).value());
                }
                return true;
              }));
}

void add_writes(std::vector<Fault>& all) {
  all.push_back(of_unit("idata_element_unchecked",
                        "idata may name another element than was written",
                        "data.idata_other_element", [] { return element_of_address(); }));
  const auto idata = [](const std::function<std::uint32_t(std::uint32_t)>& change) {
    return [change](const CellView& view, RelayBytes& cell) {
      if (view.idata) base::store_be(&cell[kIdataAt], change(*view.idata));
      return true;
    };
  };
  const std::string by = "frame.to_another_host";
  all.push_back(of_writes("idata_element", "idata counts elements from 1", by,
                          idata([](std::uint32_t word) { return word + 0x10000; })));
  all.push_back(of_writes("idata_size", "idata has the size without the virtio-net header", by,
                          idata([](std::uint32_t word) { return word - 12; })));
  all.push_back(of_writes("idata_pool", "idata names another pool", by,
                          idata([](std::uint32_t word) { return word + 0x1000000; })));
  all.push_back(of_writes("write_address", "a frame is written 64 bytes behind its element", by,
                          [](const CellView& view, RelayBytes& cell) {
                            if (view.va_mh) {
                              base::store_be(&cell[fabric::kMacHeaderBytes],
                                             view.va_mh->address.value + 64);
                            }
                            return true;
                          }));
  all.push_back(of_writes("write_handle", "a frame is written with another handle", by,
                          [](const CellView& view, RelayBytes& cell) {
                            if (view.va_mh) {
                              base::store_be(&cell[fabric::kMacHeaderBytes + 8],
                                             view.va_mh->handle.value + 1);
                            }
                            return true;
                          }));
  all.push_back(of_writes("write_length", "VA/MH has another length than the write", by,
                          [](const CellView& view, RelayBytes& cell) {
                            if (view.va_mh) {
                              base::store_be(&cell[fabric::kMacHeaderBytes + 12],
                                             view.va_mh->length + 4);
                            }
                            return true;
                          }));
  all.push_back(of_writes("frame_changed", "a byte of a frame changes on its way", by,
                          [](const CellView&, RelayBytes& cell) {
                            cell[cell.size() - 12] ^= std::byte{1};
                            return true;
                          }));
  all.push_back(of_writes("one_element", "every frame goes to element 0", "frame.no_element_twice",
                          idata([](std::uint32_t word) { return word & 0xFF00FFFF; })));
}

void add_cfg(std::vector<Fault>& all) {
  all.push_back(of_replies("echo_changed", "ECHO returns other data", "cfg.echo", CfgCode::kEcho,
                           [](base::MutableBytes message) {
                             if (message.size() > 30) message[30] ^= std::byte{1};
                             return true;
                           }));
  all.push_back(of_replies("digest_changed", "the digest is computed over other bytes",
                           "nic.digest", CfgCode::kGetState, [](base::MutableBytes message) {
                             message[40] ^= std::byte{1};
                             return true;
                           }));
  all.push_back(of_status("unknown_ok", "an unknown code gets status 0", "cfg.code_unknown", 1, 0));
  all.push_back(of_status("size_as_value", "a bad size gets status 3", "cfg.size_9", 2, 3));
  all.push_back(of_status("value_ok", "a bad value gets status 0", "cfg.mac_multicast", 3, 0));
  all.push_back(of_status("permission_ok", "START before INIT_NIC gets status 0",
                          "cfg.start_before_init", 4, 0));
  all.push_back(of_status("never_busy", "a limit of requests shows as status 6", "cfg.busy", 5, 6));
  all.push_back(
      of_status("version_ok", "another version gets status 0", "cfg.other_version", 7, 0));
  all.push_back(of_replies("features", "INIT_NIC grants what was not wanted", "nic.init_nic",
                           CfgCode::kInitNic, [](base::MutableBytes message) {
                             // Field 6, fixed64, little endian.
                             for (std::size_t i = 24; i + 8 < message.size(); ++i) {
                               if (message[i] == std::byte{0x31}) message[i + 1] |= std::byte{0x0E};
                             }
                             return true;
                           }));
  all.push_back(of_replies("mac_lost", "GET_MAC returns another address", "nic.set_mac",
                           CfgCode::kGetMac, [](base::MutableBytes message) {
                             if (message.size() > 31) message[30] ^= std::byte{0x10};
                             return true;
                           }));
  all.push_back({"no_announce", "ANNOUNCE is never sent", "nic.announce", false, [] {
                   return message_rule(To::kSuite, Function::kCfgUtilRequest,
                                       [](base::MutableBytes message) {
                                         set_word(message, 3, 0x00020007);
                                         return true;
                                       });
                 }});
}

}  // namespace

std::vector<Fault> message_faults() {
  std::vector<Fault> all;
  add_messages(all);
  add_pools(all);
  add_writes(all);
  add_cfg(all);
  return all;
}

}  // namespace splitnic::conformance
