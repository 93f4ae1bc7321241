// EndingView: how one delivery ended, as shown to taps. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include <semel/admin/records.h>
#include <semel/bytes.h>
#include <semel/outcome.h>
#include <semel/spi/delivery.h>

namespace semel::tap {

inline constexpr Outcome::Kind kAllOutcomes[] = {
    Outcome::Kind::kDone,      Outcome::Kind::kDuplicate, Outcome::Kind::kBusy,
    Outcome::Kind::kConflict,  Outcome::Kind::kRetry,     Outcome::Kind::kDead,
    Outcome::Kind::kDiscarded, Outcome::Kind::kParked};

// nullopt where `word` names no outcome.
std::optional<Outcome::Kind> outcome_of(std::string_view word) noexcept;

// Borrows everything it shows.
struct EndingView {
  std::string_view consumer{};
  std::optional<BytesView> key{};  // nullopt: a message that has no key or could not be read
  Outcome::Kind outcome = Outcome::Kind::kDone;
  bool closed_before = false;  // dead or parked: its record was in that state already
  int attempt = 0;             // 0: the handler did not run
  std::string_view reason{};
  std::string_view error{};
  std::chrono::milliseconds again_in{0};
  std::optional<StoreTime> completed_at{};  // for a duplicate: when its effect was recorded
  std::string_view partition{};
  std::string_view position{};
  std::optional<std::chrono::nanoseconds> took{};
  BytesView payload{};
};

EndingView view_of(std::string_view consumer, const Delivery& delivery, const Outcome& outcome,
                   std::chrono::nanoseconds took) noexcept;
// For a message that was refused: it became a dead letter without a delivery.
EndingView view_of(std::string_view consumer, const Arrival& arrival, std::string_view reason,
                   std::string_view error) noexcept;

}  // namespace semel::tap
