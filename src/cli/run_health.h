// RunHealth: what a run says of itself to `semel status`, beside the figures of its sources.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/observer.h>

#include "system/mutex.h"
#include "tap/figures.h"

namespace semel::cli {

// The `source` of its figures. No source has this name.
inline constexpr std::string_view kRunHealth = "run";
inline constexpr std::string_view kTroubleFigure = "trouble";
inline constexpr std::string_view kLastEndFigure = "last_end";

// Safe for several threads.
class RunHealth final : public Observer {
 public:
  explicit RunHealth(const std::vector<std::string>& consumers);

  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override;

  // Each trouble that lasts, since when (milliseconds since 1970), and when a delivery last ended.
  void add_to(tap::Figures& figures) const SEMEL_EXCLUDES(mutex_);

 private:
  struct Trouble {
    std::int64_t since_ms = 0;
    std::string text;
  };

  std::map<std::string, std::atomic<std::int64_t>, std::less<>> last_end_ms_;
  mutable system::Mutex mutex_;
  // By consumer and where it is.
  std::map<std::pair<std::string, std::string>, Trouble> troubles_ SEMEL_GUARDED_BY(mutex_);
};

}  // namespace semel::cli
