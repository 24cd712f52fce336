#include "control/sandbox/allowed_calls.h"

#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <initializer_list>

namespace splitnic::control::sandbox {
namespace {

constexpr std::uint32_t kWhole = ~0U;
constexpr std::uint32_t kSocketType = 0xF;  // without SOCK_NONBLOCK and SOCK_CLOEXEC

void add(std::vector<AllowedCall>& to, std::initializer_list<long> numbers) {
  for (const long number : numbers) to.push_back({number});
}

// Of IP only UDP. Netlink: 0 is routes, links and addresses.
AllowedCall socket_call() {
  return {SYS_socket,
          {{0, kWhole, {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}},
           {1, kSocketType, {SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}},
           {2, kWhole, {0, IPPROTO_UDP}}}};
}

// TAP: carrier, offloads, queues, where it is, and the end. Interfaces: speed and index, and flags,
// by which libpcap finds out whether one that went down exists. Asio: no blocking.
AllowedCall ioctl_call() {
  return {SYS_ioctl,
          {{1,
            kWhole,
            {TUNSETCARRIER, TUNSETOFFLOAD, TUNSETQUEUE, TUNSETPERSIST, TUNGETIFF, TUNGETDEVNETNS,
             SIOCETHTOOL, SIOCGIFINDEX, SIOCGIFFLAGS, FIONBIO}}}};
}

// To netlink only: whatever its length is by then, no packet socket moves to another interface.
AllowedCall bind_call() { return {SYS_bind, {{2, kWhole, {sizeof(sockaddr_nl)}}}}; }

AllowedCall not_executable(long number) { return {number, {{2, PROT_EXEC, {0}}}}; }

}  // namespace

std::vector<AllowedCall> allowed_calls(bool opens_files, bool accepts_shm) {
  std::vector<AllowedCall> out = {socket_call(), bind_call(), ioctl_call(),
                                  not_executable(SYS_mmap), not_executable(SYS_mprotect)};
  // Frames and datagrams, the control socket, netlink, the log.
  add(out, {SYS_read, SYS_write, SYS_recvmsg, SYS_recvfrom, SYS_sendmsg, SYS_sendmmsg, SYS_sendto,
            SYS_connect, SYS_getsockname, SYS_getsockopt, SYS_setsockopt, SYS_accept, SYS_fcntl,
            SYS_close, SYS_dup3, SYS_newfstatat, SYS_lseek, SYS_ftruncate});
  // Waiting.
  add(out, {SYS_ppoll, SYS_epoll_ctl, SYS_timerfd_settime, SYS_sched_yield, SYS_clock_gettime});
  // Memory, locks, signals, the end of threads. Without mremap realloc() copies.
  add(out, {SYS_munmap, SYS_madvise, SYS_brk, SYS_futex, SYS_gettid, SYS_getrandom,
            SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_exit, SYS_exit_group});
#if defined(__x86_64__)
  add(out, {SYS_poll, SYS_epoll_wait, SYS_unlink});
#else
  add(out, {SYS_epoll_pwait, SYS_unlinkat});
#endif
  if (opens_files) {
#if defined(__x86_64__)
    add(out, {SYS_openat, SYS_rename});
#else
    add(out, {SYS_openat, SYS_renameat});
#endif
  }
  if (accepts_shm) out.push_back({SYS_memfd_create});
  return out;
}

}  // namespace splitnic::control::sandbox
