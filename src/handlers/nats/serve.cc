// The thread of the NATS handler: its connection, messages and answers.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/reconnect_pause.h"
#include "handlers/nats/publisher.h"

namespace semel::nats {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kFarewell{2'000};
// The most messages that are sent before the thread looks for answers again.
constexpr std::size_t kPublishedAtOnce = 256;

}  // namespace

void NatsPublisher::connect() {
  const auto& nodes = spec_.address.nodes;
  auto connection = std::make_unique<ConfirmedConnection>(spec_, wake_, known_);
  const auto opened = connection->open(nodes[tries_ % nodes.size()]);
  if (opened) {
    connection_ = std::move(connection);
    known_ = true;
    published_ = 0;
    return;
  }
  ++tries_;
  not_before_ = now() + core::pause_before(tries_, nodes.size(), environment_.random->next());
  if (tries_ % nodes.size() != 0) return;
  const Judged judged = not_reached(opened.error());
  for (const Ticket ticket : std::exchange(waiting_, {})) calls_.end(ticket, judged);
}

void NatsPublisher::serve(TimePoint at_most_until) {
  if (!publish_waiting()) return;
  wait_for_something(waiting_.empty() ? at_most_until : now());
  const ConfirmedConnection::News news = connection_->take_news();
  take_answers(news);
  if (news.over) lose(connection_->ended());
}

// False: the connection is over.
bool NatsPublisher::publish_waiting() {
  for (std::size_t i = 0; i < kPublishedAtOnce && !waiting_.empty(); ++i) {
    Call* const call = calls_.find(waiting_.front());
    waiting_.pop_front();
    if (call == nullptr) continue;
    call->number = ++published_;
    const auto sent = connection_->publish(
        call->number, {spec_.subject, call->id, call->headers, call->message.payload()});
    if (!sent) {
      lose(sent.error());
      return false;
    }
    if (*sent == ConfirmedConnection::Sent::kTooLarge) {
      calls_.end(call->ticket(),
                 beyond_max_payload(call->message.payload().size(), connection_->max_payload()));
      continue;
    }
    if (*sent == ConfirmedConnection::Sent::kInvalid) {
      calls_.end(call->ticket(), nats_cannot_carry("is one that the client library refuses"));
      continue;
    }
    numbers_.emplace(call->number, call->ticket());
  }
  return true;
}

void NatsPublisher::take_answers(const ConfirmedConnection::News& news) {
  for (const ConfirmedConnection::Confirm& confirm : news.confirms) {
    silent_ = 0;
    const auto found = numbers_.find(confirm.number);
    if (found == numbers_.end()) continue;
    const Ticket ticket = found->second;
    numbers_.erase(found);
    Judged judged =
        confirm.nobody ? no_stream_for(spec_.subject) : judge_stored(confirm.body, spec_.subject);
    if (judged.verdict.kind() == Verdict::Kind::kDone) tries_ = 0;
    calls_.end(ticket, std::move(judged));
  }
}

void NatsPublisher::wait_for_something(TimePoint at_most_until) {
  pollfd watched{wake_.get(), POLLIN, 0};
  ::poll(&watched, 1, static_cast<int>(until(at_most_until).count()));
  wake_.drain();
}

void NatsPublisher::lose(const Error& error) {
  connection_.reset();
  numbers_.clear();
  silent_ = 0;
  ++tries_;
  not_before_ =
      now() + core::pause_before(tries_, spec_.address.nodes.size(), environment_.random->next());
  const Judged judged = not_stored_for_sure(error);
  for (const Call* const call : calls_.all()) {
    if (call->number != 0) calls_.end(call->ticket(), judged);
  }
}

void NatsPublisher::say_farewell() {
  const TimePoint by = now() + kFarewell;
  while (connection_ && !calls_.empty() && now() < by) serve(by);
  connection_.reset();
  calls_.drop_all();
}

}  // namespace semel::nats
