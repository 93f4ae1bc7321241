#include "clients/nats/jetstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "clients/nats/answer.h"
#include "clients/nats/errors.h"

namespace semel::nats {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr milliseconds kApiPatience{5'000};

milliseconds time_at(const Answer& answer, const char* pointer) {
  return std::chrono::duration_cast<milliseconds>(nanoseconds(answer.number(pointer)));
}

// Returns nullopt for a number that is not positive, which means no limit.
std::optional<std::int64_t> limit_at(const Answer& answer, const char* pointer) {
  const std::int64_t limit = answer.number(pointer, -1);
  return limit > 0 ? std::optional(limit) : std::nullopt;
}

std::optional<milliseconds> span_at(const Answer& answer, const char* pointer) {
  return answer.number(pointer) > 0 ? std::optional(time_at(answer, pointer)) : std::nullopt;
}

// Calls `see` with the pointer of each element.
template <class See>
void each_at(const Answer& answer, const char* array, See see) {
  for (std::size_t i = 0;; ++i) {
    const std::string pointer = fmt::format("{}/{}", array, i);
    if (!answer.has(pointer.c_str())) return;
    see(pointer.c_str());
  }
}

std::vector<std::string> texts_at(const Answer& answer, const char* array) {
  std::vector<std::string> texts;
  each_at(answer, array, [&](const char* pointer) { texts.push_back(answer.text(pointer)); });
  return texts;
}

ConsumerState consumer_in(const Answer& answer) {
  ConsumerState state;
  state.created = answer.text("/created");
  state.ack_policy = answer.text("/config/ack_policy");
  state.pushes = !answer.text("/config/deliver_subject").empty();
  state.ack_wait = time_at(answer, "/config/ack_wait");
  each_at(answer, "/config/backoff",
          [&](const char* pointer) { state.backoff.push_back(time_at(answer, pointer)); });
  state.max_deliver = limit_at(answer, "/config/max_deliver");
  state.max_ack_pending = limit_at(answer, "/config/max_ack_pending");
  state.max_batch = limit_at(answer, "/config/max_batch");
  state.max_expires = span_at(answer, "/config/max_expires");
  state.pending = answer.number("/num_pending");
  state.ack_pending = answer.number("/num_ack_pending");
  state.waiting = answer.number("/num_waiting");
  state.filters = texts_at(answer, "/config/filter_subjects");
  std::string filter = answer.text("/config/filter_subject");
  if (!filter.empty()) state.filters.push_back(std::move(filter));
  return state;
}

StreamState stream_in(const Answer& answer) {
  StreamState state;
  state.in_memory = answer.text("/config/storage") == "memory";
  state.replicas = answer.number("/config/num_replicas", 1);
  state.max_age = span_at(answer, "/config/max_age");
  state.duplicates = span_at(answer, "/config/duplicate_window");
  state.subjects = texts_at(answer, "/config/subjects");
  return state;
}

Error named(Error error, const core::NatsSpec& spec) {
  error.message += fmt::format(" (stream {}, durable {})", spec.stream, spec.durable);
  return error;
}

Result<Answer> ask_api(Connection& connection, const core::NatsSpec& spec,
                       const std::string& subject, std::string_view body) {
  auto said = connection.ask("$JS.API." + subject, body, kApiPatience);
  if (!said) return failure(std::move(said.error()));
  auto answer = Answer::read(*said, connection.known());
  if (!answer) return failure(named(std::move(answer.error()), spec));
  return answer;
}

}  // namespace

milliseconds ConsumerState::shortest_wait() const {
  return backoff.empty() ? ack_wait : *std::ranges::min_element(backoff);
}

milliseconds ConsumerState::longest_wait() const {
  return backoff.empty() ? ack_wait : *std::ranges::max_element(backoff);
}

ConsumerState read_consumer(std::string_view answer) {
  const auto read = Answer::read(answer, false);
  return read ? consumer_in(*read) : ConsumerState{};
}

StreamState read_stream(std::string_view answer) {
  const auto read = Answer::read(answer, false);
  return read ? stream_in(*read) : StreamState{};
}

std::string consumer_request(const core::NatsSpec& spec) {
  json::Writer writer;
  writer.begin_object().member("stream_name", spec.stream).name("config").begin_object();
  writer.member("durable_name", spec.durable)
      .member("ack_policy", "explicit")
      .member("deliver_policy", "all")
      .member("replay_policy", "instant")
      .member("ack_wait", nanoseconds(spec.ack_wait).count())
      .member("max_deliver", -1)
      .member("max_ack_pending", -1);
  if (!spec.subject.empty()) writer.member("filter_subject", spec.subject);
  return writer.end_object().end_object().text();
}

Result<ConsumerState> ask_consumer(Connection& connection, const core::NatsSpec& spec) {
  auto answer =
      ask_api(connection, spec, fmt::format("CONSUMER.INFO.{}.{}", spec.stream, spec.durable), {});
  if (!answer) return failure(std::move(answer.error()));
  return consumer_in(*answer);
}

Result<StreamState> ask_stream(Connection& connection, const core::NatsSpec& spec) {
  auto answer = ask_api(connection, spec, "STREAM.INFO." + spec.stream, {});
  if (!answer) return failure(std::move(answer.error()));
  return stream_in(*answer);
}

Result<ConsumerState> find_consumer(Connection& connection, const core::NatsSpec& spec) {
  auto found = ask_consumer(connection, spec);
  if (found || !spec.declare || found.error().code != "R384") return found;
  // Creating would change an existing consumer, so look for it first.
  auto made = ask_api(connection, spec,
                      fmt::format("CONSUMER.DURABLE.CREATE.{}.{}", spec.stream, spec.durable),
                      consumer_request(spec));
  if (!made) return failure(std::move(made.error()));
  return consumer_in(*made);
}

std::optional<Error> unusable(const ConsumerState& state, const core::NatsSpec& spec) {
  const auto refused = [&](const std::string& what, const char* hint) {
    return named({ErrorKind::kRejected, "R386", what, hint}, spec);
  };
  if (state.pushes) {
    return refused("the consumer is one that the server pushes to",
                   "make one that is pulled from: nats consumer add --pull --ack explicit");
  }
  if (state.ack_policy != "explicit") {
    return refused(fmt::format("the consumer has the ack policy {}: an acknowledgement would speak "
                               "for messages that are not done",
                               state.ack_policy),
                   "make one with --ack explicit");
  }
  return std::nullopt;
}

std::string next_subject(const core::NatsSpec& spec) {
  return fmt::format("$JS.API.CONSUMER.MSG.NEXT.{}.{}", spec.stream, spec.durable);
}

}  // namespace semel::nats
