#include "stores/mysql/generations.h"

#include <fmt/format.h>

#include <algorithm>

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{5'000};

Ttl ttl_at(const sql::Answer& answer, std::size_t column) {
  const auto ttl = answer.maybe_integer(column);
  return ttl ? Ttl(milliseconds(*ttl)) : std::nullopt;
}

}  // namespace

Generations::Generations(const Dialect& dialect, const std::string& clock)
    : lock_(dialect, "SELECT epoch FROM semel_meta FOR UPDATE"),
      keep_(dialect, "SELECT epoch FROM semel_meta LOCK IN SHARE MODE"),
      list_(dialect, "SELECT number, ttl, state = 'active' FROM semel_generation ORDER BY number"),
      // In one query: a ttl that was read before may be another consumer's by now.
      of_consumer_(dialect,
                   "SELECT g.number FROM semel_consumer AS c JOIN semel_generation AS g "
                   "ON g.ttl <=> c.ttl AND g.state = 'active' WHERE c.number = ?1"),
      ttl_(dialect, "SELECT ttl FROM semel_consumer WHERE number = ?1"),
      add_(dialect, fmt::format("INSERT INTO semel_generation (number, ttl, state, created_at) "
                                "VALUES (?1, ?2, 'active', {})",
                                clock)),
      seal_(dialect, fmt::format("UPDATE semel_generation SET state = 'sealed', sealed_at = {} "
                                 "WHERE number = ?1",
                                 clock)),
      lengthen_(dialect,
                "UPDATE semel_generation SET ttl = ?2 WHERE ttl = ?1 AND state = 'sealed'") {}

std::vector<Generation> Generations::look(Connection& connection) {
  std::vector<Generation> all;
  sql::Answer list = connection.ask(list_, {});
  while (list.next()) all.push_back({list.integer(0), ttl_at(list, 1), list.boolean(2)});
  return all;
}

std::int64_t Generations::active(Connection& connection, ConsumerNumber consumer) {
  const auto key = static_cast<std::uint32_t>(consumer);
  for (;;) {
    std::uint64_t forgotten = 0;
    {
      const system::ReaderLock lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
      forgotten = forgotten_;
    }
    sql::Answer found = connection.ask(of_consumer_, {consumer});
    if (!found.next()) {
      make(connection, consumer);
      continue;
    }
    const system::WriterLock lock(mutex_);
    if (forgotten == forgotten_) known_[key] = found.integer(0);
    return found.integer(0);
  }
}

void Generations::forget() {
  const system::WriterLock lock(mutex_);
  known_.clear();
  ++forgotten_;
}

void Generations::make(Connection& connection, ConsumerNumber consumer) {
  connection.begin(kPatience);
  try {
    lock(connection);
    sql::Answer row = connection.ask(ttl_, {consumer});
    if (!row.next()) {
      sql::fail({ErrorKind::kRejected, "R200",
                 fmt::format("no consumer has the number {}", static_cast<std::uint32_t>(consumer)),
                 "attach the consumer first; a Guard does, outside of a transaction that is rolled "
                 "back"});
    }
    make_missing(connection, ttl_at(row, 0));
    connection.commit();
  } catch (...) {
    connection.roll_back();
    throw;
  }
}

void Generations::make_missing(Connection& connection, const Ttl& ttl) {
  std::int64_t last = 0;
  const auto there = [&] {
    const auto all = look(connection);
    last = all.empty() ? 0 : all.back().number;
    return std::ranges::any_of(all,
                               [&](const Generation& one) { return one.active && one.ttl == ttl; });
  };
  if (there()) return;
  lock(connection);
  if (!there()) connection.queue(add_, {last + 1, ttl});
}

void Generations::change_ttl(Connection& connection, const Ttl& from, const Ttl& to) {
  const bool longer = from && (!to || *to > *from);
  if (!longer) return;
  for (const Generation& one : look(connection)) {
    if (one.active && one.ttl == from) connection.queue(seal_, {one.number});
  }
  connection.queue(lengthen_, {from, to});
}

}  // namespace semel::mysql
