#include "stores/sqlite/consumers.h"

#include <fmt/format.h>

#include "core/key_encoding.h"
#include "stores/sqlite/connection.h"

namespace semel::sqlite {
namespace {

Ttl ttl_at(const Prepared& row, int column) {
  if (row.null(column)) return std::nullopt;
  return std::chrono::milliseconds(row.integer(column));
}

ConsumerRow consumer_row(const Prepared& row) {
  return {row.consumer(0), row.text(1), row.text(2), ttl_at(row, 3)};
}

}  // namespace

Consumers::Consumers(Connection& connection)
    : find_(connection,
            "SELECT number, name, recipe_hash, ttl FROM semel_consumer WHERE name = ?1"),
      all_(connection, "SELECT number, name, recipe_hash, ttl FROM semel_consumer ORDER BY number"),
      add_(connection, "INSERT INTO semel_consumer (name, recipe_hash, ttl) VALUES (?1, ?2, ?3)"),
      add_as_(connection,
              "INSERT INTO semel_consumer (number, name, recipe_hash, ttl) "
              "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (number) DO NOTHING"),
      change_(connection, "UPDATE semel_consumer SET recipe_hash = ?2, ttl = ?3 WHERE number = ?1"),
      ttl_(connection, "SELECT ttl FROM semel_consumer WHERE number = ?1") {}

std::optional<ConsumerRow> Consumers::find(const std::string& name) {
  find_.bind_text(1, name);
  const Reading reading(find_);
  if (!find_.next()) return std::nullopt;
  return consumer_row(find_);
}

std::vector<ConsumerRow> Consumers::all() {
  std::vector<ConsumerRow> rows;
  const Reading reading(all_);
  while (all_.next()) rows.push_back(consumer_row(all_));
  return rows;
}

void Consumers::check_recipe(const ConsumerRow& row, const ConsumerSpec& spec) {
  if (row.recipe_hash == spec.recipe_hash || spec.accept_recipe) return;
  fail({ErrorKind::kRejected, "R220",
        fmt::format("the key recipe of consumer \"{}\" changed: every message would count as new",
                    spec.name),
        "accept the change with `accept: [key_recipe]`, or take the old recipe back"});
}

ConsumerNumber Consumers::add(const ConsumerSpec& spec) {
  add_.bind_text(1, spec.name).bind_blob(2, spec.recipe_hash).bind(3, spec.ttl).run();
  const auto found = find(spec.name);
  if (static_cast<std::uint32_t>(found->number) > core::kMaxConsumerNumber) {
    fail({ErrorKind::kLimit, "R200", "no consumer numbers are left", {}});
  }
  forget();
  return found->number;
}

bool Consumers::add_as(const ConsumerRow& row) {
  add_as_.bind(1, row.number).bind_text(2, row.name).bind_blob(3, row.recipe_hash).bind(4, row.ttl);
  forget();
  return add_as_.change() > 0;
}

void Consumers::change(ConsumerNumber number, const ConsumerSpec& spec) {
  change_.bind(1, number).bind_blob(2, spec.recipe_hash).bind(3, spec.ttl).run();
  forget();
}

const Ttl& Consumers::ttl(ConsumerNumber number) {
  for (const Known& known : known_) {
    if (known.number == number) return known.ttl;
  }
  ttl_.bind(1, number);
  const Reading reading(ttl_);
  if (!ttl_.next()) {
    fail({ErrorKind::kRejected, "R200",
          fmt::format("no consumer has the number {}", static_cast<std::uint32_t>(number)),
          "attach the consumer first"});
  }
  known_.push_back({number, ttl_at(ttl_, 0)});
  return known_.back().ttl;
}

}  // namespace semel::sqlite
