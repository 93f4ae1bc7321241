#include "stores/mysql/purge.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stores/mysql/literal.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

// How many rows one transaction takes away.
constexpr std::int64_t kForgottenAtOnce = 500;

template <class T, class Append>
std::string list_of(const std::vector<T>& values, Append&& append_one) {
  std::string list = "(";
  for (const T& value : values) {
    if (list.size() > 1) list += ", ";
    append_one(list, value);
  }
  return list + ')';
}

}  // namespace

Purge::Purge(Core& core)
    : core_(core),
      past_(core.dialect,
            "SELECT id, inbox FROM semel_record FORCE INDEX (semel_record_state) "
            "WHERE state = 'completed' AND generation = ?1 AND changed_at < ?2 "
            "ORDER BY changed_at LIMIT ?3 FOR UPDATE"),
      clock_(core.dialect, *core.environment.clock) {}

// What is completed is nobody's: only another purge holds it.
std::size_t Purge::forget_part(Connection& connection, const Generation& generation,
                               StoreTime before) {
  connection.begin(core_.pool.patience());
  sql::Answer past = connection.ask(past_, {generation.number, before, kForgottenAtOnce});
  std::vector<KeyId> ids;
  std::vector<std::int64_t> inbox;
  while (past.next()) {
    ids.push_back(past.key_id(0));
    if (const auto row = past.maybe_integer(1)) inbox.push_back(*row);
  }
  std::ranges::sort(ids);
  std::ranges::sort(inbox);
  if (!inbox.empty()) {
    connection.queue("DELETE semel_inbox FROM semel_inbox FORCE INDEX (PRIMARY) WHERE row_id IN " +
                     list_of(inbox, append_integer));
  }
  if (!ids.empty()) {
    connection.queue("DELETE semel_record FROM semel_record FORCE INDEX (PRIMARY) WHERE id IN " +
                     list_of(ids, [](std::string& list, const KeyId& id) {
                       append_bytes(list, id.view(), Literals::kOurs);
                     }));
  }
  connection.commit();
  return ids.size();
}

std::size_t Purge::forget_completed(Connection& connection, const Generation& generation,
                                    StoreTime now, sql::PurgeBudget& budget) {
  std::size_t forgotten = 0;
  while (!budget.ended()) {
    const std::size_t part = forget_part(connection, generation, now - *generation.ttl);
    forgotten += part;
    if (part < static_cast<std::size_t>(kForgottenAtOnce)) break;
  }
  return forgotten;
}

// Those that a transaction has stay. In transactions of their own.
void Purge::forget_names(Connection& connection, sql::PurgeBudget& budget) {
  const std::string free =
      fmt::format("SELECT name FROM semel_lock LIMIT {} FOR UPDATE SKIP LOCKED", kForgottenAtOnce);
  for (bool all = false; !all && !budget.ended();) {
    connection.begin(core_.pool.patience());
    sql::Answer answer = connection.ask(free);
    std::vector<Bytes> names;
    while (answer.next()) names.push_back(answer.bytes(0));
    if (!names.empty()) {
      connection.queue("DELETE FROM semel_lock WHERE name IN " +
                       list_of(names, [](std::string& list, const Bytes& name) {
                         append_bytes(list, name, Literals::kOurs);
                       }));
    }
    connection.commit();
    all = names.size() < static_cast<std::size_t>(kForgottenAtOnce);
  }
}

PurgeReport Purge::run(milliseconds whole) {
  sql::PurgeBudget budget(*core_.environment.clock, whole);
  sql::Lent lent(core_.pool);
  auto& connection = static_cast<Connection&>(*lent);
  try {
    const StoreTime now = clock_.check(connection, core_.pool.patience());
    PurgeReport report;
    for (const Generation& one : core_.generations.look(connection)) {
      if (one.ttl) report.records += forget_completed(connection, one, now, budget);
    }
    sql::Tables tables = core_.shared.tables(connection);
    if (!budget.more()) {
      report.records += sql::forget_dead(connection, tables, now, core_.pool.patience(), budget);
    }
    if (!budget.more()) forget_names(connection, budget);
    report.more = budget.more();
    sql::forget_crashes(tables, now);
    connection.run();
    return report;
  } catch (...) {
    connection.roll_back();
    throw;
  }
}

}  // namespace semel::mysql
