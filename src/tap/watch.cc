#include "tap/watch.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace semel::tap {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// If the system does not report new files, one may go unnoticed for this long.
constexpr milliseconds kLookEvery{1'000};
constexpr std::size_t kReadAtATime = 64 << 10;

void clear(int inotify) noexcept {
  alignas(struct inotify_event) std::array<char, 16 << 10> events;
  while (::read(inotify, events.data(), events.size()) > 0) {
  }
}

}  // namespace

Watch::Watch(std::string database, Request request)
    : database_(std::move(database)),
      request_(std::move(request)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

std::size_t Watch::attached() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      runs_, [](const auto& run) { return run->hello && run->hello->has_consumer; }));
}

bool Watch::nobody() const noexcept {
  return std::ranges::all_of(
      runs_, [](const auto& run) { return run->hello && !run->hello->has_consumer; });
}

Result<void> Watch::step(std::span<pollfd> others, milliseconds patience, const See& see) {
  for (pollfd& other : others) other.revents = 0;
  if (steady_clock::now() >= next_look_) {
    if (auto looked = look(see); !looked) return looked;
  }
  std::vector<pollfd> fds(others.begin(), others.end());
  fds.push_back({inotify_.get(), POLLIN, 0});
  for (const auto& run : runs_) fds.push_back({run->socket.get(), POLLIN, 0});
  const auto until_look = std::chrono::ceil<milliseconds>(next_look_ - steady_clock::now());
  const auto wait = std::clamp(until_look, milliseconds{0}, patience);
  if (::poll(fds.data(), fds.size(), static_cast<int>(wait.count())) <= 0) return {};
  for (std::size_t i = 0; i < others.size(); ++i) others[i].revents = fds[i].revents;
  if (fds[others.size()].revents != 0) {
    clear(inotify_.get());
    next_look_ = {};
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (fds[others.size() + 1 + i].revents != 0 && !read(*runs_[i], see)) break;
  }
  std::erase_if(runs_, [](const auto& run) { return run->ended; });
  return {};
}

Result<void> Watch::look(const See& see) {
  next_look_ = steady_clock::now() + kLookEvery;
  const auto place = SocketDirectory::beside(database_);
  if (!place) return failure(place.error());
  watch_folder(*place);
  for (const std::string& name : place->names()) {
    const bool known =
        std::ranges::any_of(runs_, [&](const auto& run) { return run->name == name; });
    if (!known) reach(*place, name, see);
  }
  return {};
}

// Called before the names are read, so that no new one is missed in between. Adding the same
// directory twice watches it once.
void Watch::watch_folder(const SocketDirectory& place) {
  if (!inotify_.valid()) return;
  (void)::inotify_add_watch(inotify_.get(), place.folder().c_str(), IN_MOVED_TO | IN_ONLYDIR);
}

void Watch::reach(const SocketDirectory& place, const std::string& name, const See& see) {
  SocketDirectory::Connected connected = place.connect(name);
  if (connected.reach == SocketDirectory::Reach::kForbidden) {
    if (!told_.insert(name).second) return;
    see(Unwatchable{
        {ErrorKind::kUnavailable, "R291",
         fmt::format("{}/{}: the run behind it belongs to another user", place.folder(), name),
         "run semel tap as the user who runs semel run"}});
    return;
  }
  if (connected.reach != SocketDirectory::Reach::kThere) return;
  // If it is refused immediately, the next read says why.
  const std::string request = line_of(request_);
  (void)::send(connected.socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
  auto run = std::make_unique<Run>();
  run->name = name;
  run->socket = std::move(connected.socket);
  runs_.push_back(std::move(run));
}

// False where `see` has seen enough.
bool Watch::read(Run& run, const See& see) {
  std::array<char, kReadAtATime> piece;
  const ssize_t n = ::recv(run.socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return true;
  if (n <= 0) {
    run.ended = true;
    // The sockets it left behind are found there.
    if (run.hello && !run.goodbye) next_look_ = {};
    return !run.hello || !run.hello->has_consumer || see(Detached{run.hello->pid, run.goodbye});
  }
  run.heard.append(piece.data(), static_cast<std::size_t>(n));
  std::size_t begin = 0;
  for (std::size_t end = 0; !run.ended; begin = end + 1) {
    end = run.heard.find('\n', std::max(begin, run.scanned));
    if (end == std::string::npos) break;
    if (!hear(run, std::string_view(run.heard).substr(begin, end - begin), see)) return false;
  }
  run.heard.erase(0, begin);
  run.scanned = run.heard.size();
  if (run.heard.size() > kLongestLine) return give_up(run, see, "a line of it has no end");
  return true;
}

bool Watch::hear(Run& run, std::string_view line, const See& see) {
  auto said = parser_.said(line);
  if (!said) return give_up(run, see, said.error().message);
  if (const auto* refusal = std::get_if<Refusal>(&*said)) return give_up(run, see, refusal->why);
  if (const auto* hello = std::get_if<Hello>(&*said)) {
    run.hello = *hello;
    return !hello->has_consumer || see(Attached{hello->pid});
  }
  if (!run.hello) return give_up(run, see, "it does not say hello");
  if (const auto* missed = std::get_if<NotShown>(&*said)) {
    return see(Missed{run.hello->pid, missed->count});
  }
  if (std::holds_alternative<Goodbye>(*said)) {
    run.goodbye = true;
    return true;
  }
  if (auto* event = std::get_if<DeliveryEvent>(&*said)) {
    return see(Shown{run.hello->pid, std::move(*event)});
  }
  return true;
}

bool Watch::give_up(Run& run, const See& see, std::string why) {
  run.ended = true;
  if (!told_.insert(run.name).second) return true;
  return see(Unwatchable{{ErrorKind::kUnavailable, "R292",
                          fmt::format("{}: the run behind it cannot be watched: {}", run.name, why),
                          "use the semel that runs it; end other semel taps of that run"}});
}

}  // namespace semel::tap
