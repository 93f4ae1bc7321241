#include "sources/http/source.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "http_server/certificate.h"
#include "http_server/listen_socket.h"
#include "sources/http/answers.h"
#include "system/utc_clock.h"

namespace semel::sources {

namespace {

using http::HttpReply;
using http::HttpRequest;
using http::HttpResponse;
using std::chrono::milliseconds;

// Limits for a request's line and headers together, and for connections waiting to be accepted.
constexpr std::size_t kMostHead = 16 << 10;
constexpr int kListenQueue = 4096;
constexpr milliseconds kFullAgain{1'000};

std::int64_t unix_seconds() {
  return std::chrono::floor<std::chrono::seconds>(system::utc_now()).time_since_epoch().count();
}

http::ListenerNames listener_names() {
  return {.field = "source.http.listen",
          .code = "R320",
          .tls_field = "source.http.tls",
          .tls_code = "R321"};
}

std::optional<http::HttpTls> tls_of(const core::HttpSourceSpec& spec) {
  if (!spec.tls) return std::nullopt;
  return http::HttpTls{spec.tls->certificate, spec.tls->key};
}

MessageAnswer ending() { return not_now("its consumer is being stopped", kFullAgain); }

MessageAnswer full() {
  return not_now("as many requests are in hand as this source takes", kFullAgain);
}

}  // namespace

HttpSource::HttpSource(core::HttpSourceSpec spec, Environment& environment)
    : spec_(std::move(spec)),
      environment_(environment),
      rules_(spec_),
      generation_(environment.random->next()),
      positions_(fmt::format("{:016x}-", generation_)) {}

Result<void> HttpSource::listen() {
  http::HttpServerOptions options;
  options.listen = spec_.listen;
  options.tls = tls_of(spec_);
  options.names = listener_names();
  options.listen_queue = kListenQueue;
  options.most_connections = spec_.max_connections;
  options.most_request_bytes = kMostHead;
  options.most_body_bytes = spec_.max_body;
  options.most_requests = spec_.max_requests;
  options.most_bytes = spec_.max_bytes;
  options.idle = std::chrono::ceil<std::chrono::seconds>(spec_.idle_timeout);
  options.receive = std::chrono::ceil<std::chrono::seconds>(spec_.receive_timeout);
  options.task_threads = 0;
  options.too_large = response_of(too_large(spec_.max_body));
  options.too_slow = response_of(too_slow());
  options.full = response_of(full());
  options.refuse = [this](const http::FramingFault& fault) {
    count_refusal();
    return response_of(not_taken(fault.status, fault.why, fault.fix));
  };
  options.admit = [this](const HttpRequest& request) { return admit(request); };
  options.on_certificate = [this](const Error* error) { note_certificate(error); };
  options.tick = [this] { look_at_deadlines(); };
  options.round_ended = [this] {
    if (std::exchange(wakes_, false)) event_.signal();
  };
  auto server = http::HttpServer::open(
      std::move(options), [this](const HttpRequest& request) { return handle(request); });
  if (!server) return failure(std::move(server.error()));
  server_ = *std::move(server);
  return {};
}

std::optional<HttpResponse> HttpSource::admit(const HttpRequest& request) {
  {
    const system::MutexLock lock(mutex_);
    if (takes_no_more_) return response_of(ending());
  }
  auto refused = rules_.refuses(request);
  if (refused) count_refusal();
  return refused;
}

HttpReply HttpSource::handle(const HttpRequest& request) {
  Headers headers = RequestRules::headers_of(request);
  if (auto refused = rules_.refuses_signature(headers, request.body, unix_seconds())) {
    count_refusal();
    return *std::move(refused);
  }
  auto messages = rules_.messages_of(request, std::move(headers));
  if (!messages) {
    count_refusal();
    return response_of(std::move(messages.error()));
  }
  if (messages->arrivals.empty()) return response_of_batch({});
  // std::function copies its callable, so the messages must be held by a copyable pointer.
  auto held = std::make_shared<RequestRules::Messages>(*std::move(messages));
  return http::HttpPending{[this, held](Responder responder) {
    wait_for_answer(std::move(*held), std::move(responder));
  }};
}

// The server counts requests only; here each event of a batch counts as one.
std::optional<MessageAnswer> HttpSource::no_room_for(std::size_t messages) const {
  if (takes_no_more_) return ending();
  if (ledger_.open() + messages > spec_.max_requests) return full();
  return std::nullopt;
}

void HttpSource::wait_for_answer(RequestRules::Messages messages, Responder responder) {
  std::optional<MessageAnswer> refused;
  {
    const std::size_t count = messages.arrivals.size();
    const system::MutexLock lock(mutex_);
    refused = no_room_for(count);
    if (!refused) {
      const auto request =
          std::make_shared<PendingRequest>(std::move(responder), count, messages.batch);
      const TimePoint deadline = environment_.clock->now() + spec_.timeout;
      const bool wakes = !ledger_.has_waiting();
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t number = last_ + 1;
        auto arrival = std::make_unique<Arrival>(std::move(messages.arrivals[i]));
        arrival->position = positions_ + std::to_string(number);
        arrival->tag = {number, generation_};
        ledger_.arrived(number, {std::move(arrival), request, i, std::nullopt, deadline});
        last_ = number;
        wakes_ = wakes_ || wakes;  // now: the next one may find no memory
      }
      return;
    }
    // As in admit(), a request after the end of the intake does not count as refused.
    if (!takes_no_more_) ++refused_;
  }
  responder->answer(response_of(*std::move(refused)));
}

// If there is no memory, the notice is lost, and the certificate in use stays.
void HttpSource::note_certificate(const Error* error) {
  std::string text =
      error == nullptr
          ? std::string("the renewed certificate is in use")
          : fmt::format("error[{}]: {}; the certificate that was read before stays in use",
                        error->code, error->message);
  const system::MutexLock lock(mutex_);
  notices_.push_back(std::move(text));
  event_.signal();
}

void HttpSource::count_refusal() {
  const system::MutexLock lock(mutex_);
  ++refused_;
}

void HttpSource::give(const Answered& answered) noexcept {
  if (answered.empty()) return;
  answered.front()->give_together([&] {
    for (const auto& request : answered) request->give();
  });
}

// Allocates memory first: an answer that was set and is not given would be lost.
void HttpSource::conclude(const Waiting& waiting, MessageAnswer answer, Answered& answered) {
  answered.push_back(waiting.request);
  if (!waiting.request->set(waiting.message, std::move(answer))) answered.pop_back();
}

Result<Received> HttpSource::receive(const ReceiveLimits& limits) {
  event_.drain();
  const system::MutexLock lock(mutex_);
  if (closed_) return failure({ErrorKind::kRejected, "R235", "the HTTP source was closed", {}});
  Received received;
  if (!std::exchange(told_, true)) {
    received.notices.push_back(
        fmt::format("takes requests to {} on port {}", spec_.path, server_->port()));
  }
  std::ranges::move(std::exchange(notices_, {}), std::back_inserter(received.notices));
  std::size_t bytes = limits.bytes;
  const auto full = [&] { return received.arrivals.size() >= limits.messages || bytes == 0; };
  while (!paused_ && !full()) {
    const Ledger::Taken taken = ledger_.take();
    if (taken.value == nullptr) break;
    ++handed_out_;
    const std::unique_ptr<Arrival> arrival = std::move(taken.value->arrival);
    bytes -= std::min(bytes, arrival->payload.size());
    received.arrivals.push_back(std::move(*arrival));
  }
  more_ = !paused_ && ledger_.has_waiting();
  return received;
}

Wakeup HttpSource::wakeup() {
  Wakeup wakeup{event_.get(), std::nullopt};
  if (more_) wakeup.due_in = milliseconds(0);
  return wakeup;
}

// Numbers begin with one and have no gaps, so a message's number is also its position.
HttpSource::Waiting* HttpSource::find(const Tag& tag) {
  const bool ours = tag.generation == generation_;
  if (!ours || tag.value <= ledger_.passed() || tag.value > last_) return nullptr;
  return ledger_.open_value(tag.value - 1);
}

void HttpSource::ended(const Tag& tag, const Outcome& outcome) noexcept {
  try {
    MessageAnswer answer = answer_of(outcome);
    const system::MutexLock lock(mutex_);
    if (Waiting* const waiting = find(tag)) waiting->answer = std::move(answer);
  } catch (...) {
    // If there is no memory for the answer, the settlement alone answers the message.
  }
}

Result<void> HttpSource::settle(std::span<const Settlement> settlements) {
  Answered answered;
  {
    const system::MutexLock lock(mutex_);
    for (const Settlement& settlement : settlements) {
      Waiting* const waiting = find(settlement.tag);
      // A message that was not handed out cannot be settled.
      if (waiting == nullptr || waiting->arrival != nullptr) continue;
      const bool kept = settlement.kind == Settlement::Kind::kAck;
      MessageAnswer unsaid = kept ? accepted() : not_now("it was not begun", settlement.delay);
      conclude(*waiting, std::move(waiting->answer).value_or(std::move(unsaid)), answered);
      // The sender brings the message again, so for this source it has ended.
      ledger_.settle(settlement.tag.value, Settlement::Kind::kAck);
    }
  }
  give(answered);
  return {};
}

// Allocates memory first: a message that was taken and not settled would never be answered.
void HttpSource::refuse_next(MessageAnswer answer, Answered& answered) {
  if (answered.size() == answered.capacity()) answered.reserve(2 * answered.size() + 1);
  const Ledger::Taken next = ledger_.take();
  if (next.value == nullptr) return;
  ++handed_out_;
  conclude(*next.value, std::move(answer), answered);
  ledger_.settle(next.position, Settlement::Kind::kAck);
}

// The listener stays open, so that new requests are answered at once; with a closed listener their
// connections would wait.
void HttpSource::end_intake() noexcept {
  Answered answered;
  try {
    const system::MutexLock lock(mutex_);
    takes_no_more_ = true;
    while (ledger_.has_waiting()) refuse_next(ending(), answered);
  } catch (...) {
    // If there is no memory for the answers, the next call or the close gives them.
  }
  give(answered);
}

// Deadlines are in the order of the messages: the scan stops at the first that is not over.
void HttpSource::look_at_deadlines() noexcept {
  Answered answered;
  try {
    const TimePoint now = environment_.clock->now();
    const system::MutexLock lock(mutex_);
    for (; overdue_to_ < last_; ++overdue_to_) {
      // Messages before passed() are settled.
      if (overdue_to_ < ledger_.passed()) continue;
      const Waiting* const waiting = ledger_.open_value(overdue_to_);
      if (waiting == nullptr) continue;
      if (waiting->deadline > now) break;
      if (waiting->arrival != nullptr) {
        refuse_next(not_now("its turn did not come in time", kFullAgain), answered);
      } else {
        conclude(*waiting, not_in_time(), answered);
      }
    }
  } catch (...) {
    // If there is no memory for the answers, the next look tries again.
  }
  give(answered);
}

void HttpSource::set_paused(std::string_view partition, bool paused) {
  {
    const system::MutexLock lock(mutex_);
    if (!partition.empty() && partition != spec_.path) return;
    paused_ = paused;
  }
  event_.signal();
}

std::vector<SourceFigure> HttpSource::figures() {
  const std::size_t connections = server_->connections();
  const system::MutexLock lock(mutex_);
  if (closed_) return {};
  const auto figure = [](const char* name, std::size_t value) {
    return SourceFigure{name, {}, static_cast<std::int64_t>(value), {}};
  };
  return {figure("lag", last_ - handed_out_), figure("received", last_),
          figure("connections", connections), figure("handled", ledger_.out()),
          figure("refused", refused_)};
}

Result<void> HttpSource::close(milliseconds deadline) {
  Answered answered;
  {
    const system::MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return {};
    takes_no_more_ = true;
    while (ledger_.has_waiting()) refuse_next(ending(), answered);
    for (std::size_t number = ledger_.passed(); number < last_; ++number) {
      const Waiting* const waiting = ledger_.open_value(number);
      if (waiting != nullptr) conclude(*waiting, ending(), answered);
    }
  }
  give(answered);
  server_->close(deadline);
  return {};
}

Result<std::unique_ptr<Source>> make_http_source(core::HttpSourceSpec spec,
                                                 Environment& environment) {
  auto source = std::make_unique<HttpSource>(std::move(spec), environment);
  if (auto listens = source->listen(); !listens) return failure(std::move(listens.error()));
  return source;
}

Result<void> check_http_source(const core::HttpSourceSpec& spec) {
  const http::ListenerNames names = listener_names();
  if (const auto tls = tls_of(spec)) {
    const auto certificate = http::Certificate::open(*tls, names);
    if (!certificate) return failure(certificate.error());
  }
  const auto socket = http::listen_on(spec.listen, kListenQueue, names);
  if (!socket) return failure(socket.error());
  return {};
}

}  // namespace semel::sources
