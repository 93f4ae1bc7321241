#include "tests/support/server_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "system/descriptor.h"
#include "tests/support/must.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEndPatience{20'000};

// All that the child needs, made before the fork: after it only system calls are safe.
struct Plan {
  explicit Plan(const ServerCommand& command) : command(command) {
    const char* path = std::getenv("PATH");
    entries = {std::string("PATH=") + (path != nullptr ? path : "/usr/sbin:/usr/bin:/sbin:/bin"),
               "LC_ALL=C", "HOME=" + command.folder,
               // Not the shared one: MariaDB removes other programs' files there at its start.
               "TMPDIR=" + command.folder};
    for (const std::string& argument : command.arguments) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    for (const std::string& entry : entries) {
      environment.push_back(const_cast<char*>(entry.c_str()));
    }
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
  }

  const ServerCommand& command;
  std::vector<std::string> entries;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  pid_t parent = ::getpid();
};

[[noreturn]] void become(const Plan& plan) {
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::setsid();
  const int in = ::open("/dev/null", O_RDONLY);
  const int out = ::open(plan.command.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (in < 0 || out < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0) {
    ::_exit(126);
  }
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  if (plan.command.group && (::setgroups(0, nullptr) != 0 || ::setgid(*plan.command.group) != 0)) {
    ::perror("setgid");
    ::_exit(126);
  }
  if (plan.command.user && ::setuid(*plan.command.user) != 0) {
    ::perror("setuid");
    ::_exit(126);
  }
  // Not earlier: changing the user clears it.
  ::prctl(PR_SET_PDEATHSIG, plan.command.at_parents_death);
  if (::getppid() != plan.parent) ::_exit(126);
  if (::chdir(plan.command.folder.c_str()) != 0) {
    ::perror(plan.command.folder.c_str());
    ::_exit(126);
  }
  ::execve(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  ::perror(plan.arguments[0]);
  ::_exit(127);
}

// The parent of each process there is.
std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  DIR* folder = ::opendir("/proc");
  must(folder != nullptr, "/proc");
  while (const dirent* entry = ::readdir(folder)) {
    const auto pid = static_cast<pid_t>(std::atoi(entry->d_name));
    if (pid <= 0) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    std::getline(file, stat);
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(stat.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    if (rest >> state >> parent) children.emplace(parent, pid);
  }
  ::closedir(folder);
  return children;
}

std::vector<pid_t> all_below(pid_t root) {
  const auto children = children_by_parent();
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto at = first; at != last; ++at) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

// Kills processes that are not children of this one, and waits until they have ended.
void kill_and_wait(const std::vector<pid_t>& pids) {
  std::vector<system::Descriptor> watches;
  for (const pid_t pid : pids) {
    system::Descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!watch.valid()) continue;  // gone already
    ::kill(pid, SIGKILL);
    watches.push_back(std::move(watch));
  }
  for (const auto& watch : watches) {
    pollfd end{watch.get(), POLLIN, 0};
    while (::poll(&end, 1, static_cast<int>(kEndPatience.count())) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace

std::optional<int> run_to_end(const ServerCommand& command) {
  ServerProcess process(command);
  while (!process.wait(kEndPatience)) {
  }
  const int status = *process.status();
  if (!WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

ServerProcess::ServerProcess(const ServerCommand& command) {
  thread_ = std::thread([this, command] { live(command); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pid_ != 0; });
}

ServerProcess::~ServerProcess() {
  kill();
  thread_.join();
}

void ServerProcess::live(const ServerCommand& command) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  const Plan plan(command);
  const pid_t pid = ::fork();
  must(pid >= 0, "fork");
  if (pid == 0) become(plan);
  {
    const std::scoped_lock lock(mutex_);
    pid_ = pid;
  }
  changed_.notify_all();
  // It is reaped only under the mutex: until then its pid cannot be reused.
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::scoped_lock lock(mutex_);
  int status = 0;
  must(::waitpid(pid, &status, 0) == pid, "waitpid");
  status_ = status;
  changed_.notify_all();
}

bool ServerProcess::running() const { return !status(); }

std::optional<int> ServerProcess::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void ServerProcess::signal(int number) {
  const std::scoped_lock lock(mutex_);
  if (!status_) ::kill(pid_, number);
}

bool ServerProcess::wait(milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return status_.has_value(); });
}

void ServerProcess::kill() {
  std::vector<pid_t> below;
  {
    const std::scoped_lock lock(mutex_);
    if (status_) return;
    ::kill(pid_, SIGSTOP);
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    below = all_below(pid_);
    ::kill(pid_, SIGKILL);
  }
  kill_and_wait(below);
  while (!wait(kEndPatience)) {
  }
}

}  // namespace semel::test
