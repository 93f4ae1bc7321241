#include "stores/sql/dead_letters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/record_machine.h"
#include "stores/sql/operator.h"
#include "stores/sql/transacted.h"

namespace semel::sql {
namespace {

using Names = std::unordered_map<std::uint32_t, std::string>;

Names names_in(Tables& tables) {
  Names names;
  for (ConsumerRow& row : tables.consumers.all()) {
    names.emplace(static_cast<std::uint32_t>(row.number), std::move(row.name));
  }
  return names;
}

DeadLetter named(DeadLetterRow row, const Names& names) {
  const auto name = names.find(static_cast<std::uint32_t>(row.consumer));
  if (name != names.end()) row.letter.consumer = name->second;
  return std::move(row.letter);
}

// Counts what is skipped.
bool may_replay(const std::optional<RecordRow>& row, const Fingerprint& arrived,
                ReplayReport& report) {
  if (!row) return true;
  const bool same = core::same_fingerprint(row->record.fingerprint, arrived);
  if (row->record.state != RecordState::kCompleted && same) return true;
  ++(same ? report.skipped_completed : report.skipped_conflict);
  return false;
}

void replay_one(Tables& tables, std::int64_t id, StoreTime now, ReplayReport& report) {
  const auto letter = tables.dead_letters.find(id, Lock::kForUpdate);
  if (!letter) {
    ++report.missing;
    return;
  }
  if (letter->record) {
    const auto row = tables.records.find(*letter->record, Lock::kForUpdate);
    if (!may_replay(row, letter->letter.fingerprint, report)) return;
  }
  ++report.replayed;
  if (letter->record && reopen_record(tables, *letter->record, now)) return;
  // No record, or one on its way: a copy of its own passes through the record like any other.
  tables.dead_letters.note_replay(id);
  HeldContent content = content_of(*letter, now);
  content.first_seen = letter->letter.first_seen;
  tables.held.add(content, now);
}

// Before the letters, as whoever ends a try locks them; and in the order in which claims do.
void lock_records(Tables& tables, std::span<const std::int64_t> ids) {
  std::vector<KeyId> records;
  for (const std::int64_t id : ids) {
    if (const auto record = tables.dead_letters.record_of(id)) records.push_back(*record);
  }
  std::ranges::sort(records);
  records.erase(std::unique(records.begin(), records.end()), records.end());
  for (const KeyId& record : records) tables.records.find(record, Lock::kForUpdate);
}

Edited edit_in(Tables& tables, const LetterEdit& edit, StoreTime now) {
  lock_records(tables, {&edit.id, 1});
  const auto letter = tables.dead_letters.find(edit.id, Lock::kForUpdate);
  if (!letter) return Edited::kMissing;
  if (letter->letter.fingerprint != edit.before) return Edited::kMoved;
  auto row = letter->record ? tables.records.find(*letter->record, Lock::kForUpdate) : std::nullopt;
  if (row) {
    const Edited answer = core::decide_edit(row->record, edit.before);
    if (answer != Edited::kYes) return answer;
    if (row->held) return Edited::kBusy;
  }
  if (tables.dead_letters.has_twin(edit.id, edit.fingerprint)) return Edited::kTwin;
  tables.dead_letters.edit(edit);
  if (row) {
    row->record.fingerprint = edit.fingerprint;
    tables.records.save(*letter->record, *row, now);
  }
  return Edited::kYes;
}

AddReport add_in(Tables& tables, std::span<const ForeignLetter> letters) {
  AddReport report;
  tables.dead_letters.lock_adding();
  for (const ForeignLetter& foreign : letters) {
    const auto consumer = tables.consumers.find(foreign.letter.consumer);
    if (!consumer) {
      fail({ErrorKind::kRejected, "",
            fmt::format("the store knows no consumer \"{}\"", foreign.letter.consumer),
            "semel store init makes the consumers of the config known"});
    }
    const bool added = tables.dead_letters.add(foreign.letter, consumer->number, foreign.record);
    ++(added ? report.added : report.present);
  }
  return report;
}

class ServerLetters final : public DeadLetters {
 public:
  explicit ServerLetters(const Core& core) : core_(core) {}

  Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) override {
    return contained([&] {
      Lent lent(core_.pool);
      Tables tables = core_.tables(*lent);
      std::vector<DeadLetter> letters;
      std::optional<ConsumerNumber> consumer;
      if (filter.consumer) {
        const auto row = tables.consumers.find(*filter.consumer);
        if (!row) return letters;
        consumer = row->number;
      }
      auto rows = tables.dead_letters.list(filter, consumer);
      const Names names = names_in(tables);
      for (DeadLetterRow& row : rows) letters.push_back(named(std::move(row), names));
      return letters;
    });
  }

  Result<std::optional<DeadLetter>> show(std::int64_t id) override {
    return contained([&]() -> std::optional<DeadLetter> {
      Lent lent(core_.pool);
      Tables tables = core_.tables(*lent);
      auto row = tables.dead_letters.find(id, Lock::kNone);
      if (!row) return std::nullopt;
      return named(*std::move(row), names_in(tables));
    });
  }

  Result<ReplayReport> replay(std::span<const std::int64_t> ids) override {
    if (ids.empty()) return ReplayReport{};
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        lock_records(tables, ids);
        ReplayReport report;
        for (const std::int64_t id : ids) replay_one(tables, id, work.now(), report);
        return report;
      });
    });
  }

  Result<std::size_t> discard(std::span<const std::int64_t> ids) override {
    return contained([&] {
      if (ids.empty()) return std::size_t{0};
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        std::size_t discarded = 0;
        for (const std::int64_t id : ids) discarded += tables.dead_letters.discard(id) ? 1U : 0U;
        return discarded;
      });
    });
  }

  Result<Edited> edit(const LetterEdit& edit) override {
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        return edit_in(tables, edit, work.now());
      });
    });
  }

  Result<AddReport> add(std::span<const ForeignLetter> letters) override {
    if (letters.empty()) return AddReport{};
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        return add_in(tables, letters);
      });
    });
  }

 private:
  const Core core_;
};

}  // namespace

std::unique_ptr<DeadLetters> make_dead_letters(const Core& core) {
  return std::make_unique<ServerLetters>(core);
}

}  // namespace semel::sql
