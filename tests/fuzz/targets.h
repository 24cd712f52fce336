// The functions that are fuzzed: each takes any bytes and must return, whatever they are. A finding
// is a CHECK that fails, a sanitizer's report, or no end. Called by the libFuzzer programs (preset
// asan) and, over tests/fuzz/corpus, by fuzz_corpus_test in each preset with unit tests: all but
// release.
#pragma once

#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace splitnic::fuzz {

void cell_decode(base::Bytes in);      // a cell, as it stands and with its CRC made right
void flit_datagram(base::Bytes in);    // a datagram of flits; INIT and MGMT in them
void pushpush_decode(base::Bytes in);  // first byte: channel; the rest: a message
void frame_in(base::Bytes in);         // 4 bytes: MTU, offloads; the rest: vnet header and frame
void mr_table(base::Bytes in);         // 8 bytes an operation, on a memory table and its model
void vi_descriptor(base::Bytes in);    // first byte: queue; the rest: a descriptor of VIA
void hosts_file(base::Bytes in);       // the text of a hosts file
void handshake(base::Bytes in);        // a datagram to both ends of a keyed link, or steps
void record(base::Bytes in);           // steps of 4 bytes: a record, a place in it and a change
void replay_window(base::Bytes in);    // steps of 3 bytes: a counter, on a window and its model

// Those that drive state. The input is read as choices (tests/support/input.h): the first byte
// configures what is attacked, then each step is one byte and what it needs.
void responder(base::Bytes in);     // cells of a requester, to a queue pair
void requester(base::Bytes in);     // ACKs, NAKs and responses, to a queue pair
void datagrams(base::Bytes in);     // messages and results of RD, Raw datagrams, to a node
void port_init(base::Bytes in);     // INIT steps and flits of several addresses, to a port
void channel_pair(base::Bytes in);  // messages and RDMA writes of a connected host, to a pair
void cfg_util(base::Bytes in);      // CfgUtil requests of two hosts, to the NIC service
void connection(base::Bytes in);    // MGMT cells, to the connection manager
void switch_cells(base::Bytes in);  // cells and datagrams, to a switch and to an attached port
void subnet_smps(base::Bytes in);   // SMPs of two switches, to a switch that manages
void node_smps(base::Bytes in);     // SMPs of a switch, to an attached node
void shm_ring(base::Bytes in);      // the other process of a ring in shared memory

struct Target {
  std::string_view name;
  void (*run)(base::Bytes in);
};
inline constexpr Target kTargets[] = {{"cell_decode", cell_decode},
                                      {"flit_datagram", flit_datagram},
                                      {"pushpush_decode", pushpush_decode},
                                      {"frame_in", frame_in},
                                      {"mr_table", mr_table},
                                      {"vi_descriptor", vi_descriptor},
                                      {"hosts_file", hosts_file},
                                      {"handshake", handshake},
                                      {"record", record},
                                      {"replay_window", replay_window},
                                      {"responder", responder},
                                      {"requester", requester},
                                      {"datagrams", datagrams},
                                      {"port_init", port_init},
                                      {"channel_pair", channel_pair},
                                      {"cfg_util", cfg_util},
                                      {"connection", connection},
                                      {"switch_cells", switch_cells},
                                      {"subnet_smps", subnet_smps},
                                      {"node_smps", node_smps},
                                      {"shm_ring", shm_ring}};

}  // namespace splitnic::fuzz
