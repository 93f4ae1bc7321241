#include "cli/demo/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <semel/error.h>

namespace semel::cli::demo {

namespace {

constexpr int kCannotStart = 127;

[[noreturn]] void throw_process_error(const std::string& what) {
  throw SemelError({ErrorKind::kUnavailable, {}, what + ": " + std::strerror(errno), {}});
}

// Between fork and exec, only async-signal-safe calls are allowed, because the process had threads.
[[noreturn]] void become(const char* program, char* const* arguments, int input, int log,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotStart);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(input, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(program, arguments);
  ::_exit(kCannotStart);
}

}  // namespace

Process::Process(const ProcessSpec& spec) : log_(spec.log) {
  std::vector<std::string> words = spec.words;
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  std::array<int, 2> pipe = {-1, -1};
  if (spec.reads_stdin) {
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw_process_error("cannot make a pipe");
  } else {
    pipe[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) throw_process_error("cannot write " + log_);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(spec.program.c_str(), arguments.data(), pipe[0], log, parent);
  ::close(pipe[0]);
  ::close(log);
  input_ = pipe[1];
  if (pid_ < 0) throw_process_error("cannot start " + spec.words.front());
}

Process::~Process() {
  end_input();
  if (runs()) {
    ::kill(pid_, SIGKILL);
    collect(0);
  }
}

void Process::collect(int options) {
  if (status_ || pid_ < 0) return;
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(pid_, &status, options);
  } while (got < 0 && errno == EINTR);
  if (got == pid_) status_ = status;
}

bool Process::runs() {
  collect(WNOHANG);
  return pid_ > 0 && !status_;
}

bool Process::kill() {
  if (!runs()) return false;
  ::kill(pid_, SIGKILL);
  collect(0);
  return status_ && WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL;
}

std::optional<int> Process::drain() {
  if (runs()) ::kill(pid_, SIGTERM);
  const auto code = wait();
  // The signal arrived before the program installed its handler, or the program installs none; so
  // it had no message in progress.
  if (!code && WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGTERM) return 0;
  return code;
}

std::optional<int> Process::wait() {
  collect(0);
  if (!status_ || !WIFEXITED(*status_)) return std::nullopt;
  return WEXITSTATUS(*status_);
}

void Process::say(const std::string& line) {
  const std::string text = line + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(input_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_process_error("it does not read its input; its output is in " + log_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Process::end_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

}  // namespace semel::cli::demo
