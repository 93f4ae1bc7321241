#include "traces/span_exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/printable.h"
#include "system/block_signals.h"

namespace semel::traces {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// At the end, for a collector that was away: it may be back.
constexpr milliseconds kLastTry{500};

// A small queue is emptied before it is full.
ExporterOptions fitting(ExporterOptions options) noexcept {
  options.batch = std::clamp(options.queue / 2, std::size_t{1}, options.batch);
  return options;
}

}  // namespace

std::uint64_t SpanExporter::Counts::all_dropped() const noexcept {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0});
}

SpanExporter::SpanExporter(std::unique_ptr<SpanPost> post, TracedResource resource,
                           ExporterOptions options, Random& random, Tell tell)
    : post_(std::move(post)),
      resource_(std::move(resource)),
      options_(fitting(options)),
      random_(random),
      tell_(std::move(tell)),
      backoff_(options_.first_backoff),
      thread_([this] { work(); }) {}

SpanExporter::~SpanExporter() { end(milliseconds(0)); }

void SpanExporter::on_span(Span span) noexcept {
  bool due = false;
  try {
    const system::MutexLock lock(mutex_);
    if (ending_) return drop(kUnavailable, 1);
    if (queue_.size() >= options_.queue) return drop(kQueueFull, 1);
    queue_.push_back(std::move(span));
    due = queue_.size() == 1 || queue_.size() == options_.batch;
  } catch (...) {
    // Without memory there is no room.
    return drop(kQueueFull, 1);
  }
  if (due) changed_.notify_all();
}

void SpanExporter::end(milliseconds within) {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  if (in_trouble_.load()) within = std::min(within, kLastTry);
  post_->end_by(steady_clock::now() + within);
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

SpanExporter::Counts SpanExporter::counts() const noexcept {
  Counts made;
  made.exported = exported_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < dropped_.size(); ++i) {
    made.dropped[i] = dropped_[i].load(std::memory_order_relaxed);
  }
  return made;
}

void SpanExporter::work() noexcept {
  system::block_signals();
  for (;;) {
    std::size_t taken_out = 0;
    try {
      const std::vector<Span> batch = next_batch();
      if (batch.empty()) return;
      taken_out = batch.size();
      send(batch);
    } catch (...) {
      // If memory runs out, the request's spans are lost.
      drop(kUnavailable, taken_out);
    }
  }
}

// Empty: the run has ended, and nothing is left.
std::vector<Span> SpanExporter::next_batch() {
  std::vector<Span> batch;
  batch.reserve(options_.batch);
  const system::MutexLock lock(mutex_);
  changed_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return ending_ || !queue_.empty(); });
  changed_.wait_for(mutex_, options_.wait, [this]() SEMEL_REQUIRES(mutex_) {
    return ending_ || queue_.size() >= options_.batch;
  });
  changed_.wait_for(mutex_, not_before_ - steady_clock::now(),
                    [this]() SEMEL_REQUIRES(mutex_) { return ending_; });
  const auto count = static_cast<std::ptrdiff_t>(std::min(options_.batch, queue_.size()));
  std::move(queue_.begin(), queue_.begin() + count, std::back_inserter(batch));
  queue_.erase(queue_.begin(), queue_.begin() + count);
  return batch;
}

void SpanExporter::send(const std::vector<Span>& batch) {
  const std::string body = otlp_json(batch, resource_);
  const auto until = steady_clock::now() + options_.patience;
  for (;;) {
    const PostAnswer answer = post_->post(body);
    if (answer.kind != PostAnswer::Kind::kAway) backoff_ = options_.first_backoff;
    if (answer.kind == PostAnswer::Kind::kTaken) return taken(batch, answer);
    trouble(answer);
    if (answer.kind == PostAnswer::Kind::kRefused) return drop(kRefused, batch.size());
    if (ending()) {
      drop(kUnavailable, batch.size());
      return drop_queue();
    }
    const milliseconds pause = next_pause(answer);
    not_before_ = steady_clock::now() + pause;
    if (not_before_ >= until || !wait(pause)) return drop(kUnavailable, batch.size());
  }
}

bool SpanExporter::ending() {
  const system::MutexLock lock(mutex_);
  return ending_;
}

void SpanExporter::drop_queue() {
  const system::MutexLock lock(mutex_);
  drop(kUnavailable, queue_.size());
  queue_.clear();
}

milliseconds SpanExporter::next_pause(const PostAnswer& answer) {
  // Jitter, so that many processes do not send simultaneously when their collector returns.
  const auto jitter =
      milliseconds(random_.next() % (static_cast<std::uint64_t>(backoff_.count()) + 1));
  const milliseconds own = backoff_ / 2 + jitter / 2;
  backoff_ = std::min(backoff_ * 2, options_.longest_backoff);
  return std::max(own, answer.retry_after.value_or(milliseconds(0)));
}

bool SpanExporter::wait(milliseconds time) {
  const system::MutexLock lock(mutex_);
  return !changed_.wait_for(mutex_, time, [this]() SEMEL_REQUIRES(mutex_) { return ending_; });
}

void SpanExporter::taken(const std::vector<Span>& batch, const PostAnswer& answer) {
  const std::size_t rejected = std::min(answer.rejected, batch.size());
  in_trouble_.store(false);
  if (std::exchange(trouble_told_, false)) {
    tell_(fmt::format("spans are exported again; {} were lost meanwhile",
                      counts().all_dropped() - dropped_before_));
  }
  if (rejected > 0) {
    drop(kRefused, rejected);
    tell_rejected(rejected, answer);
  }
  exported_.fetch_add(batch.size() - rejected, std::memory_order_relaxed);
}

void SpanExporter::drop(Dropped why, std::size_t spans) noexcept {
  dropped_[why].fetch_add(spans, std::memory_order_relaxed);
}

void SpanExporter::trouble(const PostAnswer& answer) {
  in_trouble_.store(true);
  if (trouble_told_ || !may_say(trouble_said_)) return;
  trouble_told_ = true;
  dropped_before_ = counts().all_dropped();
  tell_(
      fmt::format("warning[R350]: the collector does not take spans: {}; up to {} of them wait, "
                  "the others are lost, and the work goes on",
                  printable_text(answer.error), options_.queue));
}

void SpanExporter::tell_rejected(std::size_t rejected, const PostAnswer& answer) {
  if (!may_say(rejection_said_)) return;
  tell_(fmt::format("warning[R350]: the collector rejects {} spans of a batch: {}; they are lost",
                    rejected, printable_text(answer.error)));
}

bool SpanExporter::may_say(std::optional<steady_clock::time_point>& last) const noexcept {
  const auto now = options_.clock->now();
  if (last && now - *last < options_.between_lines) return false;
  last = now;
  return true;
}

}  // namespace semel::traces
