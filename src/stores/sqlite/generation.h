// Generation: one table of completed records. The active one of a family takes inserts; a sealed
// one is only read.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <semel/spi/lease.h>

#include "stores/sqlite/connection.h"
#include "stores/sqlite/id_filter.h"
#include "stores/sqlite/prepared.h"
#include "stores/sqlite/ttls.h"

namespace semel::sqlite {

struct Finished {
  Fingerprint fingerprint;
  StoreTime completed_at{};
  std::optional<std::int64_t> result;  // semel_result row
  std::optional<std::int64_t> inbox;   // semel_inbox row
};

struct GenerationRow {
  std::int64_t number = 0;
  Ttl ttl;
  bool active = false;
  StoreTime created_at{};
  StoreTime sealed_at{};
  std::int64_t rows = 0;
};

class Generation {
 public:
  Generation(Connection& connection, GenerationRow row);

  const GenerationRow& row() const noexcept { return row_; }
  GenerationRow& row() noexcept { return row_; }

  // False where the id exists already.
  bool insert(const KeyId& id, const Fingerprint& fingerprint, StoreTime now,
              std::optional<std::int64_t> inbox);
  // The same for a live record that `nonce` holds and for which nothing else is kept: in one
  // statement, after which the caller erases the live row. False where there is no such record, or
  // where the id exists here already.
  bool insert_live(const KeyId& id, const Nonce& nonce, StoreTime now);
  // The same for kTogether leases in one statement; returns how many it inserted.
  static constexpr std::size_t kTogether = 10;
  std::size_t insert_live(std::span<const Lease* const, kTogether> leases, StoreTime now);
  std::optional<Finished> find(const KeyId& id);
  bool erase(const KeyId& id);
  void set_detail(const KeyId& id, std::optional<std::int64_t> result,
                  std::optional<std::int64_t> inbox);
  bool empty();

  // False where the id cannot be here, without reading the table's leaves. Its memory of a table
  // that takes inserts is valid for one `transaction`.
  bool may_hold(const KeyId& id, std::uint64_t transaction);
  // Forgets what was read in a transaction that may have been rolled back.
  void forget() noexcept { ranges_.clear(); }

  // For a sealed table; null until it is built.
  std::shared_ptr<const IdFilter> filter;
  // Inserts that the stored count does not include yet.
  std::int64_t uncounted = 0;
  // The value at the beginning of this transaction.
  std::int64_t uncounted_before = 0;

 private:
  // The ids of one consumer and class. Sealed tables lose rows and gain none, so a range stays
  // right.
  struct Range {
    std::array<unsigned char, 4> prefix;
    std::uint64_t transaction;
    bool any;
    KeyId least;
    KeyId greatest;
  };
  Range read_range(const KeyId& id, std::uint64_t transaction);

  GenerationRow row_;
  std::string insert_sql_, insert_live_sql_, insert_together_sql_, find_sql_, erase_sql_,
      detail_sql_, empty_sql_, least_sql_, greatest_sql_;
  Prepared insert_;
  Prepared insert_live_;
  Prepared insert_together_;
  Prepared find_;
  Prepared erase_;
  Prepared detail_;
  Prepared empty_;
  Prepared least_;
  Prepared greatest_;
  std::vector<Range> ranges_;
};

// "semel_completed_7".
std::string table_of(std::int64_t generation);

}  // namespace semel::sqlite
