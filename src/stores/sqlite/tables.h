// Tables: one connection's access to the store's tables.
#pragma once

#include <cstddef>

#include "stores/sqlite/dialect.h"
#include "stores/sqlite/generations.h"
#include "stores/sqlite/held_rows.h"
#include "stores/sqlite/inbox_numbers.h"
#include "stores/sqlite/live_rows.h"
#include "stores/sqlite/meta.h"
#include "stores/sqlite/result_rows.h"
#include "stores/sqlite/ttls.h"

namespace semel::sqlite {

using sql::ConsumerRow;
using sql::Consumers;

struct Tables : sql::SharedTables {
  Tables(Connection& connection, std::size_t generation_rows)
      : SharedTables(connection, texts()),
        meta(connection),
        ttls(consumers),
        generations(connection, meta, generation_rows),
        live(connection),
        held(connection),
        results(connection),
        inbox_numbers(connection),
        inbox(connection, inbox_numbers, texts().inbox) {}

  // Call it once in each transaction, before all else.
  const Meta::Row& begin() {
    facts = meta.read();
    generations.begin(facts);
    ttls.begin(facts.generations);
    inbox_numbers.begin();
    return facts;
  }

  // The result of a completed record, whose row says where it is; empty where it has none.
  Bytes result_of(const Finished& found) {
    if (found.result) return results.find(*found.result);
    return found.inbox ? inbox.result_of(*found.inbox) : Bytes();
  }
  // Removes the rows kept for a record in other tables.
  void forget_details(std::optional<std::int64_t> result, std::optional<std::int64_t> in_inbox) {
    if (result) results.remove(*result);
    if (in_inbox) inbox.remove(*in_inbox);
  }

  // Changes the consumer as `spec` says, in every process. Records kept for the old ttl are kept
  // for the longer of the two.
  void change_consumer(const ConsumerRow& row, const ConsumerSpec& spec, StoreTime now) {
    consumers.change(row.number, spec);
    if (row.ttl == spec.ttl) return;
    const bool longer = row.ttl && (!spec.ttl || *spec.ttl > *row.ttl);
    if (longer) generations.lengthen(row.ttl, spec.ttl, now);
    generations.moved();
    ttls.forget();
  }

  // The table of records that are not completed.
  LiveRows& open_records() noexcept { return live; }

  Meta meta;
  Meta::Row facts;  // as this transaction found them
  Ttls ttls;
  Generations generations;
  LiveRows live;
  HeldRows held;
  ResultRows results;
  InboxNumbers inbox_numbers;
  sql::InboxRows inbox;
};

}  // namespace semel::sqlite
