#include "stores/mysql/purge.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "stores/mysql/literal.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

// How many rows one transaction removes.
constexpr std::int64_t kForgottenAtOnce = 500;

// How long a sweep waits for a record that others have locked: a change of a ttl waits behind it.
constexpr milliseconds kSweepPatience{1'000};

template <class Values, class Append>
std::string value_list(const Values& values, Append&& append_one) {
  std::string list = "(";
  for (const auto& value : values) {
    if (list.size() > 1) list += ", ";
    append_one(list, value);
  }
  return list + ')';
}

// For each step its record is read once the step is locked, so that a step of a record that came
// again stays. Records are locked for that: those alone that were found completed or gone.
std::string erase_steps(std::span<const KeyId> records) {
  return "DELETE s FROM semel_step AS s FORCE INDEX (PRIMARY) LEFT JOIN semel_record AS r "
         "FORCE INDEX (PRIMARY) ON r.id = s.record AND r.state <> 'completed' "
         "WHERE s.record IN " +
         value_list(records,
                    [](std::string& list, const KeyId& id) {
                      append_bytes(list, id.view(), Literals::kOurs);
                    }) +
         " AND r.id IS NULL";
}

}  // namespace

Purge::Purge(StoreContext& context)
    : ServerPurge(context.shared, context.dialect, *context.environment.clock),
      context_(context),
      sweep_(context.dialect, context.generations,
             std::min(context.pool.patience(), kSweepPatience)) {}

void Purge::erase_journals(sql::Session& session, std::span<const KeyId> records) {
  static_cast<Connection&>(session).queue(erase_steps(records));
}

// If the budget ends before all consumers had a turn, the next call begins with the next consumer.
std::size_t Purge::forget_completed(sql::Session& session, sql::Tables& tables, Times times,
                                    sql::PurgeBudget& budget) {
  auto& connection = static_cast<Connection&>(session);
  std::vector<sql::ConsumerRow> consumers = tables.consumers.all();
  std::erase_if(consumers, [](const sql::ConsumerRow& one) { return !one.ttl; });
  std::size_t forgotten = 0;
  for (std::size_t i = 0; i < consumers.size() && !budget.ended(); ++i, ++turn_) {
    const sql::ConsumerRow& consumer = consumers[turn_ % consumers.size()];
    forgotten += sweep_.run(connection, consumer, times.before, budget);
  }
  return forgotten;
}

// The names of locks. Keeps those that a transaction uses.
void Purge::forget_others(sql::Session& session, sql::PurgeBudget& budget) {
  auto& connection = static_cast<Connection&>(session);
  const std::string free =
      fmt::format("SELECT name FROM semel_lock LIMIT {} FOR UPDATE SKIP LOCKED", kForgottenAtOnce);
  for (bool all = false; !all && !budget.ended();) {
    connection.begin(context_.pool.patience());
    sql::Answer answer = connection.ask(free);
    std::vector<Bytes> names;
    while (answer.next()) names.push_back(answer.bytes(0));
    if (!names.empty()) {
      connection.queue("DELETE FROM semel_lock WHERE name IN " +
                       value_list(names, [](std::string& list, const Bytes& name) {
                         append_bytes(list, name, Literals::kOurs);
                       }));
    }
    connection.commit();
    all = names.size() < static_cast<std::size_t>(kForgottenAtOnce);
  }
}

}  // namespace semel::mysql
