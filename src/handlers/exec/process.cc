#include "handlers/exec/process.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace semel::handlers::exec {
namespace {

constexpr std::size_t kPiece = 64 << 10;
// Pieces of each stream in one turn, so that an endless one leaves time for the others.
constexpr int kPiecesEachTurn = 16;
constexpr std::size_t kTailKept = 4 << 10;

}  // namespace

void Tail::append(std::string_view piece) {
  if (piece.size() >= kTailKept) {
    text_ = piece.substr(piece.size() - kTailKept);
    return;
  }
  const std::size_t both = text_.size() + piece.size();
  if (both > kTailKept) text_.erase(0, both - kTailKept);
  text_ += piece;
}

Process::Process(Spawned spawned, BytesView input, std::size_t keep)
    : spawned_(std::move(spawned)), input_(input), keep_(keep) {
  feed();
}

Process::~Process() {
  signal_group(SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(spawned_.pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  for (system::Descriptor* each : {&pidfd_, &spawned_.in, &spawned_.out, &spawned_.err})
    close(*each);
}

bool Process::watch(int epoll, std::uint64_t id) {
  epoll_ = epoll;
  pidfd_ = system::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, spawned_.pid, 0)));
  bool all = pidfd_.valid();
  const auto add = [&](const system::Descriptor& fd, std::uint32_t events) {
    if (!fd.valid()) return;
    epoll_event event{};
    event.events = events;
    event.data.u64 = id;
    all = ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd.get(), &event) == 0 && all;
  };
  add(pidfd_, EPOLLIN);
  add(spawned_.in, EPOLLOUT);
  add(spawned_.out, EPOLLIN);
  add(spawned_.err, EPOLLIN);
  return all;
}

// Removes the descriptor from epoll explicitly: closing is not enough if another fork of this
// process has a copy.
void Process::close(system::Descriptor& fd) noexcept {
  if (!fd.valid()) return;
  if (epoll_ >= 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd.get(), nullptr);
  fd.close();
}

void Process::feed() {
  while (spawned_.in.valid() && !input_.empty()) {
    const ssize_t n = ::write(spawned_.in.get(), input_.data(), input_.size());
    if (n > 0) {
      input_.remove_prefix(static_cast<std::size_t>(n));
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && errno == EAGAIN) {
      return;
    } else {
      // The command does not read the rest of its input, which is allowed.
      input_ = {};
    }
  }
  end_input();
}

template <class Take>
void Process::drain(system::Descriptor& fd, Take take) {
  char piece[kPiece];
  for (int i = 0; i < kPiecesEachTurn && fd.valid(); ++i) {
    const ssize_t n = ::read(fd.get(), piece, sizeof piece);
    if (n > 0) {
      take(std::string_view(piece, static_cast<std::size_t>(n)));
    } else if (n < 0 && errno == EAGAIN) {
      return;
    } else if (n == 0 || errno != EINTR) {
      close(fd);
    }
  }
}

void Process::move_data() {
  feed();
  drain(spawned_.out, [&](std::string_view piece) {
    output_size_ += piece.size();
    output_ += piece.substr(0, keep_ - std::min(keep_, output_.size()));
  });
  drain(spawned_.err, [&](std::string_view piece) { errors_.append(piece); });
}

std::optional<ExitStatus> Process::ended() {
  siginfo_t info{};
  const int answer =
      ::waitid(P_PID, static_cast<id_t>(spawned_.pid), &info, WEXITED | WNOHANG | WNOWAIT);
  const bool lost = answer != 0 && errno == ECHILD;
  if (!lost && (answer != 0 || info.si_pid == 0)) return std::nullopt;
  close(pidfd_);
  if (lost) return ExitStatus{std::nullopt, 0};
  if (info.si_code == CLD_EXITED) return ExitStatus{info.si_status, 0};
  return ExitStatus{std::nullopt, info.si_status};
}

void Process::signal_group(int number) const noexcept {
  // While the leader is running or not yet collected, its number cannot be reused. If the host
  // program has collected it, nothing protects the number, so nothing is signalled.
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(spawned_.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return;
  }
  // The leader may have moved to another group.
  if (::getpgid(spawned_.pid) != spawned_.pid) ::kill(spawned_.pid, number);
  ::kill(-spawned_.pid, number);
}

}  // namespace semel::handlers::exec
