// Messages to a service manager when a reload and a stop come together.
#include "cli/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "system/descriptor.h"
#include "tests/support/set_variable.h"
#include "tests/support/temp_dir.h"

namespace semel::cli {
namespace {

TEST(ServiceManagerOfAStop, IsToldOfNoReloadAfterIt) {
  const test::TempDir folder;
  const std::string path = folder.file("notify");
  const system::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const timeval patience{30, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const auto next = [&](int flags) {
    char buffer[256];
    const auto got = ::recv(socket.get(), buffer, sizeof buffer, flags);
    return got < 0 ? "(none)" : std::string(buffer, static_cast<std::size_t>(got));
  };
  const test::SetVariable where("NOTIFY_SOCKET", path);
  std::atomic<bool> stops{false};
  {
    const ServiceManager manager([&] { return stops.load(); });
    EXPECT_EQ(next(0), "READY=1");
    manager.reloading(true);
    EXPECT_EQ(next(0).find("RELOADING=1\n"), 0U);
    stops = true;
    EXPECT_EQ(next(0), "STOPPING=1");
    manager.reloading(false);
    manager.reloading(true);
  }
  EXPECT_EQ(next(MSG_DONTWAIT), "(none)");
}

}  // namespace
}  // namespace semel::cli
