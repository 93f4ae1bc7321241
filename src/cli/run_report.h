// RunReport: the output of `semel run` while it runs, and the counts for its summary.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <semel/observer.h>

#include "cli/console.h"
#include "tap/delivery_event.h"

namespace semel::cli {

struct RunCounts {
  static constexpr std::size_t kKinds = 8;
  std::uint64_t received = 0;
  std::uint64_t refused = 0;
  std::uint64_t held = 0;                     // stored for later: each is delivered again
  std::array<std::uint64_t, kKinds> ended{};  // by Outcome::Kind

  std::uint64_t of(Outcome::Kind kind) const { return ended[static_cast<std::size_t>(kind)]; }
  std::uint64_t deliveries() const;
};

// Prints how a delivery ended if it failed, and with -v for all: as text on stdout, or in the JSON
// log. Thread-safe.
class RunReport final : public Observer {
 public:
  // `name_width`: the length of the longest consumer's name.
  RunReport(Console& console, std::size_t name_width, bool dry_run);

  void on_received(std::string_view consumer, std::size_t deliveries) noexcept override;
  void on_ended(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                std::chrono::nanoseconds took) noexcept override;
  void on_refused(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                  std::string_view error) noexcept override;
  void on_held(std::string_view consumer, const Delivery& delivery) noexcept override;
  void on_lease_lost(std::string_view consumer, const Delivery& delivery) noexcept override;
  void on_letters_expired(std::string_view consumer, std::size_t letters) noexcept override;
  void on_trouble(std::string_view consumer, std::string_view where, const Error& error,
                  bool mended) noexcept override;
  void on_notice(std::string_view consumer, std::string_view text) noexcept override;

  RunCounts counts() const;

 private:
  // Whether an outcome is printed on stdout and in the JSON log.
  bool says(const tap::EndingView& ending) const;
  bool logs(const tap::EndingView& ending) const;
  bool worth_a_line(const tap::EndingView& ending) const;
  // `delivery`: null if the message was refused before it became one.
  void say(const tap::EndingView& ending, const Delivery* delivery);

  Console& console_;
  std::size_t name_width_;
  bool dry_run_;
  std::atomic<std::uint64_t> received_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> held_{0};
  std::array<std::atomic<std::uint64_t>, RunCounts::kKinds> ended_{};
};

// "3 deliveries, 1 effect, 2 duplicates"
std::string summary_text(const RunCounts& counts, bool dry_run);
// Adds the members of a run's summary document.
void add_counts(json::Writer& writer, const RunCounts& counts);

}  // namespace semel::cli
