#include "stores/sql/consumers.h"

#include <fmt/format.h>

#include "core/key_encoding.h"

namespace semel::sql {
namespace {

Ttl ttl_at(const Answer& answer, std::size_t column) {
  if (answer.null(column)) return std::nullopt;
  return std::chrono::milliseconds(answer.integer(column));
}

ConsumerRow consumer_at(const Answer& answer) {
  return {answer.consumer(0), answer.bytes(1), answer.bytes(2), ttl_at(answer, 3)};
}

}  // namespace

ConsumerTexts::ConsumerTexts(const Dialect& dialect)
    : find(dialect, "SELECT number, name, recipe_hash, ttl FROM semel_consumer WHERE name = ?1"),
      all(dialect, "SELECT number, name, recipe_hash, ttl FROM semel_consumer ORDER BY number"),
      add(dialect,
          "INSERT INTO semel_consumer (number, name, recipe_hash, ttl) VALUES (?1, ?2, ?3, ?4) "
          "ON CONFLICT (name) DO NOTHING"),
      change(dialect, "UPDATE semel_consumer SET recipe_hash = ?2, ttl = ?3 WHERE number = ?1"),
      ttl(dialect, "SELECT ttl FROM semel_consumer WHERE number = ?1") {}

std::optional<ConsumerRow> Consumers::find(const std::string& name) {
  Answer answer = statements_.ask(texts_.find, {Word{name}});
  if (!answer.next()) return std::nullopt;
  return consumer_at(answer);
}

std::vector<ConsumerRow> Consumers::all() {
  std::vector<ConsumerRow> rows;
  Answer answer = statements_.ask(texts_.all, {});
  while (answer.next()) rows.push_back(consumer_at(answer));
  return rows;
}

ConsumerRow Consumers::add(const ConsumerSpec& spec, std::optional<std::int64_t> number) {
  statements_.queue(texts_.add, {number, Word{spec.name}, Binary{spec.recipe_hash}, spec.ttl});
  auto row = find(spec.name);
  if (!row) {
    fail({ErrorKind::kUnavailable,
          "R200",
          fmt::format("the consumer \"{}\" went while it was added", spec.name),
          {}});
  }
  if (static_cast<std::uint32_t>(row->number) > kMaxConsumerNumber) {
    fail({ErrorKind::kLimit, "R200", "no consumer numbers are left", {}});
  }
  return *std::move(row);
}

void Consumers::change(ConsumerNumber number, const ConsumerSpec& spec) {
  statements_.queue(texts_.change, {number, Binary{spec.recipe_hash}, spec.ttl});
}

void Consumers::check_recipe(const ConsumerRow& row, const ConsumerSpec& spec) {
  if (row.recipe_hash == spec.recipe_hash || spec.accept_recipe) return;
  fail({ErrorKind::kRejected, "R220",
        fmt::format("the key recipe of consumer \"{}\" changed: every message would count as new",
                    spec.name),
        "accept the change with `accept: [key_recipe]`, or take the old recipe back"});
}

Ttl Consumers::ttl(ConsumerNumber number) {
  Answer answer = statements_.ask(texts_.ttl, {number});
  if (!answer.next()) {
    fail({ErrorKind::kRejected, "R200",
          fmt::format("no consumer has the number {}", static_cast<std::uint32_t>(number)),
          "attach the consumer first; a Guard does, outside of a transaction that is rolled back"});
  }
  return ttl_at(answer, 0);
}

}  // namespace semel::sql
