#include "tools/monitor_command.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "control/config/parse_outcome.h"
#include "control/config/values.h"
#include "control/report/json.h"
#include "control/socket/client.h"
#include "control/socket/event_client.h"
#include "control/socket/unix_socket.h"
#include "tools/commands.h"

namespace splitnic::tools {
namespace {

constexpr std::chrono::milliseconds kLookAgain{500};

// A program that is followed, or was: its name is that of its control socket.
struct Followed {
  std::unique_ptr<control::EventClient> client;
  bool has_ended = false;
  std::string why_ended;
  // Of the newest event that was printed: a new connection to the same program sends it again.
  std::uint64_t number = 0;
  std::chrono::system_clock::time_point at{};
};

class Monitor {
 public:
  Monitor(std::string socket, bool is_json) : socket_(std::move(socket)), is_json_(is_json) {}

  // An error: there is no program to follow.
  base::Status begin(std::uint32_t past) {
    if (auto looked = look(past); !looked) return looked;
    signals_.async_wait([this](boost::system::error_code, int) { io_.stop(); });
    look_again();
    return {};
  }
  // Returns the exit status.
  int run() {
    io_.run();
    return status_;
  }

 private:
  std::vector<std::string> paths() const {
    if (socket_.empty()) return control::sockets_in(control::kControlFolder);
    return {control::socket_path(control::kControlFolder, socket_)};
  }
  // Follows every program that is not followed yet. An error: of the last one, if there is none.
  base::Status look(std::uint32_t past) {
    base::Status last = base::Error("no control socket in " + std::string(control::kControlFolder) +
                                    ": start splitnic-iou or splitnic-host, or name it with "
                                    "--control");
    for (const std::string& path : paths()) {
      Followed& program = followed_[path];
      if (program.has_ended) program.client.reset();
      if (!program.client) last = follow(path, program, past);
      if (program.client) last = base::Status();
    }
    const bool has_any = std::ranges::any_of(
        followed_, [](const auto& entry) { return entry.second.client != nullptr; });
    return has_any ? base::Status() : last;
  }
  base::Status follow(const std::string& path, Followed& program, std::uint32_t past) {
    auto opened = control::EventClient::open(
        io_, path, past,
        {[this, path](const control::SentEvents& sent) { print(path, sent); },
         [this, path](const base::Error& why) { on_end(path, why); }});
    if (!opened) return opened.error();
    program.client = *std::move(opened);
    program.has_ended = false;
    return {};
  }
  // A program that was started meanwhile has all of its events since then.
  void look_again() {
    timer_.expires_after(kLookAgain);
    timer_.async_wait([this](boost::system::error_code cancelled) {
      if (cancelled) return;
      static_cast<void>(look(control::kPastEventsMax));
      look_again();
    });
  }
  void on_end(const std::string& path, const base::Error& why) {
    Followed& program = followed_[path];
    program.has_ended = true;  // its client is in a call
    if (std::exchange(program.why_ended, why.text()) == why.text()) return;
    std::fprintf(stderr, "splitnic: %s; waiting\n", why.text().c_str());
  }
  void print(const std::string& path, const control::SentEvents& sent) {
    const std::string program = std::filesystem::path(path).stem();
    Followed& followed = followed_[path];
    if (sent.lost > 0) print_lost(program, sent.lost);
    for (const base::Event& event : sent.events) {
      if (event.number <= followed.number && event.at <= followed.at) continue;
      followed.number = event.number;
      followed.at = event.at;
      followed.why_ended.clear();
      print(program, event);
    }
    if (std::fflush(stdout) == 0) return;
    status_ = fail("cannot write to the standard output");
    io_.stop();
  }
  void print_lost(const std::string& program, std::uint64_t lost) const {
    if (is_json_) {
      const boost::json::object line{{"program", control::json_string(program)}, {"lost", lost}};
      std::printf("%s\n", boost::json::serialize(line).c_str());
    } else {
      std::printf("%s: %llu events lost: they came faster than they were read\n", program.c_str(),
                  static_cast<unsigned long long>(lost));
    }
  }
  void print(const std::string& program, const base::Event& event) const {
    if (is_json_) {
      boost::json::object line{{"program", control::json_string(program)}};
      const auto fields = control::event_json(event, control::EventTime::kText);
      for (const auto& field : fields) line.insert(field);
      std::printf("%s\n", boost::json::serialize(line).c_str());
    } else {
      std::printf("%s\n", control::event_text(program, event).c_str());
    }
  }

  const std::string socket_;
  const bool is_json_;
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_{io_, SIGINT, SIGTERM};
  boost::asio::steady_timer timer_{io_};
  std::map<std::string, Followed> followed_;  // by path
  int status_ = control::kExitOk;
};

}  // namespace

CLI::App* add_monitor(CLI::App& app, MonitorArguments& into) {
  auto* monitor = app.add_subcommand(
      "monitor", "Events as they happen, of every program here: peers, links, carrier, refusals");
  monitor
      ->add_option("--past", into.past,
                   control::with_default("Begin with the newest N events of the past", into.past))
      ->type_name("N");
  monitor->add_flag("-j,--json", into.json, "As JSON, one object per line");
  return monitor;
}

int run_monitor(const std::string& socket, const MonitorArguments& typed) {
  const auto past = control::number_option("--past", typed.past, 0, control::kPastEventsMax);
  if (!past) return bad_usage(past.error().text());
  Monitor monitor(socket, typed.json);
  if (const auto begun = monitor.begin(*past); !begun) return fail(begun.error().text());
  return monitor.run();
}

}  // namespace splitnic::tools
