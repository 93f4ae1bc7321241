// semel run under a service manager that wants to be told.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include "system/descriptor.h"
#include "tests/cli/program.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

// The other end of NOTIFY_SOCKET, as systemd has it.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), address.sun_path);
    const auto* const to = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), to, sizeof address), 0) << path;
    const timeval patience{30, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  // The next message; "(none)" where none comes.
  std::string next() const {
    char buffer[256];
    const auto got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    return got < 0 ? "(none)" : std::string(buffer, static_cast<std::size_t>(got));
  }

 private:
  const system::Descriptor socket_;
};

TEST(ServiceManager, IsToldOfBeginLifeAndEnd) {
  const TestBed bed(payments(kQueue));
  const TempDir folder;
  const NotifySocket manager(folder.file("notify"));
  StartOptions options;
  options.environment = {"NOTIFY_SOCKET=" + folder.file("notify"), "WATCHDOG_USEC=100000"};
  Program run({"run", bed.config()}, options);
  EXPECT_EQ(manager.next(), "READY=1") << run.err();
  EXPECT_EQ(manager.next(), "WATCHDOG=1") << run.err();
  EXPECT_EQ(manager.next(), "WATCHDOG=1") << run.err();
  run.signal(SIGTERM);
  std::string last = manager.next();
  while (last == "WATCHDOG=1") last = manager.next();
  EXPECT_EQ(last, "STOPPING=1");
  EXPECT_EQ(run.wait().code, 0);
}

TEST(ServiceManager, IsToldOfAReload) {
  const TestBed bed(payments(kQueue));
  const TempDir folder;
  const NotifySocket manager(folder.file("notify"));
  StartOptions options;
  options.environment = {"NOTIFY_SOCKET=" + folder.file("notify")};
  Program run({"run", bed.config()}, options);
  EXPECT_EQ(manager.next(), "READY=1") << run.err();
  run.signal(SIGHUP);
  const std::string begins = manager.next();
  EXPECT_EQ(begins.find("RELOADING=1\nMONOTONIC_USEC="), 0U) << begins;
  EXPECT_GT(std::atoll(begins.substr(begins.rfind('=') + 1).c_str()), 0) << begins;
  EXPECT_EQ(manager.next(), "READY=1");
  write_file(bed.config(), "consumers: wrong");
  run.signal(SIGHUP);
  EXPECT_EQ(manager.next().find("RELOADING=1\n"), 0U);
  EXPECT_EQ(manager.next(), "READY=1") << "a refused one is over too";
  run.signal(SIGTERM);
  EXPECT_EQ(manager.next(), "STOPPING=1");
  EXPECT_EQ(run.wait().code, 0);
}

TEST(ServiceManager, SignsOfLifeOfAnotherProcessAreNotOurs) {
  const TestBed bed(payments(kQueue));
  const TempDir folder;
  const NotifySocket manager(folder.file("notify"));
  StartOptions options;
  options.environment = {"NOTIFY_SOCKET=" + folder.file("notify"), "WATCHDOG_USEC=1000",
                         fmt::format("WATCHDOG_PID={}", ::getpid())};
  const Ran ran = bed.semel({"run", "--once"}, options);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(manager.next(), "READY=1");
  EXPECT_EQ(manager.next(), "STOPPING=1");
}

TEST(ServiceManager, ARunThatDoesNotBeginIsNotReady) {
  const TestBed bed(payments(kQueue));
  const TempDir folder;
  const NotifySocket manager(folder.file("notify"));
  StartOptions options;
  options.environment = {"NOTIFY_SOCKET=" + folder.file("notify")};
  const Words run{"run", "--once"};
  Words fails = run;
  fails.insert(fails.end(), {"--set", "store.sqlite.path=/none/semel.db"});
  EXPECT_NE(bed.semel(fails, options).code, 0);
  EXPECT_EQ(bed.semel(run, options).code, 0);
  EXPECT_EQ(manager.next(), "READY=1");
  EXPECT_EQ(manager.next(), "STOPPING=1") << "the first run sent nothing";
}

TEST(ServiceManager, AnAddressThatIsNoneChangesNothing) {
  const TestBed bed(payments(kQueue));
  StartOptions options;
  for (const char* address : {"vsock:2:1", "/none/notify", ""}) {
    options.environment = {std::string("NOTIFY_SOCKET=") + address};
    EXPECT_EQ(bed.semel({"run", "--once"}, options).code, 0) << address;
  }
}

}  // namespace
}  // namespace semel::test
