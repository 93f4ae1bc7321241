#include "sources/nats/client.h"

#include <fmt/format.h>
#include <nats/nats.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/retention.h"
#include "sources/nats/arrival.h"

namespace semel::nats {

using std::chrono::milliseconds;

namespace {

// Deliveries that arrived together are handed over together.
constexpr std::size_t kHandedOverAtOnce = 256;
constexpr std::int64_t kLookPatienceMs = 60'000;
constexpr int kNobodyAnswers = 503;

milliseconds left_until(Client::Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(1));
}

std::string new_inbox() {
  natsInbox* made = nullptr;
  if (natsInbox_Create(&made) != NATS_OK) return {};
  std::string inbox(made);
  natsInbox_Destroy(made);
  return inbox + ".";
}

std::string text_at(natsMsg& message, const char* header) {
  const char* value = nullptr;
  const bool there = natsMsgHeader_Get(&message, header, &value) == NATS_OK && value != nullptr;
  return there ? value : "";
}

template <class Number>
Number number_at_start(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Horizon horizon_of(const StreamState& stream, const std::string& name) {
  if (!stream.max_age) return {std::nullopt, fmt::format("stream {} has no max_age", name)};
  return {stream.max_age,
          fmt::format("stream {} has max_age {}", name, core::duration_text(*stream.max_age))};
}

Client::Client(const core::NatsSpec& spec, Watcher& watcher, bool known)
    : spec_(spec), watcher_(watcher), connection_(spec, known), inbox_(new_inbox()) {}

Client::~Client() {
  cut();
  if (reader_.joinable()) reader_.join();
}

Result<ConsumerState> Client::find() {
  // A recreated consumer would deliver the whole stream again: so it is created only in a run that
  // has not used it before.
  core::NatsSpec asked = spec_;
  asked.declare = spec_.declare && !connection_.known();
  auto found = find_consumer(connection_, asked);
  if (!found) return found;
  if (auto bad = unusable(*found, spec_)) return failure(*std::move(bad));
  return found;
}

Result<Horizon> Client::ask_horizon() {
  const auto stream = ask_stream(connection_, spec_);
  if (stream) return horizon_of(*stream, spec_.stream);
  if (stream.error().code != "R385") return failure(stream.error());
  return Horizon{std::nullopt,
                 fmt::format("how long stream {} keeps its messages is not known: {}; so whether "
                             "records are kept as long is not either",
                             spec_.stream, stream.error().message),
                 false};
}

Result<void> Client::begin() {
  natsSubscription* made = nullptr;
  natsStatus status =
      natsConnection_SubscribeSync(&made, connection_.handle(), (inbox_ + "*").c_str());
  subscription_.reset(made);
  // No limit here: the requests limit it, and a dropped message would come again, but late.
  if (status == NATS_OK) status = natsSubscription_SetPendingLimits(made, -1, -1);
  if (status != NATS_OK) return failure(lost(status));
  connection_.set_known();
  reader_ = std::thread([this] { take_in(); });
  return {};
}

void Client::take_in() {
  for (;;) {
    natsMsg* message = nullptr;
    natsStatus status = natsSubscription_NextMsg(&message, subscription_.get(), kLookPatienceMs);
    std::vector<MessagePtr> messages;
    while (status == NATS_OK) {
      messages.emplace_back(message);
      if (messages.size() == kHandedOverAtOnce) break;
      status = natsSubscription_NextMsg(&message, subscription_.get(), 0);
    }
    if (!messages.empty()) hand_over(messages);
    if (status == NATS_NO_RESPONDERS) watcher_.on_request_end({0, kNobodyAnswers, {}});
    if (status == NATS_OK || status == NATS_TIMEOUT || status == NATS_NO_RESPONDERS) continue;
    watcher_.on_end(status);
    return;
  }
}

void Client::hand_over(const std::vector<MessagePtr>& messages) {
  std::vector<Fetched> deliveries;
  deliveries.reserve(messages.size());
  const auto flush = [&] {
    if (!deliveries.empty()) watcher_.on_deliveries(std::exchange(deliveries, {}));
  };
  for (const MessagePtr& message : messages) {
    const char* const reply = natsMsg_GetReply(message.get());
    const auto facts = read_reply(reply == nullptr ? "" : reply);
    if (!facts) {
      // All messages of a request arrive before its end.
      flush();
      note_end(*message);
      continue;
    }
    auto arrival = arrival_of(*message, *facts);
    arrival->partition = spec_.stream;
    arrival->position = fmt::format("{}-{}", spec_.stream, facts->sequence);
    deliveries.push_back(
        {reply, facts->count, facts->pending, facts->delivery, std::move(arrival)});
  }
  flush();
}

void Client::note_end(natsMsg& message) {
  const std::string_view subject = natsMsg_GetSubject(&message);
  if (!subject.starts_with(inbox_)) return;
  RequestEnd end;
  end.request = number_at_start<std::uint64_t>(subject.substr(inbox_.size()));
  end.status = number_at_start<int>(text_at(message, "Status"));
  const std::string unfilled = text_at(message, "Nats-Pending-Messages");
  if (!unfilled.empty()) end.unfilled = number_at_start<std::size_t>(unfilled);
  watcher_.on_request_end(end);
}

Result<void> Client::ask(std::uint64_t request, std::size_t messages, milliseconds lasts) {
  const auto nanoseconds = std::chrono::nanoseconds(lasts).count();
  return connection_.send(next_subject(spec_),
                          fmt::format(R"({{"batch":{},"expires":{}}})", messages, nanoseconds),
                          fmt::format("{}{}", inbox_, request));
}

Result<void> Client::tell_and_wait(const std::string& reply, std::string_view body,
                                   Deadline deadline) {
  auto answered = connection_.ask(reply, body, left_until(deadline));
  if (!answered) return failure(std::move(answered.error()));
  return {};
}

void Client::stop(Deadline deadline) {
  if (!reader_.joinable()) return;
  const auto patience = left_until(deadline).count();
  // Even if the server does not answer, it will redeliver the messages that it sent meanwhile.
  if (natsSubscription_DrainTimeout(subscription_.get(), patience) == NATS_OK) {
    (void)natsSubscription_WaitForDrainCompletion(subscription_.get(), patience);
  }
  (void)natsSubscription_Unsubscribe(subscription_.get());
  reader_.join();
}

}  // namespace semel::nats
