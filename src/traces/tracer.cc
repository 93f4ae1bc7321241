#include "traces/tracer.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "base/ascii.h"
#include "base/digest.h"

namespace semel::traces {

namespace {

using std::chrono::system_clock;

constexpr std::string_view kKafka = "kafka";
constexpr std::string_view kQueue = "queue";
constexpr std::string_view kHeld = "held";

bool failed(Outcome::Kind kind) noexcept {
  return kind == Outcome::Kind::kRetry || kind == Outcome::Kind::kDead ||
         kind == Outcome::Kind::kConflict || kind == Outcome::Kind::kParked;
}

// A handler can invent a reason: one that is not a word could contain anything.
std::string reason_word(std::string_view reason) {
  constexpr std::size_t kLongest = 64;
  const bool word =
      reason.size() <= kLongest && std::ranges::all_of(reason, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
      });
  return word ? std::string(reason) : "other";
}

std::string state_of(const Message& message) {
  const Headers headers = core::outgoing_headers(message);
  const auto state = find_header(headers, "tracestate");
  return state ? std::string(*state) : std::string();
}

void add_text(Span& span, std::string_view name, std::string value) {
  if (!value.empty()) span.attributes.push_back({name, std::move(value)});
}

// A Kafka partition is its topic and number, "orders-3", and a position that and the offset.
void add_place(Span& span, const Arrival& arrival, const std::string& system) {
  const std::string_view partition = arrival.partition;
  const auto dash = partition.rfind('-');
  if (system != kKafka || dash == std::string_view::npos) {
    add_text(span, "messaging.destination.name", arrival.partition);
    return;
  }
  add_text(span, "messaging.destination.name", std::string(partition.substr(0, dash)));
  add_text(span, "messaging.destination.partition.id", std::string(partition.substr(dash + 1)));
  const std::string_view position = arrival.position;
  if (position.size() <= partition.size() + 1 || !position.starts_with(partition)) return;
  const std::string offset(position.substr(partition.size() + 1));
  if (std::ranges::all_of(offset, ascii::is_digit)) {
    span.attributes.push_back({"messaging.kafka.offset", std::int64_t{std::atoll(offset.c_str())}});
  }
}

std::chrono::nanoseconds since(std::chrono::steady_clock::time_point received) noexcept {
  if (received == std::chrono::steady_clock::time_point()) return std::chrono::nanoseconds(0);
  return std::chrono::steady_clock::now() - received;
}

// If memory runs out, the span is lost.
template <class Make>
void quietly(Make&& make) noexcept {
  try {
    make();
  } catch (...) {
  }
}

}  // namespace

Tracer::Tracer(SpanSink& sink, TracerOptions options, Random& random)
    : sink_(sink), service_(std::move(options.service)), sampler_(options.sample), ids_(random) {}

core::StartTrace Tracer::start_of(const std::string& consumer) {
  return [this, consumer](const Key& key, const Headers& headers) {
    return start(consumer, key.id.view(), headers);
  };
}

std::shared_ptr<const DeliverySpan> Tracer::start(std::string_view consumer, BytesView key_id,
                                                  const Headers& headers) {
  SpanContext context;
  std::optional<SpanId> parent;
  if (const auto brought = core::trace_context_of(headers)) {
    if (!brought->sampled) return nullptr;
    context.trace_id = brought->trace_id;
    parent = brought->parent_id;
  } else {
    const BytesView parts[] = {service_, consumer, key_id};
    context.trace_id = digest::shortened(digest::sha256_parts("trace", parts));
    if (!sampler_.takes(context.trace_id)) return nullptr;
  }
  context.span_id = ids_.next();
  const auto made = std::make_shared<DeliverySpan>();
  made->context = context;
  made->parent = parent;
  return made;
}

void Tracer::add_child(const DeliverySpan& parent, Span span,
                       std::chrono::steady_clock::duration took) noexcept {
  span.context = {parent.context.trace_id, ids_.next()};
  span.parent = parent.context.span_id;
  span.end = system_clock::now();
  span.begin = span.end - std::chrono::duration_cast<system_clock::duration>(took);
  sink_.on_span(std::move(span));
}

void Tracer::on_consumer(const ConsumerInfo& consumer) noexcept {
  quietly([&] {
    const system::MutexLock lock(mutex_);
    sources_[consumer.name] = consumer.sources;
  });
}

std::string Tracer::source_of(std::string_view consumer, const Arrival& arrival) {
  const system::MutexLock lock(mutex_);
  const auto found = sources_.find(consumer);
  const bool named = found != sources_.end() && arrival.source < found->second.size();
  return named ? found->second[arrival.source] : std::string();
}

Span Tracer::process_span(std::string_view consumer, const Arrival& arrival,
                          std::string_view outcome, std::chrono::nanoseconds took) {
  Span span;
  span.kind = Span::Kind::kConsumer;
  span.end = system_clock::now();
  span.begin = span.end - std::chrono::duration_cast<system_clock::duration>(took);
  const std::string system = source_of(consumer, arrival);
  add_text(span, "messaging.system", system);
  add_text(span, "messaging.operation.name", "process");
  add_text(span, "messaging.operation.type", "process");
  // The store's queue is the consumer's: what it holds keeps the place where it once came from.
  if (system == kQueue) {
    add_text(span, "messaging.destination.name", std::string(consumer));
  } else {
    add_place(span, arrival, system);
  }
  add_text(span, "semel.consumer", std::string(consumer));
  add_text(span, "semel.outcome", std::string(outcome));
  span.name = "process " + std::string(consumer);
  for (const Span::Attribute& attribute : span.attributes) {
    if (attribute.name != "messaging.destination.name") continue;
    span.name = "process " + std::get<std::string>(attribute.value);
  }
  return span;
}

void Tracer::on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                      std::chrono::nanoseconds took) noexcept {
  if (delivery.message.span() == nullptr) return;
  quietly([&] {
    Span span = process_span(consumer, delivery.arrival, to_string(outcome.kind), took);
    if (outcome.attempt > 0) {
      span.attributes.push_back({"semel.attempt", std::int64_t{outcome.attempt}});
    }
    add_text(span, "semel.reason", reason_word(outcome.reason));
    if (failed(outcome.kind)) {
      span.error = outcome.reason.empty() ? to_string(outcome.kind) : reason_word(outcome.reason);
    }
    end_delivery(delivery.message, std::move(span));
  });
}

void Tracer::on_held(std::string_view consumer, const Delivery& delivery) noexcept {
  if (delivery.message.span() == nullptr) return;
  quietly([&] {
    end_delivery(delivery.message,
                 process_span(consumer, delivery.arrival, kHeld, since(delivery.arrival.received)));
  });
}

void Tracer::end_delivery(const Message& message, Span span) {
  const DeliverySpan& own = *message.span();
  span.context = own.context;
  span.parent = own.parent;
  span.trace_state = state_of(message);
  if (own.ended.exchange(true)) {
    span.parent = own.context.span_id;
    span.context.span_id = ids_.next();
  }
  // The id of a UUID is the UUID itself: a key must not leave.
  const digest::Digest key = digest::sha256(message.key().id.view());
  add_text(span, "semel.key_id", digest::hex(digest::view(key)));
  span.attributes.push_back(
      {"messaging.message.body.size", static_cast<std::int64_t>(message.payload().size())});
  sink_.on_span(std::move(span));
}

void Tracer::on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                        std::string_view) noexcept {
  quietly([&] {
    // It has no key: its place makes it one of its own.
    const BytesView place[] = {arrival.partition, arrival.position};
    const digest::Digest id = digest::sha256_parts("refused", place);
    const auto started = start(consumer, digest::view(id), arrival.headers);
    if (started == nullptr) return;
    Span span =
        process_span(consumer, arrival, to_string(Outcome::Kind::kDead), since(arrival.received));
    span.context = started->context;
    span.parent = started->parent;
    Message::Parts unread;
    unread.headers = arrival.headers;
    unread.span = started;
    span.trace_state = state_of(Message(std::move(unread)));
    span.error = reason_word(reason);
    add_text(span, "semel.reason", span.error);
    span.attributes.push_back(
        {"messaging.message.body.size", static_cast<std::int64_t>(arrival.payload.size())});
    sink_.on_span(std::move(span));
  });
}

}  // namespace semel::traces
