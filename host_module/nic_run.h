// One request of the user about the remote NIC, carried out on each queue of the host in turn: each
// has its own NIC service at the I/O unit. What the replies report is added up; what is changed is
// kept by each queue for its next connection. The open CfgUtil request holds the run, so it ends
// with its last callback. docs/nic_service.md Thread: that of the queue that has it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "control/config/nic_request.h"
#include "control/daemon/admin.h"
#include "host_module/host.h"
#include "host_module/nic_report.h"

namespace splitnic::host {

class NicRun : public std::enable_shared_from_this<NicRun> {
 public:
  using WithHost = std::function<void(Host&)>;
  // Calls the function in the thread of queue `queue`, 1 or more.
  using OnQueue = std::function<control::Posted(std::size_t queue, WithHost function)>;

  // Facts of the program.
  struct Program {
    std::string interface;  // its name
    std::string version;
    std::string unit;  // its address
    bool is_json = false;
  };

  // Runs in the thread of queue 0, whose host this is, and replies once.
  static void start(const control::NicRequest& request, Program program, Host& host,
                    OnQueue on_queue, control::ReplyFunction reply);

 private:
  using Kind = control::NicRequest::Kind;
  struct Step {
    messaging::CfgCode code{};
    std::string data{};
  };

  NicRun(const control::NicRequest& request, Program program, OnQueue on_queue,
         control::ReplyFunction reply);
  void run_on(Host& host);
  void next_queue();
  base::Status plan(Host& host);
  base::Status plan_setting(Host& host);
  std::optional<UserFilter> filter_of(Host& host) const;
  messaging::Coalescing coalescing_of(Host& host) const;
  messaging::QosMap qos_of(Host& host) const;
  void send_next(Host& host);
  void on_reply(Host& host, const Step& step, const messaging::CfgReply& got);
  // Returns the data of a request that is about a group of statistics.
  static std::string group_data(const std::string& group);
  bool report(const Step& step, const std::string& data);
  void report_known(Host& host);
  void report_coalescing(const messaging::Coalescing& coalescing);
  void add_levels(const std::string& of, std::span<const std::uint8_t> in_force,
                  std::span<const std::uint8_t> wanted);
  void keep(Host& host, bool is_done);
  void refuse(const Step& step, messaging::CfgStatus status);
  void fail(const std::string& why);
  void finish();

  const control::NicRequest request_;
  const Program program_;
  const OnQueue on_queue_;
  const control::ReplyFunction reply_;
  std::size_t queue_ = 0;
  std::uint64_t queues_up_ = 0;
  std::deque<Step> steps_;  // on this queue, still to be sent
  NicReport report_;
};

}  // namespace splitnic::host
