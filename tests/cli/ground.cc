#include "tests/cli/ground.h"

#include <gtest/gtest.h>

namespace semel::test {

GroundTestBed::GroundTestBed(DatabaseKind database_kind, const std::string& consumer) {
  if (database_kind == DatabaseKind::kSqlite) {
    sqlite_.emplace(consumer);
    sqlite_->sql("CREATE TABLE effect (place INTEGER PRIMARY KEY, id VARCHAR(40) NOT NULL)");
  } else {
    postgres_ = std::make_unique<ServerTestBed>(kPostgres, consumer);
    postgres_->sql("CREATE TABLE effect (place BIGSERIAL, id VARCHAR(40) NOT NULL)");
  }
}

std::string GroundTestBed::config() const {
  return sqlite_ ? sqlite_->config() : postgres_->config();
}

std::size_t GroundTestBed::config_lines() const { return count_of(read_file(config()), "\n"); }

Ran GroundTestBed::semel(Words words) const {
  return sqlite_ ? sqlite_->semel(std::move(words)) : postgres_->semel(std::move(words));
}

std::int64_t GroundTestBed::number(const std::string& query) const {
  return sqlite_ ? sqlite_->number(query) : postgres_->number(query);
}

void GroundTestBed::sql(const std::string& text) const {
  sqlite_ ? sqlite_->sql(text) : postgres_->sql(text);
}

void GroundTestBed::expect_each_once(std::size_t payments, std::int64_t sum_of_all) const {
  const auto count = static_cast<std::int64_t>(payments);
  EXPECT_EQ(number("SELECT count(*) FROM effect"), count) << "effects";
  EXPECT_EQ(number("SELECT count(DISTINCT id) FROM effect"), count) << "keys";
  EXPECT_EQ(sum(), sum_of_all);
}

}  // namespace semel::test
