#include "benchmarks/preset_source.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "benchmarks/measure.h"

namespace semel::bench {

namespace {

class PresetSource final : public Source {
 public:
  PresetSource(const std::vector<std::string>& payloads, Tally& tally, std::size_t at_a_time,
               double seconds)
      : payloads_(payloads), tally_(tally), at_a_time_(at_a_time), seconds_(seconds) {
    traits_.name = "preset";
    traits_.ends = true;
    if (at_a_time_ == 1) tally_.latencies.reserve(payloads.size());
  }

  const SourceTraits& traits() const noexcept override { return traits_; }

  Result<Received> receive(const ReceiveLimits& limits) override {
    Received received;
    std::lock_guard lock(mutex_);
    std::size_t room = limits.messages;
    if (at_a_time_ > 0) room = std::min(room, at_a_time_ - open_);
    if (!watch_) watch_.emplace();
    if (seconds_ > 0 && watch_->seconds() > seconds_) end_ = next_;
    const std::size_t count = std::min(room, end_ - next_);
    received.arrivals.resize(count);
    for (Arrival& arrival : received.arrivals) {
      arrival.payload = payloads_[next_];
      arrival.tag.value = next_++;
    }
    open_ += count;
    received.at_end = next_ == end_;
    if (at_a_time_ == 1) received_at_ = std::chrono::steady_clock::now();
    return received;
  }

  Wakeup wakeup() override {
    std::lock_guard lock(mutex_);
    const bool more = next_ < end_ && (at_a_time_ == 0 || open_ < at_a_time_);
    return {-1, more ? std::optional(std::chrono::milliseconds(0)) : std::nullopt};
  }

  Result<void> settle(std::span<const Settlement> settlements) override {
    std::lock_guard lock(mutex_);
    for (const Settlement& settlement : settlements) {
      const bool done =
          settlement.kind == Settlement::Kind::kAck || settlement.kind == Settlement::Kind::kGone;
      ++(done ? tally_.acked : tally_.given_back);
    }
    open_ -= settlements.size();
    if (at_a_time_ == 1) {
      const auto took = std::chrono::steady_clock::now() - received_at_;
      tally_.latencies.push_back(std::chrono::duration<double>(took).count());
    }
    return {};
  }

  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view, bool) override {}
  Result<void> close(std::chrono::milliseconds) override { return {}; }

 private:
  const std::vector<std::string>& payloads_;
  Tally& tally_;
  const std::size_t at_a_time_;
  const double seconds_;
  std::optional<Stopwatch> watch_;
  std::size_t end_ = payloads_.size();
  SourceTraits traits_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t open_ = 0;
  std::chrono::steady_clock::time_point received_at_;
};

}  // namespace

std::unique_ptr<Source> make_preset_source(const std::vector<std::string>& payloads, Tally& tally,
                                           std::size_t at_a_time, double seconds) {
  return std::make_unique<PresetSource>(payloads, tally, at_a_time, seconds);
}

}  // namespace semel::bench
