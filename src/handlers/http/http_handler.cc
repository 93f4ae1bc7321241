#include "handlers/http/http_handler.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <semel/reason.h>

#include "core/breaker.h"
#include "handlers/http/judge.h"
#include "handlers/http/request.h"
#include "handlers/http/transfer.h"
#include "system/mutex.h"

namespace semel::handlers {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// What wakes the thread wakes it at once; this only bounds a poll.
constexpr milliseconds kLongestPoll{60'000};
// Idle connections that are kept.
constexpr long kKeptConnections = 256;

struct LibraryInUse {
  LibraryInUse() noexcept : ready(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {}
  ~LibraryInUse() {
    if (ready) curl_global_cleanup();
  }
  LibraryInUse(const LibraryInUse&) = delete;
  LibraryInUse& operator=(const LibraryInUse&) = delete;
  bool ready;
};

struct FreeMulti {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};

class Client {
 public:
  Client(core::HttpSpec spec, Environment& environment);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool ready() const noexcept { return multi_ != nullptr; }
  void begin(const HttpRequest& request, const Attempt& attempt, Completion completion)
      SEMEL_EXCLUDES(mutex_);

 private:
  struct Stop {
    Client* client;
    core::Breaker::Ticket call;
    void operator()() const noexcept { client->stop(call); }
  };
  struct Call {
    Call(const core::HttpSpec& spec, const std::string& url, const Headers& headers, BytesView body,
         const Attempt& a, Completion c)
        : transfer(spec, url, headers, body), attempt(a), completion(std::move(c)) {}
    Transfer transfer;
    const Attempt& attempt;
    Completion completion;
    core::Breaker::Ticket ticket = 0;
    core::Breaker::MessageId message = 0;
    steady_clock::time_point begun;
    std::optional<std::stop_callback<Stop>> on_stop;
  };

  void stop(core::Breaker::Ticket call) noexcept SEMEL_EXCLUDES(mutex_);
  void work() noexcept SEMEL_EXCLUDES(mutex_);
  void start(std::unique_ptr<Call> call);
  void reap();
  void give_up(core::Breaker::Ticket ticket, const char* why);
  void end(std::unique_ptr<Call> call, Answer answer);
  void tell_gate(const Call& call, Judged& judged) SEMEL_EXCLUDES(mutex_);
  core::Breaker::Failure failed(const Call& call, const Judged& judged) SEMEL_REQUIRES(mutex_);

  LibraryInUse library_;
  const core::HttpSpec spec_;
  const core::UrlTemplate url_;
  const RequestPlan plan_;
  Environment& environment_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::map<core::Breaker::Ticket, std::unique_ptr<Call>> running_;  // the thread's own

  system::Mutex mutex_;
  std::vector<std::unique_ptr<Call>> begun_ SEMEL_GUARDED_BY(mutex_);
  std::vector<core::Breaker::Ticket> stopped_ SEMEL_GUARDED_BY(mutex_);
  core::Breaker breaker_ SEMEL_GUARDED_BY(mutex_);
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

Client::Client(core::HttpSpec spec, Environment& environment)
    : spec_(std::move(spec)),
      url_(core::UrlTemplate::parse(spec_.url).value()),
      plan_(spec_),
      environment_(environment) {
  if (!library_.ready) return;
  multi_.reset(curl_multi_init());
  if (!multi_) return;
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kKeptConnections);
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  thread_ = std::thread([this] { work(); });
}

Client::~Client() {
  if (!thread_.joinable()) return;
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  curl_multi_wakeup(multi_.get());
  thread_.join();
}

void Client::begin(const HttpRequest& request, const Attempt& attempt, Completion completion) {
  std::string url;
  try {
    url = url_.url(request.message, request.answers);
  } catch (const PayloadInvalid& invalid) {
    Verdict verdict = dead(invalid.what());
    verdict.code = reason::kPayloadInvalid;
    return completion(std::move(verdict));
  }
  const Headers headers = plan_.headers(request.sent, attempt, system_clock::now());
  auto call = std::make_unique<Call>(spec_, url, headers, plan_.body(request.sent), attempt,
                                     std::move(completion));
  call->begun = environment_.clock->now();
  call->message = std::hash<Bytes>{}(request.message.key().text);
  {
    const system::MutexLock lock(mutex_);
    call->ticket = breaker_.begin();
    begun_.push_back(std::move(call));
  }
  curl_multi_wakeup(multi_.get());
}

void Client::stop(core::Breaker::Ticket call) noexcept {
  {
    const system::MutexLock lock(mutex_);
    stopped_.push_back(call);
  }
  curl_multi_wakeup(multi_.get());
}

void Client::work() noexcept {
  // Signals are for the threads that expect them; a broken connection is an error, no SIGPIPE.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) {
    int active = 0;
    curl_multi_perform(multi_.get(), &active);
    reap();
    std::vector<std::unique_ptr<Call>> begun;
    std::vector<core::Breaker::Ticket> stopped;
    bool ending = false;
    {
      const system::MutexLock lock(mutex_);
      begun.swap(begun_);
      stopped.swap(stopped_);
      ending = ending_;
    }
    for (auto& call : begun) start(std::move(call));
    for (const core::Breaker::Ticket ticket : stopped) give_up(ticket, "the attempt was stopped");
    if (ending) {
      while (!running_.empty()) give_up(running_.begin()->first, "the handler ended");
      return;
    }
    if (begun.empty() && stopped.empty()) {
      curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(kLongestPoll.count()), nullptr);
    }
  }
}

void Client::start(std::unique_ptr<Call> call) {
  Call& started = *call;
  started.transfer.mark(call.get());
  const CURLMcode code = curl_multi_add_handle(multi_.get(), started.transfer.easy());
  if (code != CURLM_OK) {
    end(std::move(call), started.transfer.ended(CURLE_FAILED_INIT));
    return;
  }
  running_.emplace(started.ticket, std::move(call));
  started.on_stop.emplace(started.attempt.stop, Stop{this, started.ticket});
}

void Client::reap() {
  int left = 0;
  while (const CURLMsg* told = curl_multi_info_read(multi_.get(), &left)) {
    if (told->msg != CURLMSG_DONE) continue;
    const CURLcode code = told->data.result;
    const auto* owner = static_cast<Call*>(Transfer::owner_of(told->easy_handle));
    auto node = running_.extract(owner->ticket);
    Call& call = *node.mapped();
    curl_multi_remove_handle(multi_.get(), call.transfer.easy());
    end(std::move(node.mapped()), call.transfer.ended(code));
  }
}

void Client::give_up(core::Breaker::Ticket ticket, const char* why) {
  auto node = running_.extract(ticket);
  if (node.empty()) return;  // it had ended by itself
  Call& call = *node.mapped();
  curl_multi_remove_handle(multi_.get(), call.transfer.easy());
  const auto took =
      std::chrono::duration_cast<milliseconds>(environment_.clock->now() - call.begun);
  end(std::move(node.mapped()),
      call.transfer.stopped(fmt::format("no answer after {} ms: {}", took.count(), why)));
}

void Client::end(std::unique_ptr<Call> call, Answer answer) {
  call->on_stop.reset();
  const bool doubt = spec_.failure_is_doubt && leaves_doubt(answer.status);
  Judged judged = judge(std::move(answer), spec_.response_limit, system_clock::now());
  tell_gate(*call, judged);
  judged.verdict.unknown = judged.verdict.unknown || doubt;
  Completion completion = std::move(call->completion);
  // Message and attempt, which it borrows from, may go with the answer.
  call.reset();
  completion(std::move(judged.verdict));
}

core::Breaker::Failure Client::failed(const Call& call, const Judged& judged) {
  return breaker_.failed(call.ticket, call.message, judged.verdict.counted);
}

// A message whose neighbours fail in the same way loses one try and no more. The exception is a
// call that broke while it was the only one: its message may be what breaks the endpoint, and must
// come to an end.
void spare(Verdict& verdict, const core::Breaker::Failure& failure, int attempt) {
  if (!failure.shared || attempt == 1 || (verdict.unknown && !failure.late)) return;
  verdict.counted = false;
  verdict.after = std::max(verdict.after.value_or(milliseconds(0)), failure.again_after);
  verdict.asked = true;
}

void Client::tell_gate(const Call& call, Judged& judged) {
  using Endpoint = Judged::Endpoint;
  Gate* const gate = call.attempt.gate;
  core::Breaker::Failure failure;
  bool open = false;
  {
    const system::MutexLock lock(mutex_);
    switch (judged.endpoint) {
      case Endpoint::kWorks:
        open = breaker_.answered(call.ticket, call.message);
        break;
      case Endpoint::kFails:
        failure = failed(call, judged);
        break;
      case Endpoint::kAtFault:
        failure.shut = breaker_.at_fault(call.ticket);
        break;
      case Endpoint::kWaits:
        failure = failed(call, judged);
        failure.shut = breaker_.asked_to_wait(judged.wait);
        failure.again_after = 2 * *failure.shut;
        break;
      case Endpoint::kGone:
        break;
    }
  }
  // Without a gate nobody waits for the endpoint: the caller's own tries are all there are.
  if (gate == nullptr) return;
  if (judged.verdict.counted) spare(judged.verdict, failure, call.attempt.number);
  if (open) gate->open();
  if (failure.shut) gate->shut(*failure.shut, judged.why);
  if (judged.endpoint == Endpoint::kGone) gate->pause(judged.why);
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
    return failure(refused("the method is no word that HTTP knows", "method: POST"));
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
