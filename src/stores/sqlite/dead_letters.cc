// DeadLetters over the tables.
#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "core/record_machine.h"
#include "stores/sqlite/core.h"
#include "stores/sqlite/operator.h"

namespace semel::sqlite {
namespace {

class Letters final : public DeadLetters {
 public:
  explicit Letters(Core& core) : core_(core) {}

  Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) override {
    return contained([&] {
      return core_.reader.look([&](Tables& tables, Connection&) {
        std::vector<DeadLetter> letters;
        std::optional<ConsumerNumber> consumer;
        if (filter.consumer) {
          const auto row = tables.consumers.find(*filter.consumer);
          if (!row) return letters;
          consumer = row->number;
        }
        const Names names = names_of(tables);
        for (DeadLetterRow& row : tables.dead_letters.list(filter, consumer)) {
          letters.push_back(named(std::move(row), names));
        }
        return letters;
      });
    });
  }

  Result<std::optional<DeadLetter>> show(std::int64_t id) override {
    return contained([&] {
      return core_.reader.look([&](Tables& tables, Connection&) -> std::optional<DeadLetter> {
        auto row = tables.dead_letters.find(id);
        if (!row) return std::nullopt;
        return named(*std::move(row), names_of(tables));
      });
    });
  }

  Result<ReplayReport> replay(std::span<const std::int64_t> ids) override {
    return contained([&] {
      ReplayReport report;
      if (ids.empty()) return report;
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      for (const std::int64_t id : ids) {
        replay_one(transaction.tables(), id, transaction.now(), report);
      }
      transaction.commit();
      return report;
    });
  }

  Result<std::size_t> discard(std::span<const std::int64_t> ids) override {
    return contained([&] {
      std::size_t discarded = 0;
      if (ids.empty()) return discarded;
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      for (const std::int64_t id : ids) {
        discarded += transaction.tables().dead_letters.discard(id) ? 1U : 0U;
      }
      transaction.commit();
      return discarded;
    });
  }

  Result<Edited> edit(const LetterEdit& edit) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      const Edited edited = edit_in(transaction.tables(), edit, transaction.now());
      transaction.commit();
      return edited;
    });
  }

  Result<AddReport> add(std::span<const ForeignLetter> letters) override {
    return contained([&] {
      AddReport report;
      if (letters.empty()) return report;
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      Tables& tables = transaction.tables();
      for (const ForeignLetter& foreign : letters) {
        const auto consumer = tables.consumers.find(foreign.letter.consumer);
        if (!consumer) {
          fail({ErrorKind::kRejected, "",
                fmt::format("the store knows no consumer \"{}\"", foreign.letter.consumer),
                "semel store init makes the consumers of the config known"});
        }
        const bool added =
            tables.dead_letters.add(foreign.letter, consumer->number, foreign.record);
        ++(added ? report.added : report.present);
      }
      transaction.commit();
      return report;
    });
  }

 private:
  using Names = std::unordered_map<std::uint32_t, std::string>;

  static Names names_of(Tables& tables) {
    Names names;
    for (ConsumerRow& row : tables.consumers.all()) {
      names.emplace(static_cast<std::uint32_t>(row.number), std::move(row.name));
    }
    return names;
  }

  static DeadLetter named(DeadLetterRow row, const Names& names) {
    const auto name = names.find(static_cast<std::uint32_t>(row.consumer));
    if (name != names.end()) row.letter.consumer = name->second;
    return std::move(row.letter);
  }

  static void replay_one(Tables& tables, std::int64_t id, StoreTime now, ReplayReport& report) {
    const auto letter = tables.dead_letters.find(id);
    if (!letter) {
      ++report.missing;
      return;
    }
    if (letter->record && !may_replay(tables, *letter, report)) return;
    ++report.replayed;
    if (letter->record && reopen_record(tables, *letter->record, now)) return;
    // No record, or one on its way: a copy of its own passes through the record like any other.
    tables.dead_letters.note_replay(id);
    HeldContent content = content_of(*letter, now);
    content.first_seen = letter->letter.first_seen;
    tables.held.add(content, now);
  }

  static Edited edit_in(Tables& tables, const LetterEdit& edit, StoreTime now) {
    const auto letter = tables.dead_letters.find(edit.id);
    if (!letter) return Edited::kMissing;
    if (letter->letter.fingerprint != edit.before) return Edited::kMoved;
    if (letter->record && tables.generations.having(*letter->record) != nullptr) {
      return Edited::kCompleted;
    }
    auto live = letter->record ? tables.live.find(*letter->record) : std::nullopt;
    if (live) {
      const Edited answer = core::decide_edit(live->record, edit.before);
      if (answer != Edited::kYes) return answer;
      if (live->held) return Edited::kBusy;
    }
    if (tables.dead_letters.has_twin(edit.id, edit.fingerprint)) return Edited::kTwin;
    tables.dead_letters.edit(edit);
    if (live) {
      live->record.fingerprint = edit.fingerprint;
      tables.live.save(*letter->record, *live, now);
    }
    return Edited::kYes;
  }

  // Counts what is skipped.
  static bool may_replay(Tables& tables, const DeadLetterRow& letter, ReplayReport& report) {
    const Fingerprint& arrived = letter.letter.fingerprint;
    if (tables.generations.having(*letter.record) != nullptr) {
      const bool same = core::same_fingerprint(tables.generations.found().fingerprint, arrived);
      ++(same ? report.skipped_completed : report.skipped_conflict);
      return false;
    }
    const auto live = tables.live.find(*letter.record);
    if (!live || core::same_fingerprint(live->record.fingerprint, arrived)) return true;
    ++report.skipped_conflict;
    return false;
  }

  Core& core_;
};

}  // namespace

std::unique_ptr<DeadLetters> make_dead_letters(Core& core) {
  return std::make_unique<Letters>(core);
}

}  // namespace semel::sqlite
