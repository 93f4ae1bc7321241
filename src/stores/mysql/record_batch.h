// RecordBatch: statements on semel_record for many keys at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stores/mysql/connection.h"
#include "stores/sql/batch_finish.h"

namespace semel::mysql {

// A record as it is in the table.
struct Found {
  KeyId id;
  sql::RecordRow row;
};
// Includes the server's clock.
struct FoundRows {
  std::vector<Found> rows;
  StoreTime now{};
};

// How a row is locked while it is read.
enum class Hold { kNothing, kLock };

// Texts are made for each call: rows read or changed together are in one statement.
class RecordBatch {
 public:
  RecordBatch(Connection& connection, const std::string& clock)
      : connection_(connection), clock_(clock) {}

  // The existing ones of `ids`; locked in the order of their ids. The result of a record with an
  // inbox row is there: it is read on request.
  FoundRows find(std::span<const KeyId> ids, Hold hold, bool with_result = false);
  // Data that may be kept for a record in other tables: a payload, a message in the inbox.
  enum class Beside { kAnything, kNothing };
  // The ones of `leases` that hold their records, in order; locked.
  std::vector<sql::Holding> lock_held(std::span<const Lease> leases,
                                      Beside beside = Beside::kAnything);
  // The records must be locked.
  void queue_renewal(std::span<const sql::Holding> held, std::chrono::milliseconds lease);

  struct New {
    KeyId id;
    const Fingerprint* fingerprint = nullptr;
    std::optional<std::int64_t> inbox;
    // For a record that is claimed in two phases.
    const Nonce* nonce = nullptr;
    BytesView key;
  };
  // Queue the making of completed records, which all have an inbox row or none has; or of records
  // claimed for `lease`, which have their places for tokens until queue_tokens_of. An existing row
  // stays as it is, and is not counted.
  void queue_completed(std::span<const New> records, std::int64_t generation);
  void queue_consuming(std::span<const New> records, std::int64_t generation,
                       std::chrono::milliseconds lease, std::int64_t holder);
  // Makes completed records, in one round trip; returns for each whether it was made. An existing
  // row is locked instead. Independent of the client's definition of a changed row.
  std::vector<bool> make_completed(std::span<const New> records, std::int64_t generation);
  // For records that are completed now.
  void queue_unlisting(std::span<const KeyId> ids);
  // Queues the statements that set @semel_token, and read it. A transaction draws its tokens when
  // it has the rows that they are for: another may have had one while it waited, with a number that
  // was drawn later.
  static constexpr std::size_t kTokenStatements = 4;
  void queue_token();
  // Gives the records of queue_consuming their tokens, from @semel_token on: a statement for each
  // part.
  void queue_tokens_of(std::span<const New> records);

  // The ones of `ids` whose rows another transaction holds or has just made. Call it outside of a
  // transaction; it never waits.
  std::vector<KeyId> held_by_others(std::span<const KeyId> ids);

 private:
  void append_completed(std::string& text, const New& one, std::int64_t generation) const;
  void queue_listing(std::span<const New> records);
  std::string select(std::span<const KeyId> ids, Hold hold, bool with_result) const;

  Connection& connection_;
  const std::string& clock_;
};

class ManyRecords final : public sql::ManyRecords {
 public:
  ManyRecords(Connection& connection, const std::string& clock)
      : connection_(connection), clock_(clock) {}

  void lock(std::span<const KeyId> records) override;
  std::vector<KeyId> complete(std::span<const Finish* const> finishes) override;
  void set_results(std::span<const WithResult> records) override;
  void keep(std::span<const Kept> messages) override;

 private:
  Connection& connection_;
  const std::string& clock_;
};

}  // namespace semel::mysql
