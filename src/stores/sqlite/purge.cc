#include "stores/sqlite/purge.h"

#include <fmt/format.h>

#include <vector>

namespace semel::sqlite {
namespace {

using std::chrono::milliseconds;

// Clocks of one machine drift and are set by seconds; nobody means a jump by more.
constexpr milliseconds kTolerance = std::chrono::minutes(5);
// A store that nobody used for longer than this may as well be met by a wrong clock.
constexpr milliseconds kLongAway = std::chrono::hours(24 * 90);
// After a jump: time for the clock to be set right.
constexpr milliseconds kDoubt = std::chrono::minutes(10);
// How many rows one transaction takes away.
constexpr int kPart = 500;
// A crash count nobody asked for since is of a message that went another way.
constexpr milliseconds kCrashMemory = std::chrono::hours(24 * 30);

struct Details {
  KeyId id;
  std::optional<std::int64_t> result;
  std::optional<std::int64_t> inbox;
};

}  // namespace

class Purge::Budget {
 public:
  Budget(StoreClock& clock, milliseconds whole) : clock_(clock), end_(clock.steady() + whole) {}
  // True once it is used up.
  bool ended() {
    more_ = more_ || clock_.steady() >= end_;
    return more_;
  }
  bool more() const noexcept { return more_; }

 private:
  StoreClock& clock_;
  std::chrono::steady_clock::time_point end_;
  bool more_ = false;
};

Purge::Purge(Core& core)
    : core_(core), last_now_(core.clock.now()), last_steady_(core.clock.steady()) {}

void Purge::check_clock() {
  WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
  Tables& tables = transaction.tables();
  const StoreTime now = transaction.now();
  const auto steady = core_.clock.steady();
  const auto passed = std::chrono::duration_cast<milliseconds>(steady - last_steady_);
  const milliseconds jumped = (now - last_now_) - passed;
  last_now_ = now;
  last_steady_ = steady;
  const StoreTime seen = tables.facts.clock_seen;
  StoreTime doubted = tables.facts.clock_doubted;
  const bool used_before = seen != StoreTime{};
  const bool back = used_before && now < seen - kTolerance;
  const bool far_ahead = used_before && now > seen + kLongAway;
  if (jumped > kTolerance || jumped < -kTolerance || back || far_ahead) doubted = now;
  tables.meta.set_clock(back ? seen : now, doubted);
  transaction.commit();
  if (doubted == StoreTime{} || (now >= doubted + kDoubt && !back)) return;
  fail({ErrorKind::kUnavailable, "R211",
        fmt::format("the clock jumped since {} was last purged: nothing is forgotten by a clock "
                    "that may be wrong",
                    core_.options.path),
        "check the machine's clock; where it is right, the purge goes on by itself in a while"});
}

void Purge::seal_old() {
  std::vector<std::int64_t> sealed;
  {
    WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
    sealed = transaction.tables().generations.seal_old(transaction.now());
    transaction.commit();
  }
  for (const std::int64_t number : sealed) {
    // It takes no inserts any more, so no lock is needed to read all of it.
    const auto [last, rows] = core_.reader.glance([&](Tables&, Connection& connection) {
      const std::string sql =
          fmt::format("SELECT max(completed_at), count(*) FROM {}", table_of(number));
      Prepared look(connection, sql.c_str());
      const Reading reading(look);
      look.next();
      return std::pair(look.time(0), look.integer(1));
    });
    WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
    transaction.tables().generations.correct(number, last, rows);
    transaction.commit();
  }
}

std::optional<std::size_t> Purge::drop_next(Budget& budget) {
  const StoreTime now = core_.clock.now();
  const auto past = core_.reader.look([&](Tables& tables, Connection& connection) {
    std::optional<std::pair<std::int64_t, std::size_t>> found;
    for (const auto& generation : tables.generations.all()) {
      const GenerationRow& row = generation->row();
      if (row.active || !row.ttl || row.sealed_at + *row.ttl > now) continue;
      const std::string sql = fmt::format("SELECT count(*) FROM {}", table_of(row.number));
      found.emplace(row.number, static_cast<std::size_t>(std::stoull(connection.ask(sql.c_str()))));
    }
    return found;
  });
  if (!past || !remove_details(past->first, budget)) return std::nullopt;
  WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
  // Another process may have dropped it meanwhile.
  for (const auto& generation : transaction.tables().generations.all()) {
    if (generation->row().number != past->first) continue;
    transaction.tables().generations.drop(past->first);
    transaction.commit();
    return past->second;
  }
  return 0;
}

// Results and inbox rows of a table that is about to go, in small parts. False where the budget
// ended first.
bool Purge::remove_details(std::int64_t generation, Budget& budget) {
  const std::string sql = fmt::format(
      "SELECT id, result, inbox FROM {} WHERE id > ?1 AND "
      "(result IS NOT NULL OR inbox IS NOT NULL) ORDER BY id LIMIT {}",
      table_of(generation), kPart);
  KeyId last;
  for (;;) {
    std::vector<Details> part;
    core_.reader.glance([&](Tables&, Connection& connection) {
      Prepared look(connection, sql.c_str());
      look.bind(1, last);
      const Reading reading(look);
      while (look.next()) {
        part.push_back({look.key_id(0), look.maybe_integer(1), look.maybe_integer(2)});
      }
    });
    if (part.empty()) return true;
    if (budget.ended()) return false;
    WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
    for (const Details& row : part) {
      transaction.tables().forget_details(row.result, row.inbox);
    }
    transaction.commit();
    last = part.back().id;
  }
}

std::size_t Purge::forget_dead(Budget& budget) {
  std::size_t forgotten = 0;
  const StoreTime now = core_.clock.now();
  const auto consumers =
      core_.reader.glance([](Tables& tables, Connection&) { return tables.consumers.all(); });
  for (const ConsumerRow& consumer : consumers) {
    if (!consumer.ttl) continue;
    for (;;) {
      if (budget.ended()) return forgotten;
      const auto ids = core_.reader.glance([&](Tables& tables, Connection&) {
        return tables.live.dead_before(consumer.number, now - *consumer.ttl, kPart);
      });
      if (ids.empty()) break;
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      Tables& tables = transaction.tables();
      for (const KeyId& id : ids) {
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
  Budget left(core_.clock, budget);
  check_clock();
  seal_old();
  PurgeReport report;
  while (const auto dropped = drop_next(left)) {
    report.records += *dropped;
    if (left.ended()) break;
  }
  if (!left.more()) report.records += forget_dead(left);
  report.more = left.more();
  WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
  transaction.tables().runs.forget_crashes_before(transaction.now() - kCrashMemory);
  transaction.tables().generations.count_all();
  transaction.commit();
  return report;
}

}  // namespace semel::sqlite
