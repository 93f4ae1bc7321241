// SpanExporter: takes spans from any thread and brings them to a collector in batches, on a thread
// of its own.
//
// Nobody waits for it: what finds no room in its queue is dropped and counted. A batch that the
// collector does not take is tried again, at growing distances, until the exporter has waited long
// enough for it; then it is dropped too.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
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
  std::size_t batch = 512;                     // spans of a request, at most
  std::chrono::milliseconds wait{1'000};       // for a batch to fill
  std::chrono::milliseconds patience{60'000};  // with a batch that is not taken
  std::chrono::milliseconds first_backoff{500};
  std::chrono::milliseconds longest_backoff{15'000};
};

class SpanExporter final : public SpanSink {
 public:
  enum Dropped : std::size_t {
    kQueueFull,    // no room: more spans than the collector takes, or it is away
    kRefused,      // the collector said that it does not want them
    kUnavailable,  // it was away for too long, or when the run ended
  };
  static constexpr std::array<const char*, 3> kDroppedWords{"queue_full", "refused", "unavailable"};
  struct Counts {
    std::uint64_t exported = 0;
    std::array<std::uint64_t, kDroppedWords.size()> dropped{};
    std::uint64_t all_dropped() const noexcept;
  };
  // Told once when the collector is away or refuses, and once when it takes spans again; from the
  // exporter's thread.
  using Tell = std::function<void(const std::string& text)>;

  SpanExporter(std::unique_ptr<SpanPost> post, TracedResource resource, ExporterOptions options,
               Random& random, Tell tell);
  // As end(), without time for it.
  ~SpanExporter() override;

  void on_span(Span span) noexcept override SEMEL_EXCLUDES(mutex_);
  // Exports what is in the queue, for at most about so long; what is left is dropped. A collector
  // that is away is not waited for. Later spans are dropped.
  void end(std::chrono::milliseconds within) SEMEL_EXCLUDES(mutex_);
  Counts counts() const noexcept;

 private:
  void work() noexcept SEMEL_EXCLUDES(mutex_);
  std::vector<Span> next_batch() SEMEL_EXCLUDES(mutex_);
  void send(const std::vector<Span>& batch) SEMEL_EXCLUDES(mutex_);
  // False: the run ends.
  bool wait(std::chrono::milliseconds time) SEMEL_EXCLUDES(mutex_);
  void taken(const std::vector<Span>& batch, const PostAnswer& answer);
  void drop(Dropped why, std::size_t spans) noexcept;
  void trouble(const PostAnswer& answer);

  const std::unique_ptr<SpanPost> post_;
  const TracedResource resource_;
  const ExporterOptions options_;
  Random& random_;
  const Tell tell_;
  std::atomic<std::uint64_t> exported_{0};
  std::array<std::atomic<std::uint64_t>, kDroppedWords.size()> dropped_{};
  bool in_trouble_ = false;           // the thread's own
  std::uint64_t dropped_before_ = 0;  // likewise: when the trouble began
  system::Mutex mutex_;
  system::CondVar changed_;
  std::deque<Span> queue_ SEMEL_GUARDED_BY(mutex_);
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::traces
