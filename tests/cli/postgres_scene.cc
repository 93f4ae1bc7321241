#include "tests/cli/postgres_scene.h"

#include <fmt/format.h>

namespace semel::test {

PostgresScene::PostgresScene(std::string_view consumer, const PostgresServer& server)
    : server_(server), database_(server.new_database()) {
  write_file(config(), fmt::format("version: 1\n"
                                   "store: {{ postgres: {{ url: \"{}\" }} }}\n"
                                   "consumers:\n"
                                   "  - name: payments\n{}",
                                   url(), consumer));
  sql("CREATE TABLE account(id integer PRIMARY KEY, balance bigint NOT NULL DEFAULT 0);"
      "INSERT INTO account(id) SELECT * FROM generate_series(1, 100)");
}

std::int64_t PostgresScene::number(const std::string& query) const {
  return std::stoll(server_.query(database_, query));
}

Ran PostgresScene::semel(Words words, const StartOptions& options) const {
  words.insert(words.end(), {"-c", config()});
  return run(words, options);
}

Ran PostgresScene::semel_at(const std::string& url, Words words) const {
  words.insert(words.end(), {"--set", "store.postgres.url=" + url});
  return semel(std::move(words));
}

}  // namespace semel::test
