// Capture files instead of an interface, without privileges: frames are read from one pcap (or
// pcapng) file, and written frames go to another as they would leave on a LAN, segmented and with
// finished checksums. The port is promiscuous from the start, because the addresses in a capture
// are not those of the hosts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "lan_bridge/frame_port.h"
#include "lan_bridge/ports/frame_splitter.h"

struct pcap;
struct pcap_dumper;
struct pcap_pkthdr;

namespace splitnic::lan {

struct FileOptions {
  std::string in = {};   // empty: no input
  std::string out = {};  // empty: written frames are only counted
  bool loop = false;     // restart after the last frame
  double speed = 0;      // 0: as fast as it is read; 1: as captured; 10: ten times as fast
  std::uint32_t mtu = 1500;
  MacAddress mac = {0x02, 0, 0, 0, 0, 0x01};
};

class FilePort final : public FramePort {
 public:
  // `clock` paces the input; it outlives the port.
  static base::Result<std::unique_ptr<FilePort>> open(const FileOptions& options,
                                                      base::Clock& clock);

  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) override;
  std::size_t write(std::span<const base::Bytes> frames) override;
  int fd() const override {
    return timer_.get();
  }  // with a speed: readable when the next frame is due
  bool input_ended() const override { return !in_ && !splitter_.is_busy(); }
  bool input_waits() const override { return true; }
  PortState state() override { return state_; }
  base::Status set_mtu(std::uint32_t mtu) override;
  base::Status set_mac(const MacAddress& mac) override;
  base::Status set_promiscuous(bool on) override;
  base::Status set_carrier(bool /*up*/) override { return {}; }
  std::uint32_t offloads() const override { return splitter_.offloads; }
  base::Status set_offloads(std::uint32_t mask) override;
  std::string name() const override;
  void set_frame_bytes_max(std::size_t bytes) override { splitter_.frame_bytes_max = bytes; }
  void visit_counters(const base::CounterVisitor& visitor) const override;

 private:
  struct Closer {
    void operator()(pcap* handle) const;
    void operator()(pcap_dumper* dumper) const;
  };

  FilePort(const FileOptions& options, base::Clock& clock);
  base::Status open_in();
  base::Status open_out();
  bool peek();
  bool is_due();
  void begin_pass();
  bool take(ReadSink& sink, base::MutableBytes room);
  void dump(base::Bytes frame);

  FileOptions options_;
  base::Clock& clock_;
  PortState state_;
  base::UniqueFd in_file_;
  std::unique_ptr<pcap, Closer> in_;  // null: replayed to its end
  std::unique_ptr<pcap, Closer> out_format_;
  std::unique_ptr<pcap_dumper, Closer> out_;
  base::UniqueFd timer_;
  const pcap_pkthdr* next_header_ = nullptr;
  const unsigned char* next_bytes_ = nullptr;
  std::uint64_t frames_in_pass_ = 0;
  base::Time pass_begin_{};
  base::Duration first_stamp_{};
  base::Counters<PortCounter> counters_;
  ReadSplitter splitter_{counters_};
  WriteSplitter software_gso_{counters_};
};

}  // namespace splitnic::lan
