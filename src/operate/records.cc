#include "operate/records.h"

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

Result<std::vector<FoundRecord>> find_records(const StoreAccess& access,
                                              const std::vector<std::string>& consumers,
                                              const Bytes& key) {
  std::vector<FoundRecord> found;
  for (const auto& consumer : consumers) {
    const auto number = access.facets.records->consumer(consumer);
    if (!number) return failure(number.error());
    if (!*number) continue;
    const auto* config = access.config.find(consumer);
    auto record = access.facets.records->show(config->key.id_of(**number, key));
    if (!record) return failure(std::move(record.error()));
    if (!*record) {
      record = access.facets.records->left_behind(config->key.id_of(**number, key));
      if (!record) return failure(std::move(record.error()));
    }
    if (!*record) continue;
    if ((*record)->key.empty()) (*record)->key = key;
    found.push_back({consumer, key, std::move(**record)});
  }
  return found;
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
