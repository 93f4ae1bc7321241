// The serving thread of the RabbitMQ source: its connection, deliveries and acknowledgements.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error_text.h"
#include "core/reconnect_pause.h"
#include "sources/rabbitmq/arrival.h"
#include "sources/rabbitmq/source.h"
#include "system/mutex.h"

namespace semel::rabbitmq {

using std::chrono::milliseconds;

namespace {

// Few enough that settlements made meanwhile are sent soon.
constexpr std::size_t kFramesAtOnce = 500;
constexpr milliseconds kAskEndAgain{200};
// A connection that ends sooner counts as failed, whatever was done on it: each one costs all
// messages of the prefetch a delivery, and a queue may have a limit of those.
constexpr milliseconds kWorks{5'000};
// How often to look for a queue that existed before it counts as gone.
constexpr std::size_t kLooksForQueue = 4;
// RabbitMQ's default limit, where there is one, is 20.
constexpr std::int64_t kManyDeliveries = 10;

}  // namespace

void RabbitmqSource::run() {
  while (!stopping()) {
    if (stands_aside()) {
      step_aside();
    } else if (client_) {
      serve();
    } else {
      connect();
    }
  }
  leave();
  const system::MutexLock lock(mutex_);
  cutter_.close();
}

void RabbitmqSource::connect() {
  const auto& nodes = spec_.address.nodes;
  const core::RabbitmqNode& node = nodes[tries_ % nodes.size()];
  bool known = false;
  {
    const system::MutexLock lock(mutex_);
    known = known_;
  }
  Client::Watcher& watcher = *this;
  auto client = std::make_unique<Client>(spec_, watcher, known);
  if (auto begun = begin(*client, node); !begun) {
    ++tries_;
    note_failure(std::move(begun.error()));
    pause();
    return;
  }
  client_ = std::move(client);
  std::string positions = fmt::format("{}-{:016x}-", spec_.queue, environment_.random->next());
  const system::MutexLock lock(mutex_);
  if (!lost_.empty() && !away_) {
    notice(fmt::format("{}; it is there again, and what was in flight comes again", lost_));
  }
  lost_.clear();
  connected_at_ = now();
  not_there_ = 0;
  away_.reset();
  ++generation_;
  positions_ = std::move(positions);
  ++changes_;
  known_ = true;
  connected_ = true;
  in_vain_ = false;
  event_.signal();
}

Result<void> RabbitmqSource::begin(Client& client, const core::RabbitmqNode& node) {
  if (auto opened = client.open(node); !opened) return opened;
  {
    const system::MutexLock lock(mutex_);
    cutter_ = system::Descriptor(::fcntl(client.descriptor(), F_DUPFD_CLOEXEC, 0));
    if (stop_) interrupt();
  }
  if (auto let_in = client.login(); !let_in) return let_in;
  return client.consume();
}

void RabbitmqSource::note_failure(Error error) {
  const system::MutexLock lock(mutex_);
  cutter_.close();
  if (stop_) return;
  if (is_final(error)) {
    // A broker that has just started may not know all of its queues.
    const bool perhaps = known_ && error.code == "R314" &&
                         ++not_there_ < kLooksForQueue * spec_.address.nodes.size();
    if (!perhaps) set_final(std::move(error));
    return;
  }
  if (away_ || tries_ < spec_.address.nodes.size()) return;
  set_away(std::move(error));
}

void RabbitmqSource::pause() {
  rest(core::pause_before(tries_, spec_.address.nodes.size(), environment_.random->next()));
}

void RabbitmqSource::serve() {
  auto well = tell(false);
  if (well) {
    wait_for_something();
    well = client_->read(kFramesAtOnce);
    hand_over();
  }
  if (well) return;
  lose(std::move(well.error()));
  tries_ = now() - connected_at_ < kWorks ? tries_ + 1 : 0;
  pause();
}

Result<void> RabbitmqSource::tell(bool all) {
  std::vector<Ledger::Ack> acks;
  bool ask = false;
  {
    const system::MutexLock lock(mutex_);
    ask = to_ask_now(now());
    if (ask) asked_at_ = changes_;
    if (all || ask || ack_pace_.are_due(ledger_.acks(), now())) acks = ledger_.take_acks();
  }
  for (const Ledger::Ack& ack : acks) {
    auto told = client_->ack(ack.tag, ack.multiple);
    if (told) continue;
    const system::MutexLock lock(mutex_);
    in_vain_ = true;
    return told;
  }
  if (ask) return client_->ask_depth();
  return {};
}

void RabbitmqSource::wait_for_something() {
  milliseconds patience = client_->has_more() ? milliseconds(0) : client_->patience();
  {
    const system::MutexLock lock(mutex_);
    if (stop_) return;
    if (const auto due = ack_pace_.due()) {
      const auto until = std::chrono::ceil<milliseconds>(*due - now());
      patience = std::clamp(until, milliseconds(0), patience);
    }
    if (end_wanted_ && !asked_at_ && !ledger_.has_waiting()) {
      const auto until = std::chrono::ceil<milliseconds>(ask_again_ - now());
      patience = std::clamp(until, milliseconds(0), patience);
    }
  }
  std::array<pollfd, 2> watched = {pollfd{client_->descriptor(), POLLIN, 0},
                                   pollfd{wake_.get(), POLLIN, 0}};
  ::poll(watched.data(), watched.size(), static_cast<int>(patience.count()));
  if (watched[1].revents != 0) wake_.drain();
}

void RabbitmqSource::on_delivery(std::uint64_t tag, std::unique_ptr<Arrival> arrival) {
  fresh_.emplace_back(tag, std::move(arrival));
}

void RabbitmqSource::hand_over() {
  if (fresh_.empty()) return;
  const system::MutexLock lock(mutex_);
  const bool told = ledger_.has_waiting();
  for (auto& [tag, arrival] : fresh_) {
    if (is_of_stream(arrival->headers)) {
      set_final({ErrorKind::kRejected, "R316",
                 fmt::format("{} is a stream: it brings nothing again that was not acknowledged",
                             spec_.queue),
                 "read a quorum queue, or a classic one"});
      break;
    }
    const auto before = brought_before(arrival->headers);
    if (before >= kManyDeliveries && !std::exchange(told_of_limit_, true)) {
      notice(fmt::format(
          "the broker has brought a message of queue {} {} times before: where the queue has a "
          "delivery limit, it drops or dead-letters it; tries are counted by Semel's records",
          spec_.queue, before));
    }
    ledger_.arrived(tag, std::move(arrival));
    ++changes_;
  }
  fresh_.clear();
  if (!told) event_.signal();
}

void RabbitmqSource::on_depth(std::uint32_t messages, std::uint32_t consumers) {
  // Messages that arrived before the answer are handed over before it.
  hand_over();
  const system::MutexLock lock(mutex_);
  const bool same = std::exchange(asked_at_, std::nullopt) == changes_;
  const bool all_out = ledger_.untold() >= static_cast<std::size_t>(spec_.prefetch);
  // We consume, so zero consumers means an unknown count: a quorum queue without a leader answers 0
  // messages and 0 consumers, whatever it contains.
  const bool known = consumers > 0;
  if (!same || !known || (messages > 0 && !all_out)) {
    empties_ = 0;
    ask_again_ = now() + (same ? kAskEndAgain : milliseconds(0));
    return;
  }
  if (++empties_ < 2) return;
  empties_ = 0;
  reach_end();
}

void RabbitmqSource::on_blocked(std::optional<std::string> why) {
  const system::MutexLock lock(mutex_);
  notice(why ? fmt::format("the broker takes nothing from publishers for now ({}); what is in its "
                           "queues comes as ever",
                           *why)
             : std::string("the broker takes messages from publishers again"));
}

void RabbitmqSource::lose(Error error) {
  client_.reset();
  fresh_.clear();
  const system::MutexLock lock(mutex_);
  cutter_.close();
  connected_ = false;
  in_vain_ = in_vain_ || ledger_.acks() > 0;
  ledger_ = Ledger();
  ++generation_;
  ++changes_;
  ack_pace_.forget();
  asked_at_.reset();
  empties_ = 0;
  if (stop_) return;
  // A missing queue is looked for again before the source gives up.
  if (is_final(error) && error.code != "R314") return set_final(std::move(error));
  // This is worth a notice, whether or not the source recovers immediately.
  if (error.code != "R310") {
    notice(core::text_with_hint(error));
  } else {
    lost_ = error.message;
  }
}

// The broker gives everything to others that is not acknowledged by then.
bool RabbitmqSource::part(TimePoint by) {
  // Do this before any call whose answer may come too late.
  bool told = tell(true).has_value();
  told = told && client_->stop_consuming(by).has_value() && tell(true).has_value();
  return client_->close(by).has_value() && told;
}

void RabbitmqSource::step_aside() {
  if (client_) {
    (void)part(now() + kLongestWayAside);
    lose({ErrorKind::kUnavailable, "R310", {}, {}});
  }
  wait_aside();
}

void RabbitmqSource::leave() {
  TimePoint by;
  {
    const system::MutexLock lock(mutex_);
    by = leave_by_.value_or(TimePoint{});
    all_told_ = !in_vain_;
  }
  if (!client_ || by == TimePoint{}) return client_.reset();
  const bool told = part(by);
  client_.reset();
  const system::MutexLock lock(mutex_);
  all_told_ = told && !in_vain_;
}

}  // namespace semel::rabbitmq
