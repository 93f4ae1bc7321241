#include "config/row_guard_build.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/sql_lexer.h"
#include "base/sql_tokens.h"
#include "config/sql_build.h"
#include "core/row_select.h"

namespace semel::config {
namespace {

using core::StrategyKind;
using Params = std::map<std::string, core::SqlParam>;

Params params_of(const ConsumerConfig& made, const View& guard, Report& report) {
  if (guard.written("params")) return build_params(guard, report);
  const auto* sql = std::get_if<SqlHandler>(&made.handler);
  return sql != nullptr ? sql->spec.params : Params();
}

core::RowLocks locks_of(const StoreConfig& store) {
  const StoreTraits traits = traits_of(store);
  return traits.transactions && !traits.single_writer ? core::RowLocks::kForUpdate
                                                      : core::RowLocks::kOneWriter;
}

std::vector<std::string> names_in(const std::string& text) {
  const auto read = sql::tokenize(text);
  return read ? read->params : std::vector<std::string>();
}

void tell(const Setting& value, const Error& error, Report& report) {
  report.error("E039", value.place, value.path, fmt::format("{}: {}", value.path, error.message))
      .help = error.hint.empty() ? "write it whole, its quotes and parentheses closed" : error.hint;
}

// One of the two maps: its name and the strategy that it belongs to.
struct Part {
  const char* name;
  StrategyKind kind;
  const char* needs;  // what the strategy must know
  const char* example;
};
constexpr Part kLock = {"lock", StrategyKind::kPessimisticLock, "which row it locks",
                        "lock: { select: \"SELECT status FROM … WHERE id = :id FOR UPDATE\", "
                        "done_when: \"status = 'PAID'\" }"};
constexpr Part kVersion = {"version", StrategyKind::kOptimisticLock, "which versions it compares",
                           "version: { from: json:/version, current: \"SELECT version FROM … WHERE "
                           "id = :id\" }"};

// True if the map is present exactly when its strategy is used; reports it otherwise.
bool belongs(const Part& part, const ConsumerConfig& made, const View& consumer, Report& report) {
  const bool own = made.strategy == part.kind;
  const bool written = consumer.written(part.name);
  if (consumer.spoiled("strategy") || consumer.spoiled(part.name)) return false;
  if (written && !own) {
    report
        .error(
            "E038", consumer.place(part.name), consumer.path(part.name),
            fmt::format("{} belongs to strategy {}, and this one is {}", consumer.path(part.name),
                        core::to_string(part.kind), core::to_string(made.strategy)))
        .help = "remove it";
  } else if (own && !written) {
    report
        .error("E038", consumer.place("strategy"), consumer.path("strategy"),
               fmt::format("{}: strategy {} needs to know {}", consumer.path("strategy"),
                           core::to_string(part.kind), part.needs))
        .help = part.example;
  }
  return own && written;
}

void check_own_params(const View& guard, const std::vector<std::string>& names, Report& report) {
  if (!guard.written("params")) return;
  check_unused(guard, std::set<std::string>(names.begin(), names.end()), report);
}

void check_lock(const core::LockSpec& lock, const View& guard, core::RowLocks locks,
                Report& report) {
  const auto* select = guard.find("select");
  const auto* done = guard.find("done_when");
  if (select == nullptr || done == nullptr) return;
  // Tried with a condition that is always valid: this shows whether the SELECT is at fault.
  if (const auto alone = core::lock_select(lock.select, "1", locks); !alone) {
    return tell(*select, alone.error(), report);
  }
  if (const auto both = core::lock_select(lock.select, lock.done_when, locks); !both) {
    return tell(*done, both.error(), report);
  }
  std::vector<std::string> names = names_in(lock.select);
  const std::vector<std::string> others = names_in(lock.done_when);
  const bool known = check_params(*select, names, lock.params, report);
  if (!check_params(*done, others, lock.params, report) || !known) return;
  names.insert(names.end(), others.begin(), others.end());
  check_own_params(guard, names, report);
}

// A lost comparison shows only in the number of rows that the handler's write to the table changed.
void check_written(const core::SqlSpec& handler, const std::string& table, const Setting& current,
                   Report& report) {
  for (const auto& statement : handler.statements) {
    const auto lexed = sql::lex(statement.sql);
    if (!lexed) return;  // reported already
    const auto same = [&](const std::string& written) { return ascii::alike(written, table); };
    if (std::any_of(lexed->writes.begin(), lexed->writes.end(), same)) return;
  }
  report
      .error("E039", current.place, current.path,
             fmt::format("{}: no statement of the handler writes {}", current.path, table))
      .help =
      fmt::format("UPDATE {} SET …, version = :v + 1 WHERE id = :id AND version = :v", table);
}

void check_version(const ConsumerConfig& made, const View& guard, core::RowLocks locks,
                   Report& report) {
  const auto* current = guard.find("current");
  if (current == nullptr) return;
  const auto select = core::version_select(current->text, locks);
  if (!select) return tell(*current, select.error(), report);
  const std::vector<std::string> names = names_in(current->text);
  if (!check_params(*current, names, made.version->params, report)) return;
  check_own_params(guard, names, report);
  const auto* sql = std::get_if<SqlHandler>(&made.handler);
  if (sql != nullptr) check_written(sql->spec, select->table, *current, report);
}

}  // namespace

void build_row_guards(ConsumerConfig& made, const View& consumer, Report& report) {
  if (consumer.written("lock")) {
    const View lock = consumer.in("lock");
    lock.fill(made.lock.emplace());
    made.lock->params = params_of(made, lock, report);
  }
  if (!consumer.written("version")) return;
  const View view = consumer.in("version");
  core::VersionSpec version;
  if (const auto* from = view.find("from")) {
    version.from.pointer =
        json::Pointer::parse(std::string_view(from->text).substr(from->text.find(':') + 1)).value();
  }
  view.fill(version);
  version.params = params_of(made, view, report);
  made.version = std::move(version);
}

void check_row_guards(const StoreConfig& store, const ConsumerConfig& made, const View& consumer,
                      Report& report) {
  const core::RowLocks locks = locks_of(store);
  if (belongs(kLock, made, consumer, report) && made.lock) {
    check_lock(*made.lock, consumer.in("lock"), locks, report);
  }
  if (belongs(kVersion, made, consumer, report) && made.version) {
    check_version(made, consumer.in("version"), locks, report);
  }
}

}  // namespace semel::config
