// Claims: who may handle a key, decided inside an open write transaction.
#pragma once

#include <span>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>

#include "stores/sqlite/finish_writer.h"
#include "stores/sqlite/tables.h"

namespace semel::sqlite {

// Sorts the messages' indexes by their ids, which is the order of the tables.
void sort_by_id(std::span<const Message* const> messages, std::vector<std::uint32_t>& order);

// The answer for a completed record.
Claim answer_of(Tables& tables, const Finished& found, const Message& message, bool want_result);

// Two phases: the claim commits before the work begins.
class LeaseClaims {
 public:
  LeaseClaims(Tables& tables, Environment& environment) noexcept
      : tables_(tables), environment_(environment) {}
  std::vector<Claim> claim(std::span<const Message* const> messages, const ClaimOptions& options,
                           std::int64_t instance, StoreTime now);

 private:
  // A key without a completed record. Most are new: then they cost a part of one statement.
  struct Open {
    std::uint32_t at;  // in the request
    spi::ClaimRequest request;
    Claim fresh;  // the answer for a new key
  };
  void add(std::vector<Claim>& answers, std::int64_t instance, StoreTime now);
  // `added`: its record may be there already, since this claim.
  Claim claim_one(Open& open, const LiveRows::Claimed& claimed, std::int64_t instance, bool added,
                  StoreTime now);

  Tables& tables_;
  Environment& environment_;
  std::vector<std::uint32_t> order_;
  // Not added yet; both have the same order.
  std::vector<Open> open_;
  std::vector<LiveRows::Claimed> claimed_;
};

// One phase: the claim is the completed record itself, in the transaction of the work.
class UnitClaims {
 public:
  explicit UnitClaims(Tables& tables) noexcept : tables_(tables), finish_writer_(tables) {}

  // Begins a new unit: nothing is claimed.
  void begin() noexcept { used_ = 0; }
  std::vector<Claim> claim(std::span<const Message* const> messages, const UnitOptions& options,
                           StoreTime now);
  Applied finish(const Finish& finish, StoreTime now);
  bool unfinished() const noexcept;

 private:
  struct Claimed {
    KeyId id;
    Fingerprint fingerprint;
    Bytes key;
    Generation* generation = nullptr;
    std::optional<LiveRow> live;  // of an earlier attempt, as this claim leaves it
    std::optional<std::int64_t> inbox;
    StoreTime at{};
    bool finished = false;
  };
  Claim claim_one(std::size_t at, const Message& message, const UnitOptions& options, bool any_live,
                  StoreTime now);
  Applied finish_one(const Finish& finish, StoreTime now);
  Claimed* find(const KeyId& id) noexcept;
  Claimed& remember(std::size_t at, const Message& message, Generation& generation, StoreTime now);

  Tables& tables_;
  FinishWriter finish_writer_;
  // In the order of the request; reused by later units, to avoid allocations.
  std::vector<Claimed> claimed_;
  std::size_t used_ = 0;
  std::size_t next_ = 0;  // the likely index of the next finish
  std::vector<std::uint32_t> order_;
  std::int64_t next_inbox_ = 0;
};

}  // namespace semel::sqlite
