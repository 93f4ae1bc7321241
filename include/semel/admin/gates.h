// Gates: the consumers that begin nothing for now, and why. Kept in the store, so that every
// process and an operator sees them. Thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <semel/admin/records.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel {

struct ShutGate {
  std::string why;
  StoreTime since;
  std::optional<StoreTime> until;  // nullopt: until a person resumes the consumer
};

class Gates {
 public:
  virtual ~Gates() = default;

  // nullopt where the consumer's gate is open, or was shut until a time that has passed.
  virtual Result<std::optional<ShutGate>> state(ConsumerNumber consumer) = 0;
  // Without a time: paused, until resumed. A pause is not made shorter, and keeps its first reason.
  virtual Result<void> shut(ConsumerNumber consumer, std::string_view why,
                            std::optional<std::chrono::milliseconds> time) = 0;
  // Opens a gate that was shut for a time; a paused one stays as it is.
  virtual Result<void> open(ConsumerNumber consumer) = 0;
  // By a person: opens any gate. False where it was open.
  virtual Result<bool> resume(ConsumerNumber consumer) = 0;
};

}  // namespace semel
