#include "cli/service_manager.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <utility>

namespace semel::cli {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLookAtStop{100};
constexpr milliseconds kShortestInterval{1};
constexpr timeval kSendPatience{1, 0};

std::optional<std::int64_t> positive_number_in(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  if (error != std::errc() || *end != '\0' || number <= 0) return std::nullopt;
  return number;
}

// If WATCHDOG_PID names another process, this one must not send keep-alives.
std::optional<milliseconds> watchdog_interval() {
  const auto allowed = positive_number_in("WATCHDOG_USEC");
  const auto process = positive_number_in("WATCHDOG_PID");
  if (!allowed || (process && *process != ::getpid())) return std::nullopt;
  const auto half = std::chrono::duration_cast<milliseconds>(microseconds(*allowed) / 2);
  return std::max(half, kShortestInterval);
}

}  // namespace

ServiceManager::ServiceManager(std::function<bool()> stopping) : stopping_(std::move(stopping)) {
  const char* const address = std::getenv("NOTIFY_SOCKET");
  // The address is a path, or a name in the abstract namespace.
  if (address == nullptr || (address[0] != '/' && address[0] != '@')) return;
  if (std::strlen(address) >= sizeof(sockaddr_un{}.sun_path)) return;
  socket_ = system::Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_.valid()) return;
  // A slow manager is waited for, but not for long.
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendPatience, sizeof kSendPatience);
  address_ = address;
  watchdog_ = watchdog_interval();
  send("READY=1");
  thread_ = std::thread([this] { loop(); });
}

ServiceManager::~ServiceManager() {
  if (!thread_.joinable()) return;
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ServiceManager::loop() {
  auto alive_at = steady_clock::now();
  const system::MutexLock lock(mutex_);
  for (;;) {
    const auto now = steady_clock::now();
    if (!told_stopping_ && (ending_ || stopping_())) {
      send("STOPPING=1");
      told_stopping_ = true;
    }
    if (ending_) return;
    if (watchdog_ && now >= alive_at) {
      send("WATCHDOG=1");
      alive_at = now + *watchdog_;
    }
    const milliseconds until_alive =
        watchdog_ ? std::chrono::ceil<milliseconds>(alive_at - now) : kLookAtStop;
    wake_.wait_for(mutex_, std::min(until_alive, kLookAtStop),
                   [this]() SEMEL_REQUIRES(mutex_) { return ending_; });
  }
}

void ServiceManager::reloading(bool under_way) const noexcept {
  const system::MutexLock lock(mutex_);
  if (told_stopping_) return;
  if (!under_way) return send("READY=1");
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto since_boot = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  const auto passed = std::chrono::duration_cast<microseconds>(since_boot);
  constexpr std::string_view kReloading = "RELOADING=1\nMONOTONIC_USEC=";
  char text[64];
  char* const number = std::copy(kReloading.begin(), kReloading.end(), text);
  const auto written = std::to_chars(number, std::end(text), passed.count());
  send({text, static_cast<std::size_t>(written.ptr - text)});
}

void ServiceManager::send(std::string_view state) const noexcept {
  if (!socket_.valid()) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::copy(address_.begin(), address_.end(), to.sun_path);
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  (void)::sendto(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&to), size);
}

}  // namespace semel::cli
