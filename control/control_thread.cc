#include "control/control_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "base/event.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "control/socket/server.h"

namespace splitnic::control {

namespace asio = boost::asio;

class ControlThread::Impl {
 public:
  Impl(CommandQueue& queue, RequestHandler handler, ReloadHandler on_reload)
      : queue_(queue),
        handler_(std::make_shared<RequestHandler>(std::move(handler))),
        on_reload_(std::move(on_reload)),
        stop_event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        signals_(io_) {
    if (!stop_event_.valid()) {
      throw std::system_error(errno, std::generic_category(), "making the event of a stop");
    }
  }
  ~Impl() {
    queue_.close();  // its requests get their replies now
    if (!thread_.joinable()) return;
    asio::post(io_, [this] {
      if (server_) server_->stop();
      if (metrics_) metrics_->stop();
      io_.stop();
    });
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  base::Status open(const std::string& path) {
    boost::system::error_code error;
    signals_.add(SIGTERM, error);
    if (!error) signals_.add(SIGINT, error);
    if (!error && on_reload_) signals_.add(SIGHUP, error);
    if (error) return base::Error(error.message()).within("handling SIGTERM, SIGINT and SIGHUP");
    auto server = Server::open(io_, path, [this](Request request, const ReplyFunction& reply) {
      forward(std::move(request), reply);
    });
    if (!server) return server.error();
    server_ = *std::move(server);
    wait_for_signal();
    return {};
  }
  base::Status serve_metrics(const MetricsAddress& address, SnapshotSource source) {
    auto opened = MetricsServer::open(io_, address, std::move(source));
    if (!opened) return opened.error().within("--metrics");
    metrics_ = *std::move(opened);
    return {};
  }
  base::Status start(std::function<void()> first) {
    try {
      thread_ = std::thread([this, first = std::move(first)] {
        first();
        io_.run();
      });
    } catch (const std::exception& error) {
      return base::Error("creating the control thread: " + std::string(error.what()) +
                         ": raise the limit of threads");
    }
    return {};
  }

  void serve_for(base::Duration time) {
    const auto until = std::chrono::steady_clock::now() + time;
    io_.restart();
    while (!stop_requested() && io_.run_one_until(until) > 0) {
    }
  }

  void post(std::function<void()> function) { asio::post(io_, std::move(function)); }
  bool stop_requested() const { return stop_.load(std::memory_order_acquire); }
  int stop_fd() const { return stop_event_.get(); }
  void request_stop() {
    stop_.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_event_.get(), &one, sizeof(one));
  }

 private:
  void forward(Request request, const ReplyFunction& reply) {
    if (on_reload_ && request.command == Command::kReload) return on_reload_(reply);
    const bool is_posted = queue_.post(
        [handler = handler_, request = std::move(request), reply = ReplyFunction(reply)]() mutable {
          (*handler)(std::move(request), std::move(reply));
        });
    if (!is_posted) reply({ReplyStatus::kFailed, "busy or stopping: try again"});
  }
  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code error, int number) {
      if (error) return;
      if (number == SIGHUP) {
        on_reload_([](const Reply&) {});  // the handler logs how it went
      } else {
        base::log_info({base::EventKind::kStopping},
                       std::string("stopping: ") + (number == SIGINT ? "SIGINT" : "SIGTERM"));
        request_stop();
      }
      wait_for_signal();
    });
  }

  CommandQueue& queue_;
  std::shared_ptr<RequestHandler> handler_;
  const ReloadHandler on_reload_;
  std::atomic<bool> stop_{false};
  base::UniqueFd stop_event_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::signal_set signals_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<MetricsServer> metrics_;
  std::thread thread_;
};

base::Result<std::unique_ptr<ControlThread>> ControlThread::open(const std::string& socket_path,
                                                                 CommandQueue& data_queue,
                                                                 RequestHandler handler,
                                                                 ReloadHandler on_reload) {
  auto impl = std::make_unique<Impl>(data_queue, std::move(handler), std::move(on_reload));
  if (auto opened = impl->open(socket_path); !opened) return opened.error();
  return std::unique_ptr<ControlThread>(new ControlThread(std::move(impl)));
}

ControlThread::ControlThread(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlThread::~ControlThread() = default;
base::Status ControlThread::serve_metrics(const MetricsAddress& address, SnapshotSource source) {
  return impl_->serve_metrics(address, std::move(source));
}
base::Status ControlThread::start(std::function<void()> first) {
  return impl_->start(std::move(first));
}
void ControlThread::serve_for(base::Duration time) { impl_->serve_for(time); }
void ControlThread::post(std::function<void()> function) { impl_->post(std::move(function)); }
bool ControlThread::stop_requested() const { return impl_->stop_requested(); }
int ControlThread::stop_fd() const { return impl_->stop_fd(); }
void ControlThread::request_stop() { impl_->request_stop(); }

}  // namespace splitnic::control
