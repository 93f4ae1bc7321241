#include "stores/postgres/generations.h"

#include <fmt/format.h>

#include <algorithm>

#include "stores/postgres/error_table.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

// Raised by the guard.
constexpr std::string_view kDivisionByZero = "22012";

void define(Connection& connection, const std::string& shared) {
  connection.queue_once(shared);
  connection.settle();
}

// In the order in which claims lock them: otherwise each new claim has locked one and waits for the
// other, and this never ends.
void lock_alone(Connection& connection, const std::string& partition) {
  define(connection, "LOCK TABLE ONLY semel_record IN ACCESS EXCLUSIVE MODE");
  define(connection, fmt::format("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", partition));
}

}  // namespace

std::string partition_name(std::int64_t number) { return fmt::format("semel_record_{}", number); }

// A statement locks its tables before it reads any: it waits for a session that seals this
// generation, and then sees the seal.
std::string PartitionTexts::guarded(std::int64_t number, const char* version) {
  return fmt::format("(SELECT {} / CASE WHEN generations = {} THEN 1 ELSE 0 END FROM semel_meta)",
                     number, version);
}

PartitionTexts::PartitionTexts(const Dialect& dialect, std::int64_t number,
                               const std::string& clock)
    : insert_completed(
          dialect, fmt::format("INSERT INTO {0} (id, generation, state, fingerprint, changed_at) "
                               "SELECT u.id, {1}, 'completed', u.fingerprint, {2} "
                               "FROM unnest(?1, ?2) AS u(id, fingerprint) "
                               "ON CONFLICT (id, generation) DO NOTHING RETURNING id",
                               partition_name(number), guarded(number, "?3"), clock)),
      insert_received(
          dialect,
          fmt::format("INSERT INTO {0} (id, generation, state, fingerprint, changed_at, inbox) "
                      "SELECT u.id, {1}, 'completed', u.fingerprint, {2}, "
                      "nextval('{3}semel_inbox_number') "
                      "FROM unnest(?1, ?2) AS u(id, fingerprint) "
                      "ON CONFLICT (id, generation) DO NOTHING RETURNING id, inbox",
                      partition_name(number), guarded(number, "?3"), clock, dialect.prefix())),
      insert_one(
          dialect,
          fmt::format("INSERT INTO {0} (id, generation, state, fingerprint, changed_at, inbox) "
                      "VALUES (?1, {1}, 'completed', ?2, {2}, "
                      "CASE WHEN ?4 THEN nextval('{3}semel_inbox_number') END) "
                      "ON CONFLICT (id, generation) DO NOTHING RETURNING id, inbox",
                      partition_name(number), guarded(number, "?3"), clock, dialect.prefix())),
      // A record in a sealed generation stays there, or is removed for good.
      insert_consuming(
          dialect,
          fmt::format(
              "INSERT INTO {0} (id, generation, state, fingerprint, changed_at, token, nonce, "
              "lease_until, attempt, outcome_unknown, first_seen, holder, message_key) "
              "SELECT u.id, {4}, 'consuming', u.fingerprint, {2}, "
              "(SELECT epoch FROM semel_meta) * 4294967296 + nextval('{3}semel_token'), u.nonce, "
              "{2} + ?5 * interval '1 millisecond', 1, false, {2}, ?6, u.message_key "
              "FROM unnest(?1, ?2, ?3, ?4) AS u(id, fingerprint, nonce, message_key) "
              "WHERE NOT EXISTS (SELECT 1 FROM semel_record AS other "
              "WHERE other.id = u.id AND other.generation <> {1}) "
              "ON CONFLICT (id, generation) DO NOTHING RETURNING id, token",
              partition_name(number), number, clock, dialect.prefix(), guarded(number, "?7"))),
      others(dialect,
             fmt::format("SELECT id FROM semel_record WHERE id = ANY(?1) AND generation <> {}",
                         number)),
      erase(dialect, fmt::format("DELETE FROM {} WHERE id = ANY(?1)", partition_name(number))),
      lock_out(dialect, fmt::format("LOCK TABLE {} IN SHARE MODE", partition_name(number))) {}

Generations::Generations(const Dialect& dialect, const std::string& clock,
                         const sql::ConsumerTexts& consumers)
    : dialect_(dialect),
      clock_(clock),
      consumers_(consumers),
      version_(dialect, "SELECT generations FROM semel_meta"),
      version_now_(dialect,
                   "SELECT generations FROM semel_meta "
                   "WHERE current_setting('transaction_isolation') <> 'read committed' FOR SHARE"),
      still_active_(dialect,
                    "SELECT COALESCE((SELECT generations = ?1 FROM semel_meta), false) "
                    "AND (SELECT count(*) = 1 FROM semel_generation) = ?2 "
                    "AND EXISTS (SELECT 1 FROM semel_generation AS g JOIN semel_consumer AS c "
                    "ON c.ttl IS NOT DISTINCT FROM g.ttl "
                    "WHERE g.number = ?3 AND g.state = 'active' AND c.number = ?4)"),
      guard_(dialect, "SELECT 1 / CASE WHEN generations = ?1 THEN 1 ELSE 0 END FROM semel_meta"),
      lock_meta_(dialect, "SELECT generations FROM semel_meta FOR UPDATE"),
      list_(dialect,
            "SELECT number, ttl, state = 'active', created_at, sealed_at FROM semel_generation "
            "ORDER BY number"),
      add_(dialect, fmt::format("INSERT INTO semel_generation (number, ttl, state, created_at) "
                                "VALUES (?1, ?2, 'active', {})",
                                clock)),
      moved_(dialect, "UPDATE semel_meta SET generations = generations + 1"),
      seal_(dialect, fmt::format("UPDATE semel_generation SET state = 'sealed', sealed_at = {} "
                                 "WHERE number = ?1 AND state = 'active'",
                                 clock)),
      lengthen_(dialect,
                "UPDATE semel_generation SET ttl = ?2 WHERE ttl = ?1 AND state = 'sealed'"),
      remove_(dialect, "DELETE FROM semel_generation WHERE number = ?1") {}

const PartitionTexts& Generations::texts_of(std::int64_t number) {
  auto& texts = texts_[number];
  if (!texts) texts = std::make_unique<PartitionTexts>(dialect_, number, clock_);
  return *texts;
}

std::optional<Generations::Active> Generations::active_in(const KnownGenerations& known,
                                                          const Ttl& ttl) {
  for (const Generation& one : known.all) {
    if (!one.active || one.ttl != ttl) continue;
    return Active{known.version, one.number, known.all.size() == 1, known.committed,
                  texts_.at(one.number).get()};
  }
  return std::nullopt;
}

std::optional<Generations::Active> Generations::known_active(const Ttl& ttl) {
  const system::ReaderLock lock(mutex_);
  return known_ ? active_in(*known_, ttl) : std::nullopt;
}

std::optional<Generations::Active> Generations::known_active(ConsumerNumber consumer) {
  const system::ReaderLock lock(mutex_);
  const auto ttl = ttls_.find(static_cast<std::uint32_t>(consumer));
  return known_ && ttl != ttls_.end() ? active_in(*known_, ttl->second) : std::nullopt;
}

KnownGenerations Generations::look(Connection& connection) {
  KnownGenerations known;
  // The version first: changes after it only cause another look.
  sql::Answer version = connection.ask(version_, {});
  if (version.next()) known.version = version.integer(0);
  sql::Answer list = connection.ask(list_, {});
  while (list.next()) {
    Generation one;
    one.number = list.integer(0);
    if (const auto ttl = list.maybe_integer(1)) one.ttl = milliseconds(*ttl);
    one.active = list.boolean(2);
    one.created_at = list.time(3);
    one.sealed_at = list.maybe_time(4);
    known.all.push_back(one);
  }
  return known;
}

void Generations::load(Connection& connection) {
  const bool committed = !connection.inside();
  KnownGenerations known = look(connection);
  known.committed = committed;
  const auto consumers = sql::Consumers(connection, consumers_).all();
  const system::WriterLock lock(mutex_);
  for (const Generation& one : known.all) texts_of(one.number);
  known_ = std::move(known);
  ttls_.clear();
  for (const auto& one : consumers) ttls_[static_cast<std::uint32_t>(one.number)] = one.ttl;
}

void Generations::forget() {
  const system::WriterLock lock(mutex_);
  known_.reset();
  ttls_.clear();
}

bool Generations::moved(const sql::Failure& failed) noexcept {
  return failed.code() == code_of(kDivisionByZero) || failed.code() == code_of(kNoSuchTable);
}

Generations::Active Generations::active(Connection& connection, const Ttl& ttl) {
  for (;;) {
    if (const auto known = known_active(ttl)) return *known;
    load(connection);
    if (const auto known = known_active(ttl)) return *known;
    connection.begin(milliseconds(5'000));
    try {
      make_missing(connection, ttl);
      connection.commit();
    } catch (...) {
      connection.roll_back();
      throw;
    }
    forget();
  }
}

Generations::Active Generations::active(Connection& connection, ConsumerNumber consumer) {
  for (;;) {
    if (const auto known = known_active(consumer)) return *known;
    load(connection);
    if (const auto known = known_active(consumer)) return *known;
    active(connection, sql::Consumers(connection, consumers_).ttl(consumer));
  }
}

// A session that seals one makes its successor: one that is there needs no lock to stay.
void Generations::make_missing(Connection& connection, const Ttl& ttl) {
  const auto there = [&] {
    return std::ranges::any_of(look(connection).all,
                               [&](const Generation& one) { return one.active && one.ttl == ttl; });
  };
  if (there()) return;
  lock(connection);
  if (!there()) make(connection, ttl);
}

// semel_meta must be locked. Attached, not created as a partition: that would lock all of
// semel_record.
std::int64_t Generations::make(Connection& connection, const Ttl& ttl) {
  const auto all = look(connection).all;
  const std::int64_t number = all.empty() ? 1 : all.back().number + 1;
  const std::string name = partition_name(number);
  define(connection,
         fmt::format("CREATE TABLE {} (LIKE semel_record INCLUDING DEFAULTS INCLUDING INDEXES)",
                     name));
  define(connection, fmt::format("ALTER TABLE semel_record ATTACH PARTITION {} FOR VALUES IN ({})",
                                 name, number));
  connection.queue(add_, {number, ttl});
  connection.queue(moved_, {});
  connection.settle();
  return number;
}

void Generations::lock_out(Connection& connection, const Generation& old) {
  const PartitionTexts* texts = nullptr;
  {
    const system::WriterLock lock(mutex_);
    texts = &texts_of(old.number);
  }
  connection.queue(texts->lock_out, {});
  connection.settle();
}

bool Generations::seal(Connection& connection, const Generation& old, milliseconds patience) {
  connection.begin(patience);
  try {
    lock(connection);
    const auto all = look(connection).all;
    const bool still = std::ranges::any_of(
        all, [&](const Generation& one) { return one.number == old.number && one.active; });
    if (!still) {
      connection.roll_back();
      return false;
    }
    make(connection, old.ttl);
    lock_out(connection, old);
    connection.queue(seal_, {old.number});
    connection.commit();
  } catch (...) {
    connection.roll_back();
    throw;
  }
  forget();
  return true;
}

void Generations::change_ttl(Connection& connection, const Ttl& from, const Ttl& to) {
  const bool longer = from && (!to || *to > *from);
  for (const Generation& one : look(connection).all) {
    if (!one.active || one.ttl != from) continue;
    if (longer) make(connection, from);
    lock_out(connection, one);
    if (longer) connection.queue(seal_, {one.number});
  }
  if (longer) connection.queue(lengthen_, {from, to});
  connection.queue(moved_, {});
  connection.settle();
}

void Generations::need_free(Connection& connection, std::int64_t number, milliseconds patience) {
  connection.begin(patience);
  try {
    lock_alone(connection, partition_name(number));
  } catch (...) {
    connection.roll_back();
    throw;
  }
  connection.roll_back();
}

bool Generations::remove(Connection& connection, std::int64_t number, std::int64_t version,
                         StoreTime now, milliseconds patience) {
  const std::string name = partition_name(number);
  connection.begin(patience);
  try {
    lock(connection);
    // A change of a ttl takes this lock too.
    const KnownGenerations known = look(connection);
    const auto old = std::ranges::find(known.all, number, &Generation::number);
    if (known.version != version || old == known.all.end() || !old->past(now)) {
      connection.roll_back();
      return false;
    }
    lock_alone(connection, name);
    // Few: the index of records that are not completed has them.
    const std::string left =
        fmt::format("SELECT 1 FROM {} WHERE state <> 'completed' LIMIT 1", name);
    if (connection.ask_once(left).next()) {
      connection.roll_back();
      return false;
    }
    define(connection, fmt::format("ALTER TABLE semel_record DETACH PARTITION {}", name));
    define(connection, fmt::format("DROP TABLE {}", name));
    connection.queue(remove_, {number});
    connection.queue(moved_, {});
    connection.commit();
  } catch (...) {
    connection.roll_back();
    throw;
  }
  forget();
  return true;
}

}  // namespace semel::postgres
