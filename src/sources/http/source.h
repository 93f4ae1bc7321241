// HttpSource: each request is a message, or a batch of them, and waits for its answer.
//
// The HTTP server's thread has all connections: it refuses what is no message, puts the others
// aside, and lets them wait in the ledger for `receive`. When a delivery is settled its request is
// answered, by what `ended` said of it; a batch of CloudEvents when all of its events are. A
// request that waits for too long is answered without: its delivery goes on, and the sender asks
// again under the same key.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

#include "core/delivery_ledger.h"
#include "http_server/http_server.h"
#include "sources/http/make_http_source.h"
#include "sources/http/pending_request.h"
#include "sources/http/requests.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::sources {

class HttpSource final : public Source {
 public:
  HttpSource(core::HttpSourceSpec spec, Environment& environment);
  // Like a process that dies: no request gets a good answer.
  ~HttpSource() override = default;

  Result<void> listen();
  std::uint16_t port() const noexcept { return server_->port(); }  // valid once it listens

  const SourceTraits& traits() const noexcept override { return kHttpTraits; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  void end_intake() noexcept override SEMEL_EXCLUDES(mutex_);
  Result<void> settle(std::span<const Settlement> settlements) override;
  void ended(const Tag& tag, const Outcome& outcome) noexcept override;
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override;
  std::vector<SourceFigure> figures() override;
  Result<void> close(std::chrono::milliseconds deadline) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Responder = std::shared_ptr<http::HttpResponder>;

  // A message that is not settled.
  struct Waiting {
    std::unique_ptr<Arrival> arrival;         // until it is handed out
    std::shared_ptr<PendingRequest> request;  // the one that it came with
    std::size_t message = 0;                  // its place there
    std::optional<MessageAnswer> answer;
    TimePoint deadline{};
  };
  using Ledger = core::DeliveryLedger<Waiting>;
  // Requests whose answers are whole: they are given with nothing locked.
  using Answered = std::vector<std::shared_ptr<PendingRequest>>;
  static void give(const Answered& answered) noexcept;
  // The first answer of a message counts.
  static void conclude(const Waiting& waiting, MessageAnswer answer, Answered& answered);

  // Called on the HTTP server's thread.
  std::optional<http::HttpResponse> admit(const http::HttpRequest& request) SEMEL_EXCLUDES(mutex_);
  http::HttpReply handle(const http::HttpRequest& request);
  void wait_for_answer(RequestRules::Messages messages, Responder responder) SEMEL_EXCLUDES(mutex_);
  // The answer where so many more messages cannot be taken now.
  std::optional<MessageAnswer> no_room_for(std::size_t messages) const SEMEL_REQUIRES(mutex_);
  void look_at_deadlines() noexcept SEMEL_EXCLUDES(mutex_);

  Waiting* find(const Tag& tag) SEMEL_REQUIRES(mutex_);
  // REQUIRES: one waits to be handed out.
  void refuse_next(MessageAnswer answer, Answered& answered) SEMEL_REQUIRES(mutex_);
  void count_refusal() SEMEL_EXCLUDES(mutex_);
  void note_certificate(const Error* error) SEMEL_EXCLUDES(mutex_);

  const core::HttpSourceSpec spec_;
  Environment& environment_;
  const RequestRules rules_;
  const std::uint64_t generation_;  // another one in each process
  const std::string positions_;     // the beginning of its positions
  system::EventFd event_;

  bool wakes_ = false;  // used by the server's thread only: a message waits, and nobody was told

  // Used by the receiving thread only.
  bool more_ = false;
  bool told_ = false;  // the listening address was reported

  mutable system::Mutex mutex_;
  std::vector<std::string> notices_ SEMEL_GUARDED_BY(mutex_);  // for receive() to report
  Ledger ledger_ SEMEL_GUARDED_BY(mutex_);
  std::uint64_t last_ SEMEL_GUARDED_BY(mutex_) = 0;        // the number of the newest message
  std::uint64_t handed_out_ SEMEL_GUARDED_BY(mutex_) = 0;  // and of the newest that waits no more
  std::size_t overdue_to_ SEMEL_GUARDED_BY(mutex_) = 0;    // so many are past their deadlines
  std::size_t refused_ SEMEL_GUARDED_BY(mutex_) = 0;
  bool paused_ SEMEL_GUARDED_BY(mutex_) = false;
  bool takes_no_more_ SEMEL_GUARDED_BY(mutex_) = false;
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;

  // Last: it is destroyed first, and calls nothing after that.
  std::unique_ptr<http::HttpServer> server_;
};

}  // namespace semel::sources
