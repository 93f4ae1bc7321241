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

// A request's line and headers together, and the connections that wait to be taken.
constexpr std::size_t kMostHead = 32 << 10;
constexpr int kListenQueue = 4096;
constexpr milliseconds kFullAgain{1'000};

std::int64_t unix_seconds() {
  return std::chrono::floor<std::chrono::seconds>(system::utc_now()).time_since_epoch().count();
}

http::ListenerNames listener_names() {
  return {"source.http.listen", "R320", "source.http.tls", "R321"};
}

std::optional<http::HttpTls> tls_of(const core::HttpSourceSpec& spec) {
  if (!spec.tls) return std::nullopt;
  return http::HttpTls{spec.tls->certificate, spec.tls->key};
}

HttpResponse ending() { return not_now("its consumer is being stopped", kFullAgain); }

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
  options.too_large = too_large(spec_.max_body);
  options.too_slow = too_slow();
  options.full = not_now("as many requests are in hand as this source takes", kFullAgain);
  options.admit = [this](const HttpRequest& request) { return admit(request); };
  options.on_certificate = [this](const Error* error) { note_certificate(error); };
  options.tick = [this] { look_at_deadlines(); };
  auto server = http::HttpServer::open(
      std::move(options), [this](const HttpRequest& request) { return handle(request); });
  if (!server) return failure(std::move(server.error()));
  server_ = *std::move(server);
  return {};
}

std::optional<HttpResponse> HttpSource::admit(const HttpRequest& request) {
  {
    const system::MutexLock lock(mutex_);
    if (takes_no_more_) return ending();
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
  // Copied by std::function, and so held by something that can be.
  auto arrival = std::make_shared<std::unique_ptr<Arrival>>(
      std::make_unique<Arrival>(rules_.arrival_of(request, std::move(headers))));
  return http::HttpPending{[this, arrival](Responder responder) {
    wait_for_answer(std::move(*arrival), std::move(responder));
  }};
}

void HttpSource::wait_for_answer(std::unique_ptr<Arrival> arrival, Responder responder) {
  {
    const system::MutexLock lock(mutex_);
    if (!takes_no_more_) {
      const std::uint64_t number = last_ + 1;
      const bool wakes = !ledger_.has_waiting();
      arrival->position = positions_ + std::to_string(number);
      arrival->tag = {number, generation_};
      ledger_.arrived(number, {std::move(arrival), std::move(responder), std::nullopt,
                               environment_.clock->now() + spec_.timeout});
      last_ = number;
      if (wakes) event_.signal();
      return;
    }
  }
  responder->answer(ending());
}

// A notice that finds no memory is lost, and the certificate in use stays.
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

void HttpSource::give(Answers& answers) noexcept {
  for (auto& [responder, response] : answers) responder->answer(std::move(response));
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

// Numbers begin with one and have no gaps, so that a request's number is its place too.
HttpSource::Request* HttpSource::find(const Tag& tag) {
  const bool ours = tag.generation == generation_;
  if (!ours || tag.value <= ledger_.passed() || tag.value > last_) return nullptr;
  return ledger_.open_value(tag.value - 1);
}

void HttpSource::ended(const Tag& tag, const Outcome& outcome) noexcept {
  try {
    HttpResponse answer = answer_of(outcome);
    const system::MutexLock lock(mutex_);
    if (Request* const request = find(tag)) request->answer = std::move(answer);
  } catch (...) {
    // Without memory for its answer the request is answered by its settlement alone.
  }
}

Result<void> HttpSource::settle(std::span<const Settlement> settlements) {
  Answers answers;
  {
    const system::MutexLock lock(mutex_);
    for (const Settlement& settlement : settlements) {
      Request* const request = find(settlement.tag);
      // One that was not handed out has nothing to be settled.
      if (request == nullptr || request->arrival != nullptr) continue;
      if (request->responder != nullptr) {
        const bool kept = settlement.kind == Settlement::Kind::kAck;
        HttpResponse unsaid = kept ? accepted() : not_now("it was not begun", settlement.delay);
        answers.emplace_back(std::move(request->responder),
                             std::move(request->answer).value_or(std::move(unsaid)));
      }
      // Its sender brings it again: here it has come to its end.
      ledger_.settle(settlement.tag.value, Settlement::Kind::kAck);
    }
  }
  give(answers);
  return {};
}

void HttpSource::refuse_next(HttpResponse response, Answers& answers) {
  const Ledger::Taken next = ledger_.take();
  ++handed_out_;
  answers.emplace_back(std::move(next.value->responder), std::move(response));
  ledger_.settle(next.position, Settlement::Kind::kAck);
}

// The listener stays open: a connection that nobody takes would wait, and this one is told at once.
void HttpSource::end_intake() noexcept {
  Answers answers;
  try {
    const system::MutexLock lock(mutex_);
    takes_no_more_ = true;
    while (ledger_.has_waiting()) refuse_next(ending(), answers);
  } catch (...) {
    // Without memory for their answers they are given at the next call, or by the close.
  }
  give(answers);
}

// Deadlines are in the order of the requests, so that all before the first that is not over are.
void HttpSource::look_at_deadlines() noexcept {
  Answers answers;
  try {
    const TimePoint now = environment_.clock->now();
    const system::MutexLock lock(mutex_);
    for (; overdue_to_ < last_; ++overdue_to_) {
      // The ones that have passed are settled.
      if (overdue_to_ < ledger_.passed()) continue;
      Request* const request = ledger_.open_value(overdue_to_);
      if (request == nullptr) continue;
      if (request->deadline > now) break;
      if (request->arrival != nullptr) {
        refuse_next(not_now("its turn did not come in time", kFullAgain), answers);
      } else if (request->responder != nullptr) {
        answers.emplace_back(std::move(request->responder), not_in_time());
      }
    }
  } catch (...) {
    // Without memory for the answers they are tried again at the next look.
  }
  give(answers);
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
  Answers answers;
  {
    const system::MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return {};
    takes_no_more_ = true;
    while (ledger_.has_waiting()) refuse_next(ending(), answers);
    for (std::size_t number = ledger_.passed(); number < last_; ++number) {
      Request* const request = ledger_.open_value(number);
      if (request != nullptr && request->responder != nullptr) {
        answers.emplace_back(std::move(request->responder), ending());
      }
    }
  }
  give(answers);
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
