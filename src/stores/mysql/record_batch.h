// RecordBatch: statements on semel_record for many keys at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stores/mysql/connection.h"
#include "stores/sql/batch_finish.h"

namespace semel::mysql {

// A record as the table has it.
struct Found {
  KeyId id;
  sql::RecordRow row;
};
// With the server's clock.
struct FoundRows {
  std::vector<Found> rows;
  StoreTime now{};
};

// What keeps others from a row while it is read.
enum class Hold { kNothing, kLock };

// Texts are made for each call: what is read or changed together is in one statement.
class RecordBatch {
 public:
  RecordBatch(Connection& connection, const std::string& clock)
      : connection_(connection), clock_(clock) {}

  // Those of `ids` that are there; locked in the order of their ids. Of an inbox the result stands
  // there: it is read where it is wanted.
  FoundRows find(std::span<const KeyId> ids, Hold hold, bool with_result = false);
  // What may be kept beside a record: a payload, a message in the inbox.
  enum class Beside { kAnything, kNothing };
  // Of `leases` the ids whose records they hold, in their order; locked.
  std::vector<KeyId> lock_held(std::span<const Lease> leases, Beside beside = Beside::kAnything);
  // Of records that are locked.
  void queue_renewal(std::span<const KeyId> ids, std::chrono::milliseconds lease);

  struct New {
    KeyId id;
    const Fingerprint* fingerprint = nullptr;
    std::optional<std::int64_t> inbox;
    // Of one that is claimed in two phases.
    const Nonce* nonce = nullptr;
    BytesView key;
  };
  // Queue the making of records that are done, which all have an inbox or none has; or of ones that
  // are claimed for `lease`, with tokens from @semel_token on. A row that is there stays as it is,
  // and counts as none.
  void queue_completed(std::span<const New> records, std::int64_t generation);
  void queue_consuming(std::span<const New> records, std::int64_t generation,
                       std::chrono::milliseconds lease, std::int64_t holder);
  // Makes those that are done, in one trip: whether each was made. Not where a row is there, in
  // which case that is locked. It is told so whatever the client calls a changed row.
  std::vector<bool> make_completed(std::span<const New> records, std::int64_t generation);
  // Of records that are completed now.
  void queue_unlisting(std::span<const KeyId> ids);
  // Queues what sets @semel_token, and reads it.
  void queue_token();

  // Of `ids`, those whose rows another transaction holds or has just made. Outside of a
  // transaction; waits for nobody.
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
