// The HTTP source joins the source suite, with a sender that does as webhooks' senders do.
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "sources/http/source.h"
#include "system/mutex.h"
#include "tests/conformance/source_case.h"
#include "tests/support/http_get.h"

namespace semel::conformance {
namespace {

using sources::HttpSource;
using steady = std::chrono::steady_clock;

// The source as the suite has it. The sender looks at it too, and may outlive the suite's.
class SharedHttpSource final : public Source {
 public:
  explicit SharedHttpSource(std::shared_ptr<HttpSource> source) : source_(std::move(source)) {}
  const SourceTraits& traits() const noexcept override { return source_->traits(); }
  Result<Received> receive(const ReceiveLimits& limits) override {
    return source_->receive(limits);
  }
  Wakeup wakeup() override { return source_->wakeup(); }
  Result<void> settle(std::span<const Settlement> settlements) override {
    return source_->settle(settlements);
  }
  Result<void> extend(std::span<const Tag> tags, milliseconds by) override {
    return source_->extend(tags, by);
  }
  void set_paused(std::string_view partition, bool paused) override {
    source_->set_paused(partition, paused);
  }
  Result<void> close(milliseconds deadline) override { return source_->close(deadline); }

 private:
  const std::shared_ptr<HttpSource> source_;
};

// Sends each message, in order, until it is answered with success, and waits as the answers ask.
class WebhookSender {
 public:
  WebhookSender() : thread_([this] { run(); }) {}
  ~WebhookSender() {
    {
      const system::MutexLock lock(mutex_);
      ending_ = true;
    }
    thread_.join();
  }
  WebhookSender(const WebhookSender&) = delete;
  WebhookSender& operator=(const WebhookSender&) = delete;

  void add(const std::vector<Bytes>& payloads) {
    const system::MutexLock lock(mutex_);
    for (const Bytes& payload : payloads) added_.push_back(payload);
  }
  void send_to(const std::shared_ptr<HttpSource>& source) {
    const system::MutexLock lock(mutex_);
    source_ = source;
  }
  void advance(milliseconds by) {
    const system::MutexLock lock(mutex_);
    shift_ += by;
  }

 private:
  struct Sent {
    Bytes payload;
    steady::time_point due{};
    system::Descriptor socket{};  // while its answer is waited for
    std::string answer{};
    bool over = false;
  };
  struct Now {
    std::shared_ptr<HttpSource> source;
    steady::time_point time;
  };

  // Returns nothing once the sender must end.
  std::optional<Now> look() {
    const system::MutexLock lock(mutex_);
    if (ending_) return std::nullopt;
    for (Bytes& payload : added_) messages_.push_back({std::move(payload)});
    added_.clear();
    return Now{source_.lock(), steady::now() + shift_};
  }

  void run() {
    while (const auto now = look()) {
      read_answers(now->time);
      if (now->source != nullptr) send_next(*now);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  static std::int64_t received_by(HttpSource& source) {
    for (const SourceFigure& figure : source.figures()) {
      if (figure.name == "received") return figure.value;
    }
    return -1;  // it was closed
  }

  void send_next(const Now& now) {
    const auto next = std::ranges::find_if(messages_, [&](const Sent& one) {
      return !one.over && !one.socket.valid() && one.due <= now.time;
    });
    if (next == messages_.end()) return;
    const std::int64_t before = received_by(*now.source);
    if (before < 0) return;
    next->answer.clear();
    next->socket = test::http_sent(
        now.source->port(),
        fmt::format(
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
            next->payload.size(), next->payload));
    // The next one is to come behind it.
    while (next->socket.valid() && received_by(*now.source) == before) std::this_thread::yield();
  }

  void read_answers(steady::time_point now) {
    for (Sent& one : messages_) {
      if (!one.socket.valid()) continue;
      char bytes[4096];
      ssize_t got = 0;
      while ((got = ::recv(one.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
        one.answer.append(bytes, static_cast<std::size_t>(got));
      }
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) continue;
      one.socket = {};
      const test::HttpAnswer answer = test::http_answer(one.answer);
      one.over = answer.status == 200 || answer.status == 202;
      // If the connection was cut, there is no time to wait for.
      one.due = now + std::chrono::seconds(std::atoi(answer.header("Retry-After").c_str()));
    }
  }

  system::Mutex mutex_;
  std::vector<Bytes> added_ SEMEL_GUARDED_BY(mutex_);
  std::weak_ptr<HttpSource> source_ SEMEL_GUARDED_BY(mutex_);
  milliseconds shift_ SEMEL_GUARDED_BY(mutex_){0};
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::vector<Sent> messages_;  // the thread's
  std::thread thread_;
};

class HttpPlace final : public SourcePlace {
 public:
  void add(const std::vector<Bytes>& payloads) override { sender_.add(payloads); }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    core::HttpSourceSpec spec;
    spec.listen = {"127.0.0.1", 0};
    spec.max_body = 1 << 20;
    auto source = std::make_shared<HttpSource>(std::move(spec), system_environment());
    if (!source->listen()) return nullptr;
    sender_.send_to(source);
    return std::make_unique<SharedHttpSource>(std::move(source));
  }
  void advance(milliseconds by) override { sender_.advance(by); }

 private:
  WebhookSender sender_;
};

INSTANTIATE_TEST_SUITE_P(Http, SourceSuite,
                         testing::Values(SourceCase{
                             "http", [] { return std::unique_ptr<SourcePlace>(new HttpPlace); }}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace semel::conformance
