// The serving thread of the NATS source: its connection, requests and acknowledgements.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "clients/nats/errors.h"
#include "core/error_text.h"
#include "core/reconnect_pause.h"
#include "sources/nats/source.h"

namespace semel::nats {

using std::chrono::milliseconds;

namespace {

// A request that is not filled within this time is made again.
constexpr milliseconds kRequestLasts{20'000};
// The server reports the end of a request. If no report comes within this further time, something
// is wrong.
constexpr milliseconds kEndOfRequestWaits{2'000};
// The delay before a refused request is repeated.
constexpr milliseconds kAskAgainAfter{200};
constexpr milliseconds kAskForEndAgain{100};
// The server notices a little late that a delivery's ack wait is over.
constexpr milliseconds kTimeIsSeen{500};
// How often a delivery is renewed within its ack wait.
constexpr int kRenewals = 3;
constexpr milliseconds kSoonestRenewal{20};
// The shortest pause between two looks, even for deliveries with a shorter ack wait.
constexpr milliseconds kSoonestLook{500};
constexpr milliseconds kLongestWait{5'000};
// A connection that ends sooner than this counts as failed, whatever was done on it.
constexpr milliseconds kWorks{5'000};
// How often to look for a consumer that existed before it counts as gone.
constexpr std::size_t kLooksForConsumer = 4;
constexpr std::uint64_t kManyDeliveries = 10;
constexpr int kTimeIsOver = 408;
constexpr int kNobodyThere = 503;

constexpr std::string_view kAcknowledge = "+ACK";
constexpr std::string_view kInProgress = "+WPI";
constexpr std::string_view kGiveBack = "-NAK";

}  // namespace

void NatsSource::run() {
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
}

void NatsSource::connect() {
  const auto& nodes = spec_.address.nodes;
  const core::NatsNode& node = nodes[tries_ % nodes.size()];
  bool known = false;
  {
    const system::MutexLock lock(mutex_);
    known = known_;
  }
  Client::Watcher& watcher = *this;
  auto client = std::make_unique<Client>(spec_, watcher, known);
  auto begun = begin(*client, node);
  if (!begun) {
    set_cuttable(nullptr);
    {
      const system::MutexLock lock(mutex_);
      ended_.reset();
    }
    client.reset();
    ++tries_;
    note_failure(std::move(begun.error()));
    pause();
    return;
  }
  client_ = std::move(client);
  note_connected(*begun);
}

Result<ConsumerState> NatsSource::begin(Client& client, const core::NatsNode& node) {
  set_cuttable(&client);
  if (stopping()) client.cut();
  if (auto opened = client.open(node); !opened) return failure(std::move(opened.error()));
  auto found = client.find();
  if (!found) return found;
  if (!horizon_asked_) {
    auto horizon = client.ask_horizon();
    if (!horizon) return failure(std::move(horizon.error()));
    horizon_asked_ = true;
    const system::MutexLock lock(mutex_);
    horizon_ = *std::move(horizon);
  }
  if (auto begun = client.begin(); !begun) return failure(std::move(begun.error()));
  return found;
}

void NatsSource::note_connected(const ConsumerState& state) {
  not_there_ = 0;
  connected_at_ = now();
  const system::MutexLock lock(mutex_);
  if (!lost_.empty() && !away_) {
    notice(fmt::format("{}; it is there again, and what was in flight comes again", lost_));
  }
  lost_.clear();
  if (state.max_deliver && !known_) {
    notice(fmt::format(
        "the consumer {} has max_deliver {}: what the server has brought so often, by processes "
        "that died with it or connections that broke, it never brings again, and no dead letter "
        "says so; take the limit away: nats consumer edit --max-deliver=-1",
        spec_.durable, *state.max_deliver));
  }
  away_.reset();
  ++generation_;
  ++changes_;
  last_told_.clear();
  consumer_ = state;
  pending_ = state.pending;
  known_ = true;
  connected_ = true;
  in_vain_ = false;
  renew_at_ = ask_from_ = connected_at_;
  look_due_ = connected_at_ + state.shortest_wait();
  if (options_.in_order) {
    others_until_ = connected_at_ + kRequestLasts + kTimeIsSeen;
    wait_for_others(connected_at_);
  }
  event_.signal();
}

// The server redelivers before it delivers new messages, but not before the ack wait is over.
void NatsSource::wait_for_others(TimePoint now) {
  if (consumer_.waiting > 0 && now < *others_until_) {
    ask_from_ = now + kAskAgainAfter;
    return;
  }
  others_until_.reset();
  if (consumer_.ack_pending > static_cast<std::int64_t>(ledger_.open())) {
    ask_from_ = now + consumer_.longest_wait() + kTimeIsSeen;
  }
}

void NatsSource::note_failure(Error error) {
  const system::MutexLock lock(mutex_);
  if (stop_) return;
  if (is_final(error)) {
    // A server that has just started may not know all of its streams.
    const bool perhaps = known_ && error.code == "R384" &&
                         ++not_there_ < kLooksForConsumer * spec_.address.nodes.size();
    if (!perhaps) set_final(std::move(error));
    return;
  }
  if (away_ || tries_ < spec_.address.nodes.size()) return;
  set_away(std::move(error));
}

void NatsSource::pause() {
  rest(core::pause_before(tries_, spec_.address.nodes.size(), environment_.random->next()));
}

void NatsSource::serve() {
  Work work = next_work();
  auto well = work.lost ? Result<void>(failure(*std::move(work.lost))) : do_work(work);
  if (well) return wait_for_something();
  if (!work.acks.empty()) {
    // Some acknowledgements may not have been sent.
    const system::MutexLock lock(mutex_);
    in_vain_ = true;
  }
  lose(std::move(well.error()));
  tries_ = now() - connected_at_ < kWorks ? tries_ + 1 : 0;
  pause();
}

NatsSource::Work NatsSource::next_work() {
  Work work;
  const auto time = now();
  // Requests and acknowledgements get no answer: a missing permission shows only here.
  work.lost = client_->denied();
  if (work.lost) return work;
  const system::MutexLock lock(mutex_);
  if (ended_) {
    work.lost = client_->lost(*ended_);
    return work;
  }
  if (made_anew_) {
    work.lost = another_consumer();
    return work;
  }
  // Without requests nothing shows that the consumer was replaced.
  if (requests_.overdue(time) || (ledger_.open() > 0 && time >= look_due_)) to_look_ = true;
  if (others_until_ && time >= ask_from_) to_look_ = true;
  work.question_of_end = to_ask_for_end(time);
  work.look = std::exchange(to_look_, false);
  const bool asks = work.look || work.question_of_end;
  if (asks) look_due_ = time + std::max(consumer_.shortest_wait(), kSoonestLook);
  if (asks || ack_pace_.are_due(ledger_.acks(), time)) work.acks = ledger_.take_acks();
  if (time >= renew_at_) {
    work.renewals = ledger_.open_replies();
    renew_at_ = time + std::max(consumer_.shortest_wait() / kRenewals, kSoonestRenewal);
  }
  work.messages = worth_asking_now(time);
  add_request(work, time);
  return work;
}

void NatsSource::add_request(Work& work, TimePoint now) {
  if (work.messages == 0) return;
  if (consumer_.max_batch) {
    work.messages = std::min(work.messages, static_cast<std::size_t>(*consumer_.max_batch));
  }
  work.request_lasts = std::min(kRequestLasts, consumer_.max_expires.value_or(kRequestLasts));
  work.request = requests_.add(work.messages, now + work.request_lasts + kEndOfRequestWaits);
}

// A request for few messages waits for more room, as few acknowledgements wait for others.
std::size_t NatsSource::worth_asking_now(TimePoint now) {
  const std::size_t worth = intake_ended_ || others_until_ || now < ask_from_
                                ? 0
                                : worth_asking(static_cast<std::size_t>(spec_.prefetch),
                                               ledger_.open(), requests_.outstanding());
  return ask_pace_.are_due(worth, now) ? worth : 0;
}

bool NatsSource::to_ask_for_end(TimePoint now) const {
  return end_wanted_ && now >= ask_end_from_ && !ledger_.has_waiting();
}

Result<void> NatsSource::do_work(const Work& work) {
  for (const std::string& reply : work.renewals) {
    if (auto told = client_->tell(reply, kInProgress); !told) return told;
  }
  // A replaced consumer would take the acknowledgements for its own messages.
  if (work.look) {
    if (auto same = look_again(false); !same) return same;
  }
  for (const std::string& reply : work.acks) {
    if (auto told = client_->tell(reply, kAcknowledge); !told) return told;
  }
  if (!work.acks.empty()) last_told_ = work.acks.back();
  if (work.messages > 0) {
    auto asked = client_->ask(work.request, work.messages, work.request_lasts);
    if (!asked) return asked;
  }
  return work.question_of_end ? look_again(true) : Result<void>();
}

Error NatsSource::another_consumer() const {
  return {ErrorKind::kUnavailable,
          "R380",
          fmt::format("the consumer {} of stream {} was made anew", spec_.durable, spec_.stream),
          {}};
}

// Called after a request ended strangely, to check whether the consumer still exists, and at the
// end of the stream. There, a delivery that the server counts as unacknowledged is open here, in
// transit, at another member, or at a dead member and then comes again.
Result<void> NatsSource::look_again(bool question_of_end) {
  std::uint64_t before = 0;
  {
    const system::MutexLock lock(mutex_);
    before = changes_;
  }
  auto state = client_->look();
  if (!state) return failure(std::move(state.error()));
  const system::MutexLock lock(mutex_);
  const auto time = now();
  if (state->created != consumer_.created) return failure(another_consumer());
  requests_.forget_overdue(time);
  consumer_ = *state;
  pending_ = state->pending;
  if (others_until_) wait_for_others(time);
  if (!question_of_end) return {};
  const auto open = static_cast<std::int64_t>(ledger_.open());
  const auto most =
      std::min<std::int64_t>(spec_.prefetch, state->max_ack_pending.value_or(spec_.prefetch));
  const bool nothing_left = state->pending == 0 && state->ack_pending <= open;
  if (before != changes_ || !(nothing_left || open >= most)) {
    ask_end_from_ = time + kAskForEndAgain;
    return {};
  }
  reach_end();
  return {};
}

void NatsSource::wait_for_something() {
  milliseconds patience = kLongestWait;
  {
    const system::MutexLock lock(mutex_);
    if (stop_ || ended_ || to_look_) return;
    const auto until = [&, time = now()](TimePoint then) SEMEL_REQUIRES(mutex_) {
      const auto left = std::chrono::ceil<milliseconds>(then - time);
      patience = std::clamp(left, milliseconds(0), patience);
    };
    until(renew_at_);
    if (const auto due = ack_pace_.due()) until(*due);
    if (const auto due = ask_pace_.due()) until(*due);
    if (now() < ask_from_) until(ask_from_);
    if (end_wanted_ && !ledger_.has_waiting()) until(ask_end_from_);
  }
  pollfd watched{wake_.get(), POLLIN, 0};
  ::poll(&watched, 1, static_cast<int>(patience.count()));
  if (watched.revents != 0) wake_.drain();
}

void NatsSource::on_deliveries(std::vector<Fetched> deliveries) {
  const system::MutexLock lock(mutex_);
  const bool told = ledger_.has_waiting();
  for (Fetched& one : deliveries) {
    made_anew_ = made_anew_ || one.delivery <= last_delivery_;
    if (made_anew_) break;
    last_delivery_ = one.delivery;
    requests_.filled();
    if (one.count > 1) {
      ++redelivered_;
      warn_of_deliveries(one.count);
      // The message may have crashed its process, and new messages may have used up the window of
      // suspects.
      one.arrival->suspect = true;
    }
    pending_ = static_cast<std::int64_t>(one.pending);
    ledger_.arrived(std::move(one.reply), std::move(one.arrival));
    ++changes_;
  }
  if (!told) event_.signal();
  wake_.signal();
}

void NatsSource::warn_of_deliveries(std::uint64_t count) {
  const auto limit = static_cast<std::uint64_t>(consumer_.max_deliver.value_or(0));
  const bool last = limit > 0 && count >= limit;
  if (!last && count < kManyDeliveries) return;
  if (std::exchange(told_of_limit_, true)) return;
  notice(
      fmt::format("the server has brought a message of stream {} {} times{}; tries are counted "
                  "by Semel's records",
                  spec_.stream, count,
                  last ? ", as often as the consumer's max_deliver allows: it never brings it "
                         "again"
                       : ""));
}

void NatsSource::on_request_end(const RequestEnd& end) {
  const system::MutexLock lock(mutex_);
  requests_.ended(end.request, end.unfilled);
  if (end.status == kNobodyThere) requests_.clear();
  if (end.status != kTimeIsOver) {
    // The consumer was deleted, or has another leader, or does not accept such a request.
    to_look_ = true;
    ask_from_ = std::max(ask_from_, now() + kAskAgainAfter);
    // Deliveries may have been lost in transit.
    if (options_.in_order && !others_until_) others_until_ = now();
  }
  wake_.signal();
}

void NatsSource::on_end(int status) {
  const system::MutexLock lock(mutex_);
  ended_ = status;
  wake_.signal();
}

void NatsSource::lose(Error error) {
  set_cuttable(nullptr);
  client_.reset();
  const system::MutexLock lock(mutex_);
  connected_ = false;
  in_vain_ = in_vain_ || ledger_.acks() > 0;
  ledger_ = Ledger();
  requests_.clear();
  ++generation_;
  ++changes_;
  ack_pace_.forget();
  ask_pace_.forget();
  ended_.reset();
  last_delivery_ = 0;
  others_until_.reset();
  made_anew_ = false;
  to_look_ = false;
  if (stop_) return;
  // A missing consumer is looked for again before the source gives up.
  if (is_final(error) && error.code != "R384") return set_final(std::move(error));
  // This is worth a notice, whether or not the source recovers immediately.
  if (error.code != "R380") {
    notice(core::text_with_hint(error));
  } else {
    lost_ = error.message;
  }
}

void NatsSource::step_aside() {
  if (client_) {
    (void)give_back(now() + kLongestWayAside);
    lose({ErrorKind::kUnavailable, "R380", {}, {}});
  }
  wait_aside();
}

void NatsSource::leave() {
  TimePoint by;
  {
    const system::MutexLock lock(mutex_);
    by = leave_by_.value_or(TimePoint{});
    // If no message comes again, nothing needs to be reported.
    all_told_ = !in_vain_ || final_;
  }
  const bool told = client_ && by != TimePoint{} && give_back(by);
  set_cuttable(nullptr);
  {
    const system::MutexLock lock(mutex_);
    if (client_) all_told_ = told && !in_vain_;
  }
  client_.reset();
}

// Acknowledges finished deliveries, and gives back the rest, which would otherwise come again only
// after their ack wait. The last acknowledgement is sent once more: its answer proves that all
// earlier ones were read.
bool NatsSource::give_back(TimePoint by) {
  // Do this before any call whose answer may come too late.
  Work last;
  {
    const system::MutexLock lock(mutex_);
    last.acks = ledger_.take_acks();
  }
  if (!do_work(last)) return false;
  client_->stop(by);
  std::vector<std::string> open;
  {
    const system::MutexLock lock(mutex_);
    open = ledger_.open_replies();
  }
  // Asking for the consumer makes the server forget requests of clients that are gone. Otherwise
  // nats-server 2.9 would deliver what is given back to such a request, and redeliver it only after
  // its ack wait.
  if (!open.empty() && !client_->look()) return false;
  for (const std::string& reply : open) {
    if (!client_->tell(reply, kGiveBack)) return false;
  }
  if (last_told_.empty() && open.empty()) return true;
  const bool done = !last_told_.empty();
  return client_
      ->tell_and_wait(done ? last_told_ : open.back(), done ? kAcknowledge : kGiveBack, by)
      .has_value();
}

}  // namespace semel::nats
