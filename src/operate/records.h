// Finds records for operators.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>
#include <semel/spi/step_store.h>

#include "operate/store_access.h"
#include "operate/where.h"

namespace semel::operate {

std::span<const WhereField> record_fields() noexcept;
// When the record was read, by the clock of its lease; by this machine's clock where the store does
// not report it.
StoreTime time_of(const RecordView& record);
// Whether the filter matches the record; its age counts from its first arrival, or its completion.
bool matches(const Where& where, std::string_view consumer, const RecordView& record);

// A record found by its key, under one consumer.
struct FoundRecord {
  std::string consumer;
  Bytes key;
  RecordView record;
};

// The consumers that the store knows and the config does not have: those of a Guard, those that
// only call the SQL functions, those of another config. Their records are looked at only where
// their name is given.
Result<std::vector<std::string>> foreign_consumers(const StoreAccess& access);

// How many of their records match, completed ones only where the filter has their key; with `state`
// only those in it.
Result<std::size_t> count_foreign(const StoreAccess& access, const Where& where,
                                  std::optional<RecordState> state);

// The records of a key under the given consumers, which the config need not have.
Result<std::vector<FoundRecord>> find_records(const StoreAccess& access,
                                              const std::vector<std::string>& consumers,
                                              const Bytes& key);

// The steps of each, in their order; empty where the store keeps none.
Result<std::vector<StepJournal>> journals_of(const StoreAccess& access,
                                             const std::vector<FoundRecord>& found);

}  // namespace semel::operate
