#include "operate/records.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/key_recipe.h"
#include "operate/cause.h"
#include "system/utc_clock.h"

namespace semel::operate {

namespace {

constexpr WhereField kRecordFields[] = {
    {"consumer"},
    {"state", WhereField::Kind::kText, "consuming|completed|retrying|parked|dead"},
    {"key"},
    {"reason"},
    {"error"},
    {"attempt", WhereField::Kind::kNumber},
    {"age", WhereField::Kind::kAge}};

// The store does not say by which recipe the keys of a consumer were found.
std::vector<KeyId> ids_of(const config::ConsumerConfig* consumer, ConsumerNumber number,
                          const Bytes& key) {
  if (consumer == nullptr) return core::possible_ids(number, key);
  return {consumer->key.id_of(number, key)};
}

Result<std::optional<RecordView>> record_of(RecordInspector& records,
                                            const std::vector<KeyId>& ids) {
  for (const KeyId& id : ids) {
    auto record = records.show(id);
    if (!record || *record) return record;
  }
  for (const KeyId& id : ids) {
    auto record = records.left_behind(id);
    if (!record || *record) return record;
  }
  return std::optional<RecordView>();
}

std::size_t unfinished(const StoreStats::Consumer& consumer, std::optional<RecordState> state) {
  std::size_t count = 0;
  const auto add = [&](RecordState one, std::size_t records) {
    if (!state || *state == one) count += records;
  };
  add(RecordState::kConsuming, consumer.consuming);
  add(RecordState::kRetrying, consumer.retrying);
  add(RecordState::kParked, consumer.parked);
  add(RecordState::kDead, consumer.dead);
  return count;
}

// The consumers of the statistics that the config does not have.
std::vector<StoreStats::Consumer> foreign_in(const StoreAccess& access, StoreStats stats) {
  std::erase_if(stats.consumers, [&](const StoreStats::Consumer& one) {
    return access.config.find(one.name) != nullptr;
  });
  return std::move(stats.consumers);
}

// Only unfinished ones. A store that does not count them is read, and so it is for a filter.
Result<std::size_t> count_unfinished_foreign(const StoreAccess& access, const Where& where,
                                             std::optional<RecordState> state) {
  auto stats = access.facets.records->backlog();
  if (!stats) return failure(std::move(stats.error()));
  const bool counted = stats->records_counted;
  std::map<ConsumerNumber, std::string> names;
  std::size_t all = 0;
  for (StoreStats::Consumer& one : foreign_in(access, *std::move(stats))) {
    all += unfinished(one, state);
    names.emplace(one.number, std::move(one.name));
  }
  if (names.empty() || (counted && (all == 0 || where.is_empty()))) return all;
  const auto records =
      access.facets.records->list(std::nullopt, state, std::numeric_limits<std::int32_t>::max());
  if (!records) return failure(records.error());
  return static_cast<std::size_t>(std::ranges::count_if(*records, [&](const RecordView& record) {
    const auto name = names.find(record.id.consumer());
    return name != names.end() && matches(where, name->second, record);
  }));
}

}  // namespace

std::span<const WhereField> record_fields() noexcept { return kRecordFields; }

StoreTime time_of(const RecordView& record) { return record.read_at.value_or(system::utc_now()); }

bool matches(const Where& where, std::string_view consumer, const RecordView& record) {
  const StoreTime now = time_of(record);
  return where.matches([&](std::string_view field) -> WhereValue {
    if (field == "consumer") return consumer;
    if (field == "state") return std::string_view(to_string(record.state));
    if (field == "key") return std::string_view(record.key);
    if (field == "reason") return EitherText{record.reason, cause_of(record.reason, record.error)};
    if (field == "error") return std::string_view(record.error);
    if (field == "attempt") return std::int64_t{record.attempt};
    const auto since = record.completed_at ? record.completed_at : record.first_seen;
    return since ? (now - *since).count() : std::int64_t{0};
  });
}

Result<std::vector<std::string>> foreign_consumers(const StoreAccess& access) {
  auto stats = access.facets.records->backlog();
  if (!stats) return failure(std::move(stats.error()));
  std::vector<std::string> names;
  for (StoreStats::Consumer& one : foreign_in(access, *std::move(stats))) {
    names.push_back(std::move(one.name));
  }
  return names;
}

Result<std::vector<FoundRecord>> find_records(const StoreAccess& access,
                                              const std::vector<std::string>& consumers,
                                              const Bytes& key) {
  std::vector<FoundRecord> found;
  for (const auto& consumer : consumers) {
    const auto number = access.facets.records->consumer(consumer);
    if (!number) return failure(number.error());
    if (!*number) continue;
    auto record =
        record_of(*access.facets.records, ids_of(access.config.find(consumer), **number, key));
    if (!record) return failure(std::move(record.error()));
    if (!*record) continue;
    if ((*record)->key.empty()) (*record)->key = key;
    found.push_back({consumer, key, std::move(**record)});
  }
  return found;
}

Result<std::size_t> count_foreign(const StoreAccess& access, const Where& where,
                                  std::optional<RecordState> state) {
  const auto key = where.equal_to("key");
  if (!key) return count_unfinished_foreign(access, where, state);
  const auto names = foreign_consumers(access);
  if (!names) return failure(names.error());
  const auto found = find_records(access, *names, *key);
  if (!found) return failure(found.error());
  return static_cast<std::size_t>(std::ranges::count_if(*found, [&](const FoundRecord& one) {
    return (!state || one.record.state == *state) && matches(where, one.consumer, one.record);
  }));
}

Result<std::vector<StepJournal>> journals_of(const StoreAccess& access,
                                             const std::vector<FoundRecord>& found) {
  std::vector<StepJournal> journals(found.size());
  if (access.facets.steps == nullptr) return journals;
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto journal = access.facets.steps->read(found[i].record.id);
    if (!journal) return failure(std::move(journal.error()));
    journals[i] = *std::move(journal);
  }
  return journals;
}

}  // namespace semel::operate
