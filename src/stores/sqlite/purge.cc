#include "stores/sqlite/purge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace semel::sqlite {
namespace {

using std::chrono::milliseconds;

// Clocks of one machine drift and are set by seconds; a larger jump is a mistake.
constexpr milliseconds kTolerance = std::chrono::minutes(5);
// After a longer time without use, a clock that differs by that much may be wrong as well.
constexpr milliseconds kLongAway = std::chrono::hours(24 * 90);
// Time for the clock to be set right after a jump.
constexpr milliseconds kDoubt = std::chrono::minutes(10);
// How many rows one transaction removes.
constexpr int kPart = 500;
// A crash count that was not read for this long belongs to a message that ended otherwise.
constexpr milliseconds kCrashMemory = std::chrono::hours(24 * 30);

bool is_there(Tables& tables, std::int64_t number) {
  return std::ranges::any_of(tables.generations.all(), [&](const auto& generation) {
    return generation->row().number == number;
  });
}

bool is_past(const GenerationRow& row, StoreTime now) {
  return !row.active && row.ttl && row.sealed_at + *row.ttl <= now;
}

// The generation as this transaction sees it. Null where another process has dropped it, or keeps
// it longer by now.
Generation* still_past(Tables& tables, std::int64_t number, StoreTime now) {
  for (const auto& generation : tables.generations.all()) {
    if (generation->row().number != number) continue;
    return is_past(generation->row(), now) ? generation.get() : nullptr;
  }
  return nullptr;
}

}  // namespace

class Purge::Budget {
 public:
  Budget(StoreClock& clock, milliseconds whole) : clock_(clock), end_(clock.elapsed() + whole) {}
  // True once it is used up.
  bool ended() {
    more_ = more_ || clock_.elapsed() >= end_;
    return more_;
  }
  bool more() const noexcept { return more_; }

 private:
  StoreClock& clock_;
  const std::chrono::nanoseconds end_;
  bool more_ = false;
};

Purge::Purge(StoreContext& context)
    : context_(context), last_now_(context.clock.now()), last_elapsed_(context.clock.elapsed()) {}

StoreTime Purge::check_clock() {
  WriteTransaction transaction(context_.writer, Sync::kProcessCrash, context_.options.busy);
  Tables& tables = transaction.tables();
  const StoreTime now = transaction.now();
  const auto elapsed = context_.clock.elapsed();
  const auto passed = std::chrono::duration_cast<milliseconds>(elapsed - last_elapsed_);
  const milliseconds jumped = (now - last_now_) - passed;
  last_now_ = now;
  last_elapsed_ = elapsed;
  const StoreTime seen = tables.facts.clock_seen;
  StoreTime doubted = tables.facts.clock_doubted;
  const bool used_before = seen != StoreTime{};
  const bool back = used_before && now < seen - kTolerance;
  const bool far_ahead = used_before && now > seen + kLongAway;
  if (jumped > kTolerance || jumped < -kTolerance || back || far_ahead) doubted = now;
  tables.meta.set_clock(back ? seen : now, doubted);
  transaction.commit();
  if (doubted == StoreTime{} || (now >= doubted + kDoubt && !back)) return now;
  fail({ErrorKind::kUnavailable, "R211",
        fmt::format("the clock jumped since {} was last purged: nothing is forgotten by a clock "
                    "that may be wrong",
                    context_.options.path),
        "check the machine's clock; where it is right, the purge goes on by itself in a while"});
}

void Purge::seal_old() {
  std::vector<std::int64_t> sealed;
  {
    WriteTransaction transaction(context_.writer, Sync::kProcessCrash, context_.options.busy);
    sealed = transaction.tables().generations.seal_old(transaction.now());
    transaction.commit();
  }
  for (const std::int64_t number : sealed) {
    // It takes no inserts any more, so all of it can be read without a lock.
    const auto found = context_.reader.look(
        [&](Tables& tables,
            Connection& connection) -> std::optional<std::pair<StoreTime, std::int64_t>> {
          if (!is_there(tables, number)) return std::nullopt;
          const std::string sql =
              fmt::format("SELECT max(completed_at), count(*) FROM {}", table_of(number));
          Prepared look(connection, sql.c_str());
          const Reading reading(look);
          look.next();
          return std::pair(look.time(0), look.integer(1));
        });
    if (!found) continue;
    WriteTransaction transaction(context_.writer, Sync::kProcessCrash, context_.options.busy);
    transaction.tables().generations.correct(number, found->first, found->second);
    transaction.commit();
  }
}

std::optional<std::size_t> Purge::drop_next(StoreTime now, Budget& budget) {
  const auto past = context_.reader.look([&](Tables& tables, Connection& connection) {
    std::optional<std::pair<std::int64_t, std::size_t>> found;
    for (const auto& generation : tables.generations.all()) {
      const GenerationRow& row = generation->row();
      if (!is_past(row, now)) continue;
      const std::string sql = fmt::format("SELECT count(*) FROM {}", table_of(row.number));
      found.emplace(row.number, static_cast<std::size_t>(std::stoull(connection.ask(sql.c_str()))));
    }
    return found;
  });
  if (!past || !remove_details(past->first, now, budget)) return std::nullopt;
  WriteTransaction transaction(context_.writer, Sync::kProcessCrash, context_.options.busy);
  if (still_past(transaction.tables(), past->first, now) == nullptr) return 0;
  transaction.tables().generations.drop(past->first);
  transaction.commit();
  return past->second;
}

// Removes results and inbox rows of a table that is about to be dropped, in small parts. False
// where the budget ended first.
bool Purge::remove_details(std::int64_t generation, StoreTime now, Budget& budget) {
  const std::string sql = fmt::format(
      "SELECT id FROM {} WHERE id > ?1 AND "
      "(result IS NOT NULL OR inbox IS NOT NULL) ORDER BY id LIMIT {}",
      table_of(generation), kPart);
  KeyId last;
  for (;;) {
    std::vector<KeyId> part;
    context_.reader.look([&](Tables& tables, Connection& connection) {
      if (!is_there(tables, generation)) return;
      Prepared look(connection, sql.c_str());
      look.bind(1, last);
      const Reading reading(look);
      while (look.next()) part.push_back(look.key_id(0));
    });
    if (part.empty()) return true;
    if (budget.ended()) return false;
    if (!remove_details(generation, part, now)) return true;
    last = part.back();
  }
}

// Numbers of removed rows are used again: a record that still named one would answer with another
// message's result, and remove it with itself. So the record's references are cleared with the
// rows, and are read once more here: another process may have removed them meanwhile.
bool Purge::remove_details(std::int64_t generation, const std::vector<KeyId>& ids, StoreTime now) {
  WriteTransaction transaction(context_.writer, Sync::kProcessCrash, context_.options.busy);
  Tables& tables = transaction.tables();
  Generation* const past = still_past(tables, generation, now);
  if (past == nullptr) return false;
  for (const KeyId& id : ids) {
    const auto found = past->find(id);
    if (!found || (!found->result && !found->inbox)) continue;
    tables.forget_details(found->result, found->inbox);
    past->set_detail(id, std::nullopt, std::nullopt);
  }
  transaction.commit();
  return true;
}

std::size_t Purge::forget_dead(StoreTime now, Budget& budget) {
  std::size_t forgotten = 0;
  std::vector<sql::DeadRecord> dead;
  const auto consumers =
      context_.reader.glance([](Tables& tables, Connection&) { return tables.consumers.all(); });
  for (const ConsumerRow& consumer : consumers) {
    if (!consumer.ttl) continue;
    KeyId behind;
    for (;;) {
      if (budget.ended()) return forgotten;
      const bool any = context_.reader.glance([&](Tables& tables, Connection&) {
        dead = tables.live.dead_before(consumer.number, now - *consumer.ttl, behind, kPart);
        if (dead.empty()) return false;
        behind = dead.back().id;
        tables.dead_letters.spare_replayable(dead);
        return true;
      });
      if (!any) break;
      if (dead.empty()) continue;
      WriteTransaction transaction(context_.writer, Sync::kProcessCrash, context_.options.busy);
      Tables& tables = transaction.tables();
      // Its ttl may be longer by now.
      if (tables.consumers.ttl(consumer.number) != consumer.ttl) break;
      for (const auto& [id, key, fingerprint, steps] : dead) {
        // It may have been replayed meanwhile.
        const auto live = tables.live.find(id);
        if (!live || live->record.state != RecordState::kDead) continue;
        tables.forget_details(std::nullopt, live->inbox);
        tables.live.erase(id);
        if (live->steps) tables.steps.forget(id);
        ++forgotten;
      }
      transaction.commit();
    }
  }
  return forgotten;
}

PurgeReport Purge::run(milliseconds budget) {
  Budget left(context_.clock, budget);
  const StoreTime now = check_clock();
  seal_old();
  PurgeReport report;
  while (const auto dropped = drop_next(now, left)) {
    report.records += *dropped;
    if (left.ended()) break;
  }
  if (!left.more()) report.records += forget_dead(now, left);
  report.more = left.more();
  WriteTransaction transaction(context_.writer, Sync::kProcessCrash, context_.options.busy);
  transaction.tables().runs.forget_crashes_before(now - kCrashMemory);
  transaction.tables().generations.count_all();
  transaction.commit();
  return report;
}

}  // namespace semel::sqlite
