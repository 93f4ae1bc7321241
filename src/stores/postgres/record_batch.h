// RecordBatch: statements on semel_record for many keys at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stores/postgres/connection.h"
#include "stores/sql/batch_finish.h"

namespace semel::postgres {

// A record as it is in the table.
struct Found {
  KeyId id;
  sql::RecordRow row;
  bool lease_ended = false;  // of those taken over: it was consuming
};

// The rules of spi::decide_claim as conditions on a record `r`: that it may be claimed now, and
// that it is consuming.
std::string due(const std::string& clock);
std::string_view consuming() noexcept;

struct BatchTexts {
  BatchTexts(const Dialect& dialect, const std::string& clock);

  sql::SqlText find;  // ids; their results, too, where asked for
  sql::SqlText find_with_result;
  sql::SqlText lock_due;   // ids: those that may be claimed now, locked
  sql::SqlText take_over;  // ids, fingerprints, nonces, lease, holder: those that may be claimed
                           // now, but for those that their own nonce holds
  sql::SqlText renew;      // ids, nonces, lease
  sql::SqlText confirm;    // ids, nonces: locked
  sql::SqlText lock;       // ids
  sql::SqlText complete;   // ids, nonces, results: those for which nothing else is kept
  // Ids, and each with its nonce behind it: the same for completions without results, in a
  // transaction in which `by_id` came first.
  sql::SqlText complete_alone;
  std::string by_id;
  sql::SqlText set_results;  // ids, results
  sql::SqlText keep;         // rows, consumers, keys, types, content types, results, payloads
};

// Rows of find, find_with_result or lock_due; with them the server's clock.
struct FoundRows {
  std::vector<Found> rows;
  StoreTime now{};
};
FoundRows found_in(const PGresult* result);
// The same, of take_over.
FoundRows taken_in(const PGresult* result);

// The leases that hold their records, in order, as returned by `text` (renew or confirm), which
// takes ids and nonces, and then `more`.
std::vector<sql::Holding> held_by(Connection& connection, const sql::SqlText& text,
                                  std::span<const Lease> leases,
                                  std::optional<std::int64_t> more = std::nullopt);

class ManyRecords final : public sql::ManyRecords {
 public:
  ManyRecords(Connection& connection, const BatchTexts& texts)
      : connection_(connection), texts_(texts) {}

  void lock(std::span<const KeyId> records) override;
  std::vector<KeyId> complete(std::span<const Finish* const> finishes) override;
  bool has_at_once(std::span<const Finish> finishes) const noexcept override;
  std::vector<KeyId> complete_at_once(std::span<const Finish> finishes) override;
  void set_results(std::span<const WithResult> records) override;
  void keep(std::span<const Kept> messages) override;

 private:
  Connection& connection_;
  const BatchTexts& texts_;
};

}  // namespace semel::postgres
