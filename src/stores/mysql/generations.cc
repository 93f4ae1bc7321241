#include "stores/mysql/generations.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{5'000};

// In a transaction that has semel_meta to itself.
template <class Work>
void alone(Connection& connection, const sql::Text& lock, Work&& work) {
  connection.begin(kPatience);
  try {
    connection.ask(lock, {});
    work();
    connection.commit();
  } catch (...) {
    connection.roll_back();
    throw;
  }
}

const Generation* active_of(const std::vector<Generation>& all, const Ttl& ttl) {
  const auto found = std::ranges::find_if(
      all, [&](const Generation& one) { return one.active && one.ttl == ttl; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

Generations::Generations(const Dialect& dialect, const std::string& clock)
    : lock_(dialect, "SELECT epoch FROM semel_meta FOR UPDATE"),
      list_(dialect, "SELECT number, ttl, state = 'active' FROM semel_generation ORDER BY number"),
      add_(dialect, fmt::format("INSERT INTO semel_generation (number, ttl, state, created_at) "
                                "VALUES (?1, ?2, 'active', {})",
                                clock)),
      seal_(dialect, fmt::format("UPDATE semel_generation SET state = 'sealed', sealed_at = {} "
                                 "WHERE number = ?1",
                                 clock)),
      lengthen_(dialect,
                "UPDATE semel_generation SET ttl = ?2 WHERE ttl = ?1 AND state = 'sealed'") {}

std::optional<std::int64_t> Generations::known_active(const Ttl& ttl) {
  const std::shared_lock lock(mutex_);
  const Generation* const one = active_of(known_, ttl);
  return one != nullptr ? std::optional(one->number) : std::nullopt;
}

std::vector<Generation> Generations::look(Connection& connection) {
  std::vector<Generation> all;
  sql::Answer list = connection.ask(list_, {});
  while (list.next()) {
    Generation one;
    one.number = list.integer(0);
    if (const auto ttl = list.maybe_integer(1)) one.ttl = milliseconds(*ttl);
    one.active = list.boolean(2);
    all.push_back(one);
  }
  const std::unique_lock lock(mutex_);
  known_ = all;
  return all;
}

std::int64_t Generations::active(Connection& connection, const Ttl& ttl) {
  for (;;) {
    if (const auto known = known_active(ttl)) return *known;
    if (active_of(look(connection), ttl) != nullptr) continue;
    alone(connection, lock_, [&] {
      const auto all = look(connection);
      if (active_of(all, ttl) != nullptr) return;
      connection.queue(add_, {all.empty() ? 1 : all.back().number + 1, ttl});
    });
  }
}

void Generations::lengthen(Connection& connection, const Ttl& from, const Ttl& to) {
  alone(connection, lock_, [&] {
    const auto all = look(connection);
    if (const Generation* const old = active_of(all, from)) {
      connection.queue(seal_, {old->number});
    }
    connection.queue(lengthen_, {from, to});
  });
  look(connection);
}

}  // namespace semel::mysql
