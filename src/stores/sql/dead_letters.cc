#include "stores/sql/dead_letters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <semel/spi/record_machine.h>

#include "core/letter_life.h"

namespace semel::sql {
namespace {

using Names = std::unordered_map<std::uint32_t, std::string>;

Names names_in(SharedTables& tables) {
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

// The result of a replay of the letter, by its record.
ReplayReport::Result replay_beside(const Records::Known& known, const Fingerprint& arrived) {
  using enum ReplayReport::Result;
  if (!spi::same_fingerprint(known.record.fingerprint, arrived)) return kSkippedConflict;
  return known.record.state == RecordState::kCompleted ? kSkippedCompleted : kReplayed;
}

void replay_one(TransactionAccess& access, std::int64_t id, StoreTime now, ReplayReport& report) {
  DeadLetterRows& letters = access.tables().dead_letters;
  const auto letter = letters.find(id, Lock::kForUpdate);
  if (!letter) {
    return report.note(id, ReplayReport::Result::kMissing);
  }
  if (letter->record) {
    const auto known = access.records().find(*letter->record);
    const auto result =
        known ? replay_beside(*known, letter->letter.fingerprint) : ReplayReport::Result::kReplayed;
    if (result != ReplayReport::Result::kReplayed) return report.note(id, result);
  }
  report.note(id, ReplayReport::Result::kReplayed);
  if (letter->record && access.records().reopen(*letter->record, now)) return;
  // No record, or one in progress: a separate copy is handled like any other message.
  letters.note_replay(id);
  HeldContent content = content_of(*letter, now);
  content.first_seen = letter->letter.first_seen;
  access.records().hold(content, now);
}

// Code that changes several letters locks them in this order, to avoid deadlocks.
std::vector<std::int64_t> sorted(std::span<const std::int64_t> ids) {
  std::vector<std::int64_t> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  return sorted;
}

Edited edit_in(TransactionAccess& access, const LetterEdit& edit, StoreTime now) {
  access.records().lock_letters({&edit.id, 1});
  DeadLetterRows& letters = access.tables().dead_letters;
  const auto letter = letters.find(edit.id, Lock::kForUpdate);
  if (!letter) return Edited::kMissing;
  if (!spi::is_as_seen(letter->letter, edit)) return Edited::kMoved;
  const auto known = letter->record ? access.records().find(*letter->record) : std::nullopt;
  if (known) {
    const Edited answer = spi::decide_edit(known->record, edit.before);
    if (answer != Edited::kYes) return answer;
    if (known->held) return Edited::kBusy;
  }
  if (letters.has_twin(edit.id, edit.fingerprint)) return Edited::kTwin;
  letters.edit(edit);
  if (known) access.records().set_fingerprint(*letter->record, edit.fingerprint, now);
  return Edited::kYes;
}

AddReport add_in(TransactionAccess& access, std::span<const ForeignLetter> letters) {
  AddReport report;
  SharedTables& tables = access.tables();
  access.records().lock_adding();
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

// The expired letters among the next ones, and the id to continue after.
std::pair<std::vector<std::int64_t>, std::int64_t> look_for_past(Access& access,
                                                                 std::span<const LetterLife> lives,
                                                                 std::int64_t after,
                                                                 std::size_t most) {
  const StoreTime now = access.now();
  DeadLetterFilter filter;
  filter.after = after;
  filter.limit = most;
  std::vector<std::int64_t> past;
  const auto rows = access.tables().dead_letters.list(filter, std::nullopt);
  for (const DeadLetterRow& row : rows) {
    if (core::outlived(lives, row.consumer, row.letter.dead_at, now)) past.push_back(row.letter.id);
  }
  return {std::move(past), rows.size() == most ? rows.back().letter.id : 0};
}

// The letters may have changed since they were found.
std::vector<std::size_t> remove_past(TransactionAccess& access, std::span<const LetterLife> lives,
                                     std::span<const std::int64_t> ids) {
  std::vector<std::size_t> removed(lives.size());
  access.records().lock_letters(ids);
  const StoreTime now = access.now();
  DeadLetterRows& letters = access.tables().dead_letters;
  for (const std::int64_t id : ids) {
    const auto letter = letters.find(id, Lock::kForUpdate);
    if (!letter) continue;
    const auto life = core::outlived(lives, letter->consumer, letter->letter.dead_at, now);
    if (!life) continue;
    const auto known = letter->record ? access.records().find(*letter->record) : std::nullopt;
    const bool busy = known && core::in_hand(known->record.state, known->record.fingerprint,
                                             letter->letter.fingerprint);
    if (!busy && letters.discard(id)) ++removed[*life];
  }
  return removed;
}

class TableLetters final : public DeadLetters {
 public:
  explicit TableLetters(Database& database) : database_(database) {}

  Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) override {
    return contained([&] {
      return database_.look([&](Access& access) {
        SharedTables& tables = access.tables();
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
    });
  }

  Result<std::optional<DeadLetter>> show(std::int64_t id) override {
    return contained([&] {
      return database_.look([&](Access& access) -> std::optional<DeadLetter> {
        auto row = access.tables().dead_letters.find(id, Lock::kNone);
        if (!row) return std::nullopt;
        return named(*std::move(row), names_in(access.tables()));
      });
    });
  }

  Result<ReplayReport> replay(std::span<const std::int64_t> ids) override {
    if (ids.empty()) return ReplayReport{};
    return contained([&] {
      const std::vector<std::int64_t> letters = sorted(ids);
      return database_.transact(Sync::kPowerLoss, [&](TransactionAccess& access) {
        access.records().lock_letters(letters);
        const StoreTime now = access.now();
        ReplayReport report;
        for (const std::int64_t id : letters) replay_one(access, id, now, report);
        return report;
      });
    });
  }

  Result<std::size_t> discard(std::span<const std::int64_t> ids) override {
    if (ids.empty()) return std::size_t{0};
    return contained([&] {
      const std::vector<std::int64_t> doomed = sorted(ids);
      return database_.transact(Sync::kPowerLoss, [&](Access& access) {
        DeadLetterRows& letters = access.tables().dead_letters;
        std::size_t discarded = 0;
        for (const std::int64_t id : doomed) discarded += letters.discard(id) ? 1U : 0U;
        return discarded;
      });
    });
  }

  Result<Edited> edit(const LetterEdit& edit) override {
    return contained([&] {
      return database_.transact(Sync::kPowerLoss, [&](TransactionAccess& access) {
        return edit_in(access, edit, access.now());
      });
    });
  }

  Result<bool> replaces(const KeyId& record, BytesView key, const Fingerprint& now,
                        const Fingerprint& original) override {
    return contained([&] {
      return database_.look([&](Access& access) {
        return access.tables().dead_letters.replaces(record, key, now, original);
      });
    });
  }

  Result<AddReport> add(std::span<const ForeignLetter> letters) override {
    if (letters.empty()) return AddReport{};
    return contained([&] {
      return database_.transact(Sync::kPowerLoss,
                                [&](TransactionAccess& access) { return add_in(access, letters); });
    });
  }

  Result<ExpiryReport> expire(std::span<const LetterLife> lives, std::int64_t after,
                              std::size_t most) override {
    return contained([&] {
      const auto [past, next] =
          database_.look([&](Access& access) { return look_for_past(access, lives, after, most); });
      ExpiryReport report{std::vector<std::size_t>(lives.size()), next};
      if (past.empty()) return report;
      report.removed =
          database_.transact(Sync::kProcessCrash, [&ids = past, &lives](TransactionAccess& access) {
            return remove_past(access, lives, ids);
          });
      return report;
    });
  }

 private:
  Database& database_;
};

}  // namespace

std::unique_ptr<DeadLetters> make_dead_letters(Database& database) {
  return std::make_unique<TableLetters>(database);
}

}  // namespace semel::sql
