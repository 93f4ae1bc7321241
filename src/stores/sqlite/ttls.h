// Ttls: how long the completed records of each consumer are kept; looked up for every message, so
// they are cached in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stores/sql/consumers.h"

namespace semel::sqlite {

using sql::Ttl;

class Ttls {
 public:
  explicit Ttls(sql::Consumers& consumers) noexcept : consumers_(consumers) {}

  // Throws Failure for a number that was never attached.
  const Ttl& of(ConsumerNumber number) {
    for (const Known& known : known_) {
      if (known.number == number) return known.ttl;
    }
    return known_.emplace_back(Known{number, consumers_.ttl(number)}).ttl;
  }
  // Call it once in each transaction: `version` grows in the transaction that changes a ttl, in any
  // process.
  void begin(std::int64_t version) noexcept {
    if (version_ == version) return;
    forget();
    version_ = version;
  }
  // Call it where a ttl may have changed.
  void forget() noexcept { known_.clear(); }

 private:
  struct Known {
    ConsumerNumber number;
    Ttl ttl;
  };

  sql::Consumers& consumers_;
  std::vector<Known> known_;
  std::optional<std::int64_t> version_;
};

}  // namespace semel::sqlite
