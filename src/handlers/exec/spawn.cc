#include "handlers/exec/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace semel::handlers::exec {
namespace {

constexpr int kNotRun = 127;
constexpr int kFirstFree = STDERR_FILENO + 1;

struct Pipe {
  system::Descriptor read;
  system::Descriptor write;
};

// Moves the descriptor above stdin, stdout and stderr, which the child replaces.
system::Descriptor above_the_standard(system::Descriptor fd) {
  if (fd.get() >= kFirstFree) return fd;
  return system::Descriptor(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFree));
}

// Returns 0, or the errno of the failure.
int make_pipe(Pipe& made) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  made.read = above_the_standard(system::Descriptor(ends[0]));
  made.write = above_the_standard(system::Descriptor(ends[1]));
  return made.read.valid() && made.write.valid() ? 0 : errno;
}

void never_block(const system::Descriptor& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

struct ChildEnds {
  int in;
  int out;
  int err;
  int tell;  // closed by the program's start; else errno is written to it
  pid_t parent;
};

// Zeros mean SIG_DFL without flags. Uses the bare system call, because a sanitizer's sigaction
// would record the change in memory that the parent shares. The buffer is large enough for the
// kernel's struct on every machine.
void reset_signals() noexcept {
  constexpr std::size_t kRoom = 64;
  alignas(8) const unsigned char by_default[kRoom] = {};
  for (int number = 1; number < NSIG; ++number) {
    ::syscall(SYS_rt_sigaction, number, by_default, nullptr, NSIG / 8);
  }
}

// Runs in the child of vfork, which shares the parent's memory: nothing here may allocate or lock.
[[noreturn]] void become(const SpawnOrder& order, const ChildEnds& ends) noexcept {
  reset_signals();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the parent died before the line above, no signal reports that.
  if (const pid_t now = ::getppid(); now != ends.parent && now != 0) ::_exit(kNotRun);
  int problem = 0;
  if (::dup2(ends.in, STDIN_FILENO) < 0 || ::dup2(ends.out, STDOUT_FILENO) < 0 ||
      ::dup2(ends.err, STDERR_FILENO) < 0) {
    problem = errno;
  } else {
    // Our descriptors are closed by exec anyway; those of a library may not be.
    ::syscall(SYS_close_range, kFirstFree, ~0U, CLOSE_RANGE_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(order.program, order.arguments, order.environment);
    problem = errno;
  }
  [[maybe_unused]] const auto told = ::write(ends.tell, &problem, sizeof problem);
  ::_exit(kNotRun);
}

// In a frame of its own, because the child of vfork runs on this same stack.
[[gnu::noinline]] pid_t start(const SpawnOrder& order, const ChildEnds& ends) {
  const pid_t pid = ::vfork();
  if (pid == 0) become(order, ends);
  return pid;
}

}  // namespace

tl::expected<Spawned, int> spawn(const SpawnOrder& order) {
  Pipe in;
  Pipe out;
  Pipe err;
  Pipe tell;
  for (Pipe* each : {&in, &out, &err, &tell}) {
    if (const int problem = make_pipe(*each)) return tl::unexpected(problem);
  }
  const ChildEnds ends{in.read.get(), out.write.get(), err.write.get(), tell.write.get(),
                       ::getpid()};
  Spawned made;
  made.pid = start(order, ends);
  if (made.pid < 0) return tl::unexpected(errno);
  tell.write.close();
  int problem = 0;
  ssize_t told = 0;
  while ((told = ::read(tell.read.get(), &problem, sizeof problem)) < 0 && errno == EINTR) {
  }
  if (told == static_cast<ssize_t>(sizeof problem)) {
    while (::waitpid(made.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return tl::unexpected(problem);
  }
  made.in = std::move(in.write);
  made.out = std::move(out.read);
  made.err = std::move(err.read);
  for (const system::Descriptor* each : {&made.in, &made.out, &made.err}) never_block(*each);
  return made;
}

}  // namespace semel::handlers::exec
