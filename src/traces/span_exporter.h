// SpanExporter: takes spans from any thread and sends them to a collector in batches, on a thread
// of its own.
//
// No thread waits for it: spans that do not fit into its queue are dropped and counted. A batch
// that the collector does not accept is retried, at growing intervals, until the exporter's
// patience is over; then it is dropped too. The reached pause applies to the next batch as well.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <semel/environment.h>
#include <semel/trace.h>

#include "system/mutex.h"
#include "traces/otlp_json.h"
#include "traces/span_post.h"

namespace semel::traces {

struct ExporterOptions {
  std::size_t queue = core::TracesSpec().queue;
  std::size_t batch = 512;                     // the most spans of a request
  std::chrono::milliseconds wait{1'000};       // for a batch to fill
  std::chrono::milliseconds patience{60'000};  // with a batch that is not accepted
  std::chrono::milliseconds first_backoff{500};
  std::chrono::milliseconds longest_backoff{15'000};
  std::chrono::milliseconds between_lines{60'000};  // of equal log lines
  Clock* clock = system_environment().clock;        // for those; borrowed
};

class SpanExporter final : public SpanSink {
 public:
  enum Dropped : std::size_t {
    kQueueFull,    // no room: more spans than the collector accepts, or it is unavailable
    kRefused,      // the collector refused them
    kUnavailable,  // it was unavailable for too long, or when the run ended
  };
  static constexpr std::array<const char*, 3> kDroppedWords{"queue_full", "refused", "unavailable"};
  struct Counts {
    std::uint64_t exported = 0;
    std::array<std::uint64_t, kDroppedWords.size()> dropped{};
    std::uint64_t all_dropped() const noexcept;
  };
  // Called once when the collector is unavailable or refuses, and once when it accepts spans again;
  // also for spans that it rejects out of a batch. Limited by the options, however often that
  // changes. Called on the exporter's thread.
  using Tell = std::function<void(const std::string& text)>;

  SpanExporter(std::unique_ptr<SpanPost> post, TracedResource resource, ExporterOptions options,
               Random& random, Tell tell);
  // Like end(), without time for it.
  ~SpanExporter() override;

  void on_span(Span span) noexcept override SEMEL_EXCLUDES(mutex_);
  // Exports the queue, for at most about `within`; the rest is dropped, and all of it if the
  // collector is unavailable. If it was unavailable before, it gets less time. Later spans are
  // dropped.
  void end(std::chrono::milliseconds within) SEMEL_EXCLUDES(mutex_);
  Counts counts() const noexcept;

 private:
  void work() noexcept SEMEL_EXCLUDES(mutex_);
  std::vector<Span> next_batch() SEMEL_EXCLUDES(mutex_);
  void send(const std::vector<Span>& batch) SEMEL_EXCLUDES(mutex_);
  bool ending() SEMEL_EXCLUDES(mutex_);
  void drop_queue() SEMEL_EXCLUDES(mutex_);
  std::chrono::milliseconds next_pause(const PostAnswer& answer);
  // False: the run ends.
  bool wait(std::chrono::milliseconds time) SEMEL_EXCLUDES(mutex_);
  void taken(const std::vector<Span>& batch, const PostAnswer& answer);
  void drop(Dropped why, std::size_t spans) noexcept;
  void trouble(const PostAnswer& answer);
  void tell_rejected(std::size_t rejected, const PostAnswer& answer);
  // True, and noted as logged now, unless it was logged a short while ago.
  bool may_say(std::optional<std::chrono::steady_clock::time_point>& last) const noexcept;

  const std::unique_ptr<SpanPost> post_;
  const TracedResource resource_;
  const ExporterOptions options_;
  Random& random_;
  const Tell tell_;
  std::atomic<std::uint64_t> exported_{0};
  std::array<std::atomic<std::uint64_t>, kDroppedWords.size()> dropped_{};
  std::chrono::milliseconds backoff_;                   // used by the thread only
  std::chrono::steady_clock::time_point not_before_{};  // likewise: of the next post
  std::atomic<bool> in_trouble_{false};                 // set by the thread only
  std::uint64_t dropped_before_ = 0;  // used by the thread only: when the trouble began
  bool trouble_told_ = false;         // likewise, and so are the next two
  std::optional<std::chrono::steady_clock::time_point> trouble_said_;
  std::optional<std::chrono::steady_clock::time_point> rejection_said_;
  system::Mutex mutex_;
  system::CondVar changed_;
  std::deque<Span> queue_ SEMEL_GUARDED_BY(mutex_);
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::traces
