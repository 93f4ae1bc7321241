#include "tap/server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "system/utc_clock.h"
#include "tap/connection.h"

namespace semel::tap {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostConnections = 16;
// After running out of descriptors, accepting pauses.
constexpr milliseconds kAcceptAgain{200};

int timeout_until(std::optional<steady_clock::time_point> until) {
  if (!until) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*until - steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  auto place = SocketDirectory::beside(options.database);
  if (!place) return failure(std::move(place.error()));
  place->tidy();
  auto listening = place->listen();
  if (!listening) return failure(std::move(listening.error()));
  return std::unique_ptr<Server>(
      new Server(std::move(options), *std::move(place), *std::move(listening)));
}

Server::Server(ServerOptions options, SocketDirectory place, SocketDirectory::Listening listening)
    : options_(std::move(options)),
      place_(std::move(place)),
      listening_(std::move(listening)),
      consumers_(options_.consumers) {
  thread_ = std::thread([this] { loop(); });
}

Server::~Server() {
  closing_.store(true);
  wake_.signal();
  thread_.join();
}

void Server::serve_figures(std::function<Figures()> figures) {
  const system::MutexLock lock(figures_mutex_);
  figures_ = std::move(figures);
}

void Server::set_consumers(std::vector<std::string> consumers) {
  const system::MutexLock lock(figures_mutex_);
  consumers_ = std::move(consumers);
}

void Server::on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                      std::chrono::nanoseconds took) noexcept {
  if (watchers_.load(std::memory_order_relaxed) == 0) return;
  tell(view_of(consumer, delivery, outcome, took));
}

void Server::on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                        std::string_view error) noexcept {
  if (watchers_.load(std::memory_order_relaxed) == 0) return;
  tell(view_of(consumer, arrival, reason, error));
}

void Server::tell(const EndingView& event) noexcept {
  const auto at = system::utc_now();
  std::shared_ptr<const DeliveryEvent> plain, whole;
  bool wake = false;
  const system::ReaderLock lock(mutex_);
  for (const auto& subscriber : subscribers_) {
    const bool payload = subscriber->request().payload;
    if (!subscriber->request().wants(event.consumer, event.outcome)) continue;
    const bool sent = payload && event.payload.size() <= kLongestPayload;
    if (!subscriber->has_room(sent ? event.payload.size() : 0)) continue;
    try {
      auto& copy = payload ? whole : plain;
      if (copy == nullptr)
        copy = std::make_shared<const DeliveryEvent>(event_of(event, at, payload));
      wake |= subscriber->put(copy);
    } catch (...) {
      subscriber->count_one();
    }
  }
  if (wake) wake_.signal();
}

void Server::loop() {
  bool more = false;
  while (!closing_.load()) {
    std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
    std::optional<steady_clock::time_point> until;
    const auto earlier = [&](steady_clock::time_point time) {
      until = until ? std::min(*until, time) : time;
    };
    // poll ignores a negative descriptor.
    fds.push_back({accepts_ ? listening_.socket.get() : -1, POLLIN, 0});
    if (!accepts_) earlier(steady_clock::now() + kAcceptAgain);
    if (more) earlier(steady_clock::now());
    for (const auto& connection : connections_) {
      fds.push_back({connection->fd(),
                     static_cast<short>(connection->blocked() ? POLLIN | POLLOUT : POLLIN), 0});
      if (connection->until()) earlier(*connection->until());
    }
    if (::poll(fds.data(), fds.size(), timeout_until(until)) < 0) continue;
    wake_.drain();
    more = false;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = *connections_[i];
      attend(connection, fds[i + 2].revents);
      if (!connection.blocked() || (fds[i + 2].revents & POLLOUT) != 0) more |= connection.pump();
    }
    drop_ended();
    accepts_ = true;
    if (fds[1].revents != 0 || fds[1].fd < 0) accept_all();
  }
  say_goodbye();
}

void Server::attend(Connection& connection, short events) {
  if (events != 0) {
    const auto line = connection.read();
    if (line) {
      auto request = parser_.request(*line);
      if (!request) {
        connection.refuse(request.error().message);
        return;
      }
      welcome(connection, *std::move(request));
    }
  }
  const auto until = connection.until();
  if (until && steady_clock::now() >= *until) connection.refuse("no request came in time");
}

void Server::welcome(Connection& connection, Request request) {
  bool has = false;
  std::string more;
  {
    const system::MutexLock lock(figures_mutex_);
    has = std::ranges::find(consumers_, request.consumer) != consumers_.end();
    if (request.figures) more = line_of(figures_ ? figures_() : Figures());
  }
  auto subscriber = std::make_shared<Subscriber>(std::move(request), options_.most_waiting);
  {
    // Before the hello: endings after it was read are shown.
    const system::WriterLock lock(mutex_);
    subscribers_.push_back(subscriber);
    watchers_.store(subscribers_.size(), std::memory_order_relaxed);
  }
  connection.welcome(std::move(subscriber), {::getpid(), has}, more);
}

void Server::drop_ended() {
  std::erase_if(connections_, [this](const std::unique_ptr<Connection>& connection) {
    if (!connection->ended()) return false;
    if (connection->subscriber() != nullptr) {
      const system::WriterLock lock(mutex_);
      std::erase(subscribers_, connection->subscriber());
      watchers_.store(subscribers_.size(), std::memory_order_relaxed);
    }
    return true;
  });
}

void Server::accept_all() {
  for (;;) {
    system::Descriptor socket(
        ::accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      accepts_ = errno == EAGAIN || errno == EWOULDBLOCK;
      return;
    }
    Connection connection(std::move(socket), steady_clock::now() + options_.request_within);
    if (!is_trusted(connection.fd())) {
      connection.refuse("the run belongs to somebody else");
    } else if (connections_.size() >= kMostConnections) {
      connection.refuse("too many watch this run already");
    } else {
      connections_.push_back(std::make_unique<Connection>(std::move(connection)));
    }
  }
}

void Server::say_goodbye() {
  place_.remove(listening_.name);
  const auto last = steady_clock::now() + options_.longest_goodbye;
  for (;;) {
    for (const auto& connection : connections_) {
      while (connection->pump()) {
      }
      connection->say_goodbye();
    }
    drop_ended();
    std::vector<pollfd> fds;
    for (const auto& connection : connections_) {
      if (connection->blocked()) fds.push_back({connection->fd(), POLLOUT, 0});
    }
    const auto until = std::min(steady_clock::now() + options_.goodbye, last);
    if (fds.empty() || ::poll(fds.data(), fds.size(), timeout_until(until)) <= 0) return;
    if (steady_clock::now() >= last) return;
  }
}

}  // namespace semel::tap
