// Finds records for operators.
#pragma once

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

// A record found by its key, under one consumer of the config.
struct FoundRecord {
  std::string consumer;
  Bytes key;
  RecordView record;
};

// The records of a key under the given consumers of the config.
Result<std::vector<FoundRecord>> find_records(const StoreAccess& access,
                                              const std::vector<std::string>& consumers,
                                              const Bytes& key);

// The steps of each, in their order; empty where the store keeps none.
Result<std::vector<StepJournal>> journals_of(const StoreAccess& access,
                                             const std::vector<FoundRecord>& found);

}  // namespace semel::operate
