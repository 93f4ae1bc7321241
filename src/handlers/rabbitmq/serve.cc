// The thread of the RabbitMQ handler: its connection, messages and confirms.
#include <amqp.h>
#include <amqp_framing.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/error_text.h"
#include "core/reconnect_pause.h"
#include "handlers/rabbitmq/publisher.h"
#include "system/mutex.h"

namespace semel::rabbitmq {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t kFramesAtOnce = 500;
// A connection that ends sooner than this counts as failed.
constexpr milliseconds kWorks{5'000};
constexpr milliseconds kFarewell{2'000};
constexpr milliseconds kToClose{500};
// How long one message is tried while the broker reads nothing.
constexpr milliseconds kBlockedFor{10'000};
// Bytes that are written and not acknowledged for this long end the connection.
constexpr milliseconds kShortestWrite{1'000};
constexpr milliseconds kLongestWrite{3'600'000};
// Bytes of a frame that are not headers.
constexpr std::size_t kOfAFrame = 512;

// A broker that no longer reads would block this thread in the middle of a message, and only this
// thread ends late calls. If the system has no such limit, a stopped attempt ends the write.
void bound_writes(int socket, milliseconds most) noexcept {
  const auto time = static_cast<unsigned>(
      std::clamp<std::int64_t>(most.count(), kShortestWrite.count(), kLongestWrite.count()));
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &time, sizeof time);
}

const char* word_of(const std::optional<ConfirmChannel::Closed>& closed) noexcept {
  if (!closed) return "reset";
  if (closed->code == AMQP_ACCESS_REFUSED) return "denied";
  return closed->code == AMQP_NOT_FOUND ? "exchange" : "broker";
}

}  // namespace

void RabbitmqPublisher::connect() {
  const auto& nodes = spec_.address.nodes;
  ConfirmChannel::Watcher& watcher = *this;
  auto channel = std::make_unique<ConfirmChannel>(spec_, watcher, known_);
  auto begun = channel->open(nodes[tries_ % nodes.size()]);
  if (begun) {
    {
      const system::MutexLock lock(mutex_);
      cutter_ = system::Descriptor(::fcntl(channel->descriptor(), F_DUPFD_CLOEXEC, 0));
    }
    bound_writes(channel->descriptor(), spec_.timeout);
    begun = channel->begin();
  }
  if (begun) {
    channel_ = std::move(channel);
    known_ = true;
    connected_at_ = now();
    return;
  }
  ++tries_;
  not_before_ = now() + core::pause_before(tries_, nodes.size(), environment_.random->next());
  {
    const system::MutexLock lock(mutex_);
    cutter_.close();
  }
  if (tries_ % nodes.size() != 0) return;
  const Error& error = begun.error();
  const Judged judged = not_connected(core::text_with_hint(error));
  for (const Ticket ticket : std::exchange(waiting_, {})) calls_.end(ticket, judged);
}

void RabbitmqPublisher::serve() {
  auto well = publish_waiting();
  if (well) {
    wait_for_something(std::min(channel_->patience(), until_late()));
    well = channel_->read(kFramesAtOnce);
  }
  if (!well) lose(well.error());
}

bool RabbitmqPublisher::has_room() const {
  pollfd socket{channel_->descriptor(), POLLOUT, 0};
  return ::poll(&socket, 1, 0) == 1;
}

Result<void> RabbitmqPublisher::publish_waiting() {
  while (!waiting_.empty() && blocked_.empty() && has_room()) {
    Call* const call = calls_.find(waiting_.front());
    waiting_.pop_front();
    if (call == nullptr) continue;
    if (auto sent = publish_one(*call); !sent) return sent;
  }
  return {};
}

Result<void> RabbitmqPublisher::publish_one(Call& call) {
  const Outgoing& outgoing = call.outgoing;
  if (outgoing.size() + kOfAFrame > channel_->frame_limit()) {
    calls_.end(call.ticket(),
               too_large(fmt::format("its headers have {} bytes, and a frame of this broker "
                                     "at most {}",
                                     outgoing.size(), channel_->frame_limit())));
    return {};
  }
  // Nothing is published to a missing exchange: the broker would close the channel, and all
  // outstanding confirms would be lost.
  const std::string& exchange = outgoing.route.exchange;
  if (!exchange.empty() && !proven_.contains(exchange)) {
    const auto there = channel_->has_exchange(exchange);
    if (!there) {
      waiting_.push_front(call.ticket());
      return failure(there.error());
    }
    if (!*there) {
      calls_.end(call.ticket(), no_exchange(outgoing.route, one_route()));
      return {};
    }
    proven_.insert(exchange);
  }
  {
    const system::MutexLock lock(mutex_);
    sending_ = now();
  }
  const auto number = channel_->publish(outgoing, call.message.payload());
  {
    const system::MutexLock lock(mutex_);
    sending_.reset();
  }
  // A part of the message may have been sent.
  constexpr std::uint64_t kInPart = ~std::uint64_t{0};
  call.number = number ? *number : kInPart;
  if (!number) return failure(number.error());
  numbers_.emplace(*number, call.ticket());
  return {};
}

void RabbitmqPublisher::wait_for_something(milliseconds most) {
  std::array<pollfd, 2> watched = {pollfd{wake_.get(), POLLIN, 0}, pollfd{-1, POLLIN, 0}};
  if (channel_) {
    watched[1].fd = channel_->descriptor();
    if (channel_->has_more()) most = milliseconds(0);
    // Messages were left over because the socket had no room.
    if (!waiting_.empty() && blocked_.empty()) watched[1].events |= POLLOUT;
  }
  ::poll(watched.data(), watched.size(), static_cast<int>(std::max(most, milliseconds(0)).count()));
  wake_.drain();
}

void RabbitmqPublisher::on_confirm(std::uint64_t number, bool multiple, bool taken) {
  silent_ = 0;
  const auto from = multiple ? numbers_.begin() : numbers_.find(number);
  if (from == numbers_.end()) return;
  const auto to = multiple ? numbers_.upper_bound(number) : std::next(from);
  const std::map<std::uint64_t, Ticket> told(from, to);
  numbers_.erase(from, to);
  for (const auto& [each, ticket] : told) {
    const Call* const call = calls_.find(ticket);
    if (call == nullptr) continue;
    if (!taken) {
      calls_.end(ticket, not_taken(call->outgoing.route, one_route()));
    } else if (!call->returned.empty()) {
      calls_.end(ticket, unroutable(call->outgoing.route, call->returned, one_route()));
    } else {
      calls_.end(ticket, confirmed());
    }
  }
}

// The broker does not say which message it returns. Messages that look equal are interchangeable.
void RabbitmqPublisher::on_return(ConfirmChannel::Returned returned) {
  for (const auto& [number, ticket] : numbers_) {
    Call* const call = calls_.find(ticket);
    if (call == nullptr) continue;
    const bool same = call->returned.empty() && call->outgoing.route == returned.route &&
                      call->outgoing.message_id == returned.message_id &&
                      call->message.payload() == returned.payload;
    if (!same) continue;
    call->returned = returned.why.empty() ? "it came back" : returned.why;
    return;
  }
}

void RabbitmqPublisher::on_blocked(std::optional<std::string> why) {
  const bool was = !blocked_.empty();
  blocked_ = why ? (why->empty() ? "it lacks a resource" : *why) : std::string();
  if (was == !blocked_.empty()) return;
  const auto calls = calls_.all();
  if (calls.empty()) return;
  Gate* const gate = calls.front()->attempt.gate;
  if (gate == nullptr) return;
  if (blocked_.empty()) {
    gate->open();
  } else {
    gate->shut(kBlockedFor,
               fmt::format("the RabbitMQ broker takes nothing for now ({}): it waits", blocked_));
  }
}

void RabbitmqPublisher::lose(const Error& error) {
  const auto closed = channel_->closed();
  channel_.reset();
  numbers_.clear();
  silent_ = 0;
  proven_.clear();
  blocked_.clear();
  {
    const system::MutexLock lock(mutex_);
    cutter_.close();
  }
  tries_ = now() - connected_at_ < kWorks ? tries_ + 1 : 0;
  not_before_ =
      now() + core::pause_before(tries_, spec_.address.nodes.size(), environment_.random->next());
  const std::size_t refused = closed ? size_refused(closed->said) : 0;
  const std::string why = core::text_with_hint(error);
  for (const Call* const call : calls_.all()) {
    if (call->number == 0) continue;
    const bool to_blame = refused != 0 && call->message.payload().size() == refused;
    // A message that is too large says nothing about the route.
    calls_.end(call->ticket(),
               to_blame ? too_large(closed->said)
                        : not_confirmed(word_of(closed), why, one_route() && refused == 0));
  }
}

void RabbitmqPublisher::say_farewell() {
  const TimePoint by = now() + kFarewell;
  while (channel_ && !calls_.empty() && now() < by) {
    auto well = publish_waiting();
    if (well) {
      wait_for_something(
          std::min(channel_->patience(), std::chrono::ceil<milliseconds>(by - now())));
      well = channel_->read(kFramesAtOnce);
    }
    if (!well) lose(well.error());
  }
  // All answers are known by now, so it does not matter if the broker does not answer the close.
  if (channel_) (void)channel_->close(std::chrono::steady_clock::now() + kToClose);
  channel_.reset();
  calls_.drop_all();
}

}  // namespace semel::rabbitmq
