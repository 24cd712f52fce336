// The messages to the service manager's store of descriptors, and what the program takes of it.
#include "control/fd_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "tests/support/temp_folder.h"

namespace splitnic::control::fd_store_test {

using support::TempFolder;

// Sets variables of the environment, and clears them at the end.
class Environment {
 public:
  void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const char* name :
         {"NOTIFY_SOCKET", "FDSTORE", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) {
      ::unsetenv(name);
    }
  }
};

struct Message {
  std::string text;
  base::UniqueFd fd;
};

Message receive(int socket) {
  std::array<char, 128> text{};
  iovec io{text.data(), text.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  Message out;
  if (n < 0) return out;
  out.text.assign(text.data(), static_cast<std::size_t>(n));
  if (const cmsghdr* const head = CMSG_FIRSTHDR(&message)) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
    out.fd.reset(fd);
  }
  return out;
}

TEST(FdStoreTest, B_13_a_descriptor_goes_to_the_store_by_its_name) {
  const TempFolder folder;
  Environment environment;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder.path("notify");
  std::memcpy(address.sun_path, path.data(), path.size());
  const base::UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_FALSE(has_fd_store());
  environment.set("FDSTORE", "1");
  EXPECT_FALSE(has_fd_store()) << "there is no service manager";
  environment.set("NOTIFY_SOCKET", path);
  EXPECT_TRUE(has_fd_store());
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  base::UniqueFd reader(pipe[0]);
  base::UniqueFd writer(pipe[1]);
  store_fd(writer.get(), "tap");
  writer.reset();
  Message stored = receive(manager.get());
  EXPECT_EQ(stored.text, "FDSTORE=1\nFDNAME=tap");
  ASSERT_TRUE(stored.fd.valid());
  ASSERT_EQ(::write(stored.fd.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1) << "it is the one that was stored";
  forget_stored_fd("tap");
  const Message removed = receive(manager.get());
  EXPECT_EQ(removed.text, "FDSTOREREMOVE=1\nFDNAME=tap");
  EXPECT_FALSE(removed.fd.valid());
  for (const char* none : {"", "0", "x", "99999"}) {
    environment.set("FDSTORE", none);
    EXPECT_FALSE(has_fd_store()) << none;
  }
}

// Descriptors 3 and 4 are what the manager passes: a process of the test has them there.
template <class Check>
int in_service(Check&& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_RDWR);
    const int zero = ::open("/dev/zero", O_RDWR);
    const int high_null = ::fcntl(null, F_DUPFD, 100);
    const int high_zero = ::fcntl(zero, F_DUPFD, 100);
    ::dup2(high_null, 3);
    ::dup2(high_zero, 4);
    ::_exit(check() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

bool reads_zeros(int fd) {
  char byte = 1;
  return ::read(fd, &byte, 1) == 1 && byte == 0;
}

TEST(FdStoreTest, B_13_the_descriptor_of_that_name_is_taken_and_others_are_closed) {
  Environment environment;
  environment.set("LISTEN_FDS", "2");
  environment.set("LISTEN_FDNAMES", "other:tap");
  EXPECT_EQ(in_service([&] {
              environment.set("LISTEN_PID", std::to_string(::getpid()));
              const base::UniqueFd taken = take_stored_fd("tap");
              return taken.get() == 4 && reads_zeros(4) && ::fcntl(4, F_GETFD) == FD_CLOEXEC &&
                     ::fcntl(3, F_GETFD) < 0 && std::getenv("LISTEN_FDS") == nullptr &&
                     !take_stored_fd("tap").valid();
            }),
            0);
}

TEST(FdStoreTest, B_13_descriptors_for_another_process_or_of_other_names_are_not_taken) {
  Environment environment;
  environment.set("LISTEN_FDS", "2");
  environment.set("LISTEN_FDNAMES", "other:tap");
  environment.set("LISTEN_PID", "1");
  EXPECT_EQ(in_service([] { return !take_stored_fd("tap").valid() && reads_zeros(4); }), 0);
  EXPECT_EQ(in_service([&] {
              environment.set("LISTEN_PID", std::to_string(::getpid()));
              return !take_stored_fd("nic0").valid() && ::fcntl(4, F_GETFD) < 0;
            }),
            0);
  EXPECT_EQ(in_service([&] {  // more than are open, and fewer names
              environment.set("LISTEN_PID", std::to_string(::getpid()));
              environment.set("LISTEN_FDS", "40");
              environment.set("LISTEN_FDNAMES", "tap");
              return take_stored_fd("tap").get() == 3;
            }),
            0);
}

}  // namespace splitnic::control::fd_store_test
