#include "handlers/http/http_handler.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <semel/reason.h>

#include "clients/curl/handles.h"
#include "core/breaker.h"
#include "core/verdict_details.h"
#include "handlers/http/connection_pool.h"
#include "handlers/http/judge.h"
#include "handlers/http/request.h"
#include "handlers/http/transfer.h"
#include "handlers/in_flight/in_flight_calls.h"
#include "system/block_signals.h"

namespace semel::handlers {

namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// The thread is woken explicitly; this only limits how long a poll lasts.
constexpr milliseconds kLongestPoll{60'000};
// How many idle connections are kept.
constexpr long kKeptConnections = 256;

// A little less than the longest head that libcurl sends, which has a few lines of its own. It
// notices a longer one only when the call has begun.
constexpr std::size_t kLongestHead = 1'000'000;

// The URL and the header lines.
std::size_t head_size(const std::string& url, const Headers& headers) {
  std::size_t size = url.size();
  for (const Header& line : headers) size += line.name.size() + line.value.size() + 4;
  return size;
}

Verdict payload_invalid(std::string why) {
  Verdict::Dead refused;
  refused.reason = std::move(why);
  refused.code = reason::kPayloadInvalid;
  return refused;
}

class Client {
 public:
  Client(core::HttpSpec spec, Environment& environment);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool ready() const noexcept { return multi_ != nullptr; }
  void begin(const HttpRequest& request, const Attempt& attempt, Completion completion);

 private:
  using Ticket = InFlightCall::Ticket;
  struct Call final : InFlightCall {
    Call(const core::HttpSpec& spec, const std::string& url, const Headers& headers, BytesView body,
         const Message& m, const Attempt& a, Completion c, TimePoint now)
        : InFlightCall(m, a, std::move(c), now),
          transfer(spec, url, headers, body),
          id(std::hash<Bytes>{}(m.key().text)) {}
    Transfer transfer;
    const core::Breaker::MessageId id;
  };

  void work() noexcept;
  void start(Ticket ticket);
  void reap();
  void give_up(Ticket ticket, const char* why);
  void note_connection(const Transfer& transfer, bool timed_out);
  void end(std::unique_ptr<Call> call, Answer answer);
  void tell_gate(const Call& call, Judged& judged);

  curl::LibraryUse library_;
  const core::HttpSpec spec_;
  const core::UrlTemplate url_;
  const RequestPlan plan_;
  Environment& environment_;
  curl::Multi multi_;
  // For the calls that begin; those under way may have an older one. The thread's own.
  std::shared_ptr<ConnectionPool> pool_ = std::make_shared<ConnectionPool>();
  InFlightCalls<Call> calls_{[this] { curl_multi_wakeup(multi_.get()); }};
  std::thread thread_;
};

Client::Client(core::HttpSpec spec, Environment& environment)
    : spec_(std::move(spec)),
      url_(core::UrlTemplate::parse(spec_.url).value()),
      plan_(spec_),
      environment_(environment) {
  if (!library_.ready()) return;
  multi_.reset(curl_multi_init());
  if (!multi_) return;
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kKeptConnections);
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  thread_ = std::thread([this] { work(); });
}

Client::~Client() {
  if (!thread_.joinable()) return;
  calls_.close();
  curl_multi_wakeup(multi_.get());
  thread_.join();
}

void Client::begin(const HttpRequest& request, const Attempt& attempt, Completion completion) {
  std::string url;
  try {
    url = url_.url(request.message, request.answers);
  } catch (const PayloadInvalid& invalid) {
    return completion(payload_invalid(invalid.what()));
  }
  const Headers headers = plan_.headers(request.sent, attempt, system_clock::now());
  if (const std::size_t size = head_size(url, headers); size > kLongestHead) {
    return completion(payload_invalid(fmt::format(
        "the request's URL and headers have {} bytes: {} bytes at most", size, kLongestHead)));
  }
  calls_.begin(std::make_unique<Call>(spec_, url, headers, plan_.body(request.sent),
                                      request.message, attempt, std::move(completion),
                                      environment_.clock->now()));
  curl_multi_wakeup(multi_.get());
}

void Client::work() noexcept {
  system::block_signals();
  for (;;) {
    int active = 0;
    curl_multi_perform(multi_.get(), &active);
    reap();
    const auto news = calls_.take_news();
    for (const Ticket ticket : news.begun) start(ticket);
    for (const Ticket ticket : news.stopped) give_up(ticket, "the attempt was stopped");
    if (news.closing) {
      for (const Call* const call : calls_.all()) give_up(call->ticket(), "the handler ended");
      return;
    }
    if (!news.any()) {
      curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(kLongestPoll.count()), nullptr);
    }
  }
}

void Client::start(Ticket ticket) {
  Call& call = *calls_.find(ticket);
  call.transfer.mark(&call);
  call.transfer.connect_through(pool_);
  const CURLMcode code = curl_multi_add_handle(multi_.get(), call.transfer.easy());
  if (code != CURLM_OK) end(calls_.take(ticket), call.transfer.ended(CURLE_FAILED_INIT));
}

void Client::reap() {
  int left = 0;
  while (const CURLMsg* told = curl_multi_info_read(multi_.get(), &left)) {
    if (told->msg != CURLMSG_DONE) continue;
    const CURLcode code = told->data.result;
    const auto* owner = static_cast<Call*>(Transfer::owner_of(told->easy_handle));
    auto call = calls_.take(owner->ticket());
    Transfer& transfer = call->transfer;
    curl_multi_remove_handle(multi_.get(), transfer.easy());
    note_connection(transfer, code == CURLE_OPERATION_TIMEDOUT);
    end(std::move(call), transfer.ended(code));
  }
}

void Client::give_up(Ticket ticket, const char* why) {
  auto call = calls_.take(ticket);
  if (!call) return;  // the call has already ended
  Transfer& transfer = call->transfer;
  curl_multi_remove_handle(multi_.get(), transfer.easy());
  const milliseconds took = call->took(environment_.clock->now());
  // A stop comes at the same time as the timeout, and may be seen first.
  note_connection(transfer, took >= spec_.timeout);
  end(std::move(call),
      transfer.stopped(fmt::format("no answer after {} ms: {}", took.count(), why)));
}

void Client::note_connection(const Transfer& transfer, bool timed_out) {
  const std::string& connection = transfer.connection();
  if (connection.empty()) return;  // it was not sent
  if (transfer.answered()) {
    transfer.pool()->answered(connection);
  } else if (timed_out && transfer.pool()->timed_out(connection) && transfer.pool() == pool_) {
    pool_ = std::make_shared<ConnectionPool>();
  }
}

void Client::end(std::unique_ptr<Call> call, Answer answer) {
  const bool doubt = spec_.failure_is_doubt && leaves_doubt(answer.status);
  const CallFacts facts{url_.has_place_in_path(), spec_.undoes, call->attempt.since_first};
  Judged judged = judge(std::move(answer), spec_.response_limit, system_clock::now(), facts);
  tell_gate(*call, judged);
  if (doubt) core::set_unknown(judged.verdict, true);
  calls_.answer(std::move(call), std::move(judged.verdict));
}

// If neighbouring messages fail in the same way, a message loses only one attempt. The exception is
// a call that broke while it was the only one: its message may be what breaks the endpoint, and
// must become a dead letter in the end.
void spare(Verdict& verdict, const core::Breaker::Failure& failure, int attempt) {
  if (!failure.shared || attempt == 1 || (verdict.unknown() && !failure.late)) return;
  core::change_details<Verdict::Retry>(verdict, [&](Verdict::Retry& spared) {
    spared.counted = false;
    spared.after = std::max(spared.after.value_or(milliseconds(0)), failure.again_after);
    spared.asked = true;
  });
}

void Client::tell_gate(const Call& call, Judged& judged) {
  using Endpoint = Judged::Endpoint;
  Gate* const gate = call.attempt.gate;
  core::Breaker::Failure failure;
  core::Breaker::Denial denial;
  bool open = false;
  const auto hear = [&](core::Breaker& breaker) {
    switch (judged.endpoint) {
      case Endpoint::kWorks:
        open = breaker.answered(call.ticket(), call.id);
        break;
      case Endpoint::kFails:
        failure = breaker.failed(call.ticket(), call.id, judged.verdict.counted());
        break;
      case Endpoint::kAtFault:
        failure.shut = breaker.at_fault(call.ticket());
        break;
      case Endpoint::kWaits:
        failure = breaker.failed(call.ticket(), call.id, judged.verdict.counted());
        failure.shut = breaker.asked_to_wait(judged.wait);
        failure.again_after = 2 * *failure.shut;
        break;
      case Endpoint::kDenies:
      case Endpoint::kGone:
        denial = breaker.denied(call.ticket(), call.id);
        failure.shut = denial.shut;
        break;
    }
  };
  calls_.with_breaker(hear);
  if (denial.own) core::set_counted(judged.verdict, true);
  // Without a gate no message waits for the endpoint: only the caller's own attempts count.
  if (gate == nullptr) return;
  if (judged.verdict.counted()) spare(judged.verdict, failure, call.attempt.number);
  if (open) gate->open();
  if (judged.endpoint == Endpoint::kGone && denial.confirmed) {
    gate->pause(judged.why);
  } else if (failure.shut) {
    gate->shut(*failure.shut, judged.why);
  }
}

Error refused(std::string message, std::string hint) {
  return {ErrorKind::kRejected, "R255", std::move(message), std::move(hint)};
}

Result<void> check_spec(const core::HttpSpec& spec) {
  if (const auto flaw = core::url_flaw(spec.url)) {
    return failure(refused("the URL " + *flaw, "write http://host/path or https://host/path"));
  }
  const auto url = core::UrlTemplate::parse(spec.url);
  if (auto parsed = parse_url(url->sample()); !parsed) return parsed;
  if (!core::is_header_name(spec.method)) {
    return failure(refused("the method is not a word that HTTP allows", "method: POST"));
  }
  for (const Header& header : spec.headers) {
    if (const auto flaw = core::header_flaw(header.name)) {
      return failure(refused(fmt::format("\"{}\" {}", field_value(header.name), *flaw),
                             "leave it out, or give it another name"));
    }
    if (!core::is_header_value(header.value)) {
      return failure(refused(
          fmt::format("the value of the header \"{}\" has a line end or another control byte",
                      header.name),
          "write it in one line"));
    }
  }
  for (const std::string& secret : spec.signing_secrets) {
    if (!core::signing_key(secret)) {
      return failure(refused("a signing secret is not whsec_ and base64",
                             "take the secret as its other end shows it"));
    }
  }
  if (!spec.ca_file.empty() && ::access(spec.ca_file.c_str(), R_OK) != 0) {
    return failure(refused(fmt::format("the certificates in {} cannot be read", spec.ca_file),
                           "check the path and its permissions"));
  }
  return {};
}

}  // namespace

Result<HttpCall> make_http_call(core::HttpSpec spec, Environment& environment) {
  if (auto checked = check_spec(spec); !checked) return failure(std::move(checked.error()));
  auto client = std::make_shared<Client>(std::move(spec), environment);
  if (!client->ready()) {
    return failure(
        {ErrorKind::kUnavailable, "R256", "the HTTP library cannot begin", "free some memory"});
  }
  return HttpCall([client = std::move(client)](const HttpRequest& request, const Attempt& attempt,
                                               Completion completion) {
    client->begin(request, attempt, std::move(completion));
  });
}

Result<AsyncHandler> make_http_handler(core::HttpSpec spec, Environment& environment) {
  if (const auto place = core::place_for_answer(spec.url)) {
    return failure(refused(fmt::format("the URL has {}, and nothing was answered before", *place),
                           "use it in a step behind that one, or in its undo"));
  }
  auto call = make_http_call(std::move(spec), environment);
  if (!call) return failure(std::move(call.error()));
  return AsyncHandler([call = *std::move(call)](const Message& message, const Attempt& attempt,
                                                Completion completion) {
    call({message, message, {}}, attempt, std::move(completion));
  });
}

}  // namespace semel::handlers
