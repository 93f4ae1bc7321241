// Difference: the changes that a reload of a running config would make. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace semel::config {

struct ValueChange {
  std::string path;                 // "store.sqlite.path", or within a consumer: "retry.attempts"
  std::optional<std::string> from;  // nullopt: it did not exist
  std::optional<std::string> to;    // nullopt: it is removed
  // Secrets are redacted: both texts may be equal.
  std::string origin = {};  // "semel.yaml:4:3": of the new value, or of the one that is gone
};

struct ConsumerChange {
  enum class Kind { kAdded, kChanged, kRemoved };
  std::string consumer;
  Kind kind = Kind::kChanged;
  std::vector<ValueChange> values;  // of a changed one
};
std::string_view to_string(ConsumerChange::Kind kind) noexcept;

struct Difference {
  // In the order of the new config; removed ones last.
  std::vector<ConsumerChange> consumers;
  std::vector<std::string> unchanged;
  bool tokens = false;  // those of the admin listener
  bool shown = false;  // which parts of messages it shows: admin.payloads, admin.mask, admin.errors
  // Values that only a new process can take up, by path: "store.sqlite.path",
  // "consumers.orders.source".
  std::vector<ValueChange> fixed;

  bool nothing() const noexcept { return consumers.empty() && !tokens && !shown && fixed.empty(); }
  const ConsumerChange* find(std::string_view consumer) const noexcept;
};

// Whether `to` of the next config reads what `from` of the running one stops reading: running both
// together would handle a message twice concurrently, and out of order.
bool hands_over(const Config& running, std::string_view from, const Config& next,
                std::string_view to);

// Compares the values in effect: writing out a default changes nothing. A consumer is identified by
// its name.
Difference difference(const Config& running, const Config& next);

}  // namespace semel::config
