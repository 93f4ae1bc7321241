#include "tests/support/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) give_up("pipe");
  return ends;
}

int left_of(steady_clock::time_point end) {
  const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
  return left.count() < 0 ? 0 : static_cast<int>(left.count());
}

// True when `fd` can be read before `end`.
bool wait_readable(int fd, steady_clock::time_point end) {
  pollfd entry{fd, POLLIN, 0};
  for (;;) {
    const int found = ::poll(&entry, 1, left_of(end));
    if (found > 0) return true;
    if (found == 0) return false;
    if (errno != EINTR) give_up("poll");
  }
}

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

}  // namespace

void ChildProcess::Voice::say(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) ::_exit(1);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void ChildProcess::Voice::wait_for_death() {
  for (;;) ::pause();
}

ChildProcess ChildProcess::fork(const std::function<int(Voice& voice)>& work) {
  const auto ends = make_pipe();
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) give_up("fork");
  if (pid == 0) {
    die_with_parent(parent);
    ::close(ends[0]);
    Voice voice(ends[1]);
    int code = 1;
    try {
      code = work(voice);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "child: %s\n", e.what());
    }
    std::fflush(nullptr);
    ::_exit(code);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

ChildProcess ChildProcess::run(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment) {
  const auto ends = make_pipe();
  const pid_t parent = ::getpid();
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  std::vector<char*> all;
  for (char** at = ::environ; *at != nullptr; ++at) all.push_back(*at);
  for (const std::string& entry : environment) all.push_back(const_cast<char*>(entry.c_str()));
  all.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) give_up("fork");
  if (pid == 0) {
    die_with_parent(parent);
    if (::dup2(ends[1], STDOUT_FILENO) < 0) ::_exit(127);
    ::execvpe(pointers[0], pointers.data(), all.data());
    std::perror(pointers[0]);
    ::_exit(127);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      voice_(std::exchange(other.voice_, -1)),
      said_(std::move(other.said_)),
      ended_(other.ended_) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !ended_) {
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (voice_ >= 0) ::close(voice_);
}

std::optional<std::string> ChildProcess::line(milliseconds patience) {
  const auto end = steady_clock::now() + patience;
  for (;;) {
    if (const auto at = said_.find('\n'); at != std::string::npos) {
      std::string line = said_.substr(0, at);
      said_.erase(0, at + 1);
      return line;
    }
    if (!wait_readable(voice_, end)) return std::nullopt;
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(voice_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    said_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool ChildProcess::wait_ready(milliseconds patience) { return line(patience) == "ready"; }

void ChildProcess::kill() {
  if (!ended_) ::kill(pid_, SIGKILL);
}

void ChildProcess::terminate() {
  if (!ended_) ::kill(pid_, SIGTERM);
}

void ChildProcess::stop() {
  if (ended_) return;
  ::kill(pid_, SIGSTOP);
  wait_stopped();
}

void ChildProcess::wait_stopped() {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED) < 0 && errno == EINTR) {
  }
}

void ChildProcess::resume() {
  if (!ended_) ::kill(pid_, SIGCONT);
}

std::optional<ExitStatus> ChildProcess::wait(milliseconds patience) {
  if (ended_) return ended_;
  const auto end = steady_clock::now() + patience;
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (watch < 0) give_up("pidfd_open");
  const bool over = wait_readable(watch, end);
  ::close(watch);
  if (!over) return std::nullopt;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) give_up("waitpid");
  }
  ended_.emplace();
  if (WIFEXITED(status)) ended_->code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended_->signal = WTERMSIG(status);
  return ended_;
}

}  // namespace semel::test
