#include "cli/run_health.h"

#include <chrono>

#include <semel/outcome.h>
#include <semel/reason.h>

#include "system/utc_clock.h"

namespace semel::cli {

namespace {

std::int64_t now_ms() { return system::utc_now().time_since_epoch().count(); }

}  // namespace

RunHealth::RunHealth(const std::vector<std::string>& consumers) {
  for (const std::string& name : consumers) last_end_ms_[name] = 0;
}

void RunHealth::on_ended(std::string_view consumer, const Delivery&, const Outcome& outcome,
                         std::chrono::nanoseconds) noexcept {
  // A store that cannot be written ends no delivery: it comes again.
  if (outcome.reason == reason::kStoreUnavailable) return;
  const auto found = last_end_ms_.find(consumer);
  if (found != last_end_ms_.end()) found->second.store(now_ms(), std::memory_order_relaxed);
}

void RunHealth::on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                           bool mended) noexcept {
  const system::MutexLock lock(mutex_);
  const std::pair<std::string, std::string> key(consumer, where);
  if (mended) {
    troubles_.erase(key);
    return;
  }
  Trouble& trouble = troubles_[key];
  if (trouble.since_ms == 0) trouble.since_ms = now_ms();
  trouble.text = error.message;
}

void RunHealth::add_to(tap::Figures& figures) const {
  for (const auto& [consumer, last] : last_end_ms_) {
    const std::int64_t at = last.load(std::memory_order_relaxed);
    if (at == 0) continue;
    SourceFigure figure;
    figure.name = kLastEndFigure;
    figure.value = at;
    figures.all.push_back({consumer, std::string(kRunHealth), std::move(figure)});
  }
  const system::MutexLock lock(mutex_);
  for (const auto& [key, trouble] : troubles_) {
    SourceFigure figure;
    figure.name = kTroubleFigure;
    figure.partition = key.second;
    figure.value = trouble.since_ms;
    figure.text = trouble.text;
    figures.all.push_back({key.first, std::string(kRunHealth), std::move(figure)});
  }
}

}  // namespace semel::cli
