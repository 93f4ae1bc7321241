// The thread of the Redis Streams handler: its connection, entries and answers.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "clients/redis/error_table.h"
#include "core/failure.h"
#include "core/reconnect_pause.h"
#include "handlers/redis_streams/publisher.h"

namespace semel::redis_streams {

using redis::Loss;
using redis::Reply;
using std::chrono::milliseconds;

namespace {

// This much is collected before it is written to the socket.
constexpr std::size_t kBytesAtOnce = 256 << 10;
constexpr milliseconds kFarewell{2'000};
constexpr std::size_t kOneServer = 1;

}  // namespace

void StreamPublisher::connect() {
  try {
    connection_ = owner_.connect();
    heard_at_ = now();
    readable_ = false;
  } catch (const core::Failure& failed) {
    ++tries_;
    not_before_ = now() + core::pause_before(tries_, kOneServer, environment_.random->next());
    const Judged judged = not_reached(as_of_handler(failed.error()));
    for (const Ticket ticket : std::exchange(waiting_, {})) calls_.end(ticket, judged);
  }
}

void StreamPublisher::serve() { talk(until_late()); }

void StreamPublisher::talk(milliseconds most) {
  try {
    if (may_send()) send_waiting();
    wait_for_something(std::min({most, until_silent(), may_send() ? milliseconds(0) : most}));
    if (!asked_.empty() || readable_) take_answers();
  } catch (const core::Failure& failed) {
    return lose(as_of_handler(failed.error()));
  }
  if (left_for_ && asked_.empty()) return lose(*std::exchange(left_for_, std::nullopt));
  if (asked_.empty() || now() - heard_at_ < silence_) return;
  lose({ErrorKind::kUnavailable, "R250",
        fmt::format("the Redis server did not answer in {} ms", silence_.count()),
        "check that the server runs"});
}

bool StreamPublisher::may_send() const {
  return !waiting_.empty() && !left_for_ && !connection_->has_unsent();
}

void StreamPublisher::send_waiting() {
  if (asked_.empty()) heard_at_ = now();
  std::size_t bytes = 0;
  while (!waiting_.empty() && bytes < kBytesAtOnce) {
    const Ticket ticket = waiting_.front();
    waiting_.pop_front();
    if (Call* const call = calls_.find(ticket)) bytes += send_one(*call);
  }
  connection_->begin();
}

std::size_t StreamPublisher::send_one(Call& call) {
  std::vector<BytesView> words{"XADD", spec_.stream};
  if (!spec_.declare) words.emplace_back("NOMKSTREAM");
  if (!length_.empty()) {
    for (const BytesView word : {BytesView("MAXLEN"), BytesView("~"), BytesView(length_)}) {
      words.push_back(word);
    }
  }
  words.emplace_back("*");
  words.emplace_back(spec_.payload);
  words.push_back(call.message.payload());
  for (const Header& field : call.fields) {
    words.emplace_back(field.name);
    words.emplace_back(field.value);
  }
  connection_->send(words);
  call.sent = true;
  asked_.push_back(call.ticket());
  std::size_t bytes = 0;
  for (const BytesView word : words) bytes += word.size();
  return bytes;
}

void StreamPublisher::take_answers() {
  readable_ = false;
  if (asked_.empty()) {
    // No answer is outstanding, so the event means that the connection has ended. The next call
    // makes another one.
    if (!connection_->whole()) connection_.reset();
    return;
  }
  for (const Reply& reply : connection_->take_some(Loss::kNothingDone)) {
    heard_at_ = now();
    const Ticket ticket = asked_.front();
    asked_.pop_front();
    Call* const call = calls_.find(ticket);
    if (is_elsewhere(reply)) {
      left_for_ = as_of_handler(redis::error_of(reply.bytes));
      last_trouble_ = left_for_->message;
      if (call == nullptr) continue;
      call->sent = false;
      elsewhere_.push_back(ticket);
      continue;
    }
    if (!reply.is_error()) {
      last_trouble_.clear();
      tries_ = 0;
    }
    if (call != nullptr) calls_.end(ticket, judge_added(reply, spec_));
  }
}

void StreamPublisher::wait_for_something(milliseconds most) {
  std::array<pollfd, 2> watched = {pollfd{wake_.get(), POLLIN, 0}, pollfd{-1, POLLIN, 0}};
  if (connection_) {
    watched[1].fd = connection_->descriptor();
    if (connection_->has_unsent()) watched[1].events |= POLLOUT;
  }
  ::poll(watched.data(), watched.size(), static_cast<int>(std::max(most, milliseconds(0)).count()));
  wake_.drain();
  readable_ = watched[1].revents != 0;
  // A server that reads is not silent, however long an entry takes.
  if ((watched[1].revents & POLLOUT) != 0) heard_at_ = now();
}

milliseconds StreamPublisher::until_silent() const {
  if (asked_.empty()) return milliseconds::max();
  return std::chrono::ceil<milliseconds>(heard_at_ + silence_ - now());
}

void StreamPublisher::lose(const Error& error) {
  connection_.reset();
  left_for_.reset();
  ++tries_;
  not_before_ = now() + core::pause_before(tries_, kOneServer, environment_.random->next());
  waiting_.insert(waiting_.begin(), elsewhere_.begin(), elsewhere_.end());
  elsewhere_.clear();
  const Judged judged = not_answered(error);
  for (const Ticket ticket : std::exchange(asked_, {})) calls_.end(ticket, judged);
}

void StreamPublisher::say_farewell() {
  const TimePoint by = now() + kFarewell;
  while (connection_ && !calls_.empty() && now() < by) {
    talk(std::chrono::ceil<milliseconds>(by - now()));
  }
  connection_.reset();
  calls_.drop_all();
}

}  // namespace semel::redis_streams
