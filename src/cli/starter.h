// Starter configs: one for each source, handler and store that fit together.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::cli {

struct StarterParts {
  std::string
      source;  // queue, file, http, kafka, nats, rabbitmq, redis_streams, sqs, stdin, claims
  std::string handler;  // sql, exec, http, native; empty for claims, whose clients do the work
  std::string store;    // sqlite, postgres, mysql, redis, memory

  // "file/sql/sqlite", "claims/sqlite".
  std::string expression() const;
};

// The source without a handler, whose expression is claims/STORE.
inline constexpr std::string_view kClaimsSource = "claims";

// A word that an expression may contain, from the config's schema, with its meaning.
struct StarterWord {
  std::string_view name;
  std::string_view meaning;
};
std::vector<StarterWord> starter_sources();
std::vector<StarterWord> starter_handlers();
std::vector<StarterWord> starter_stores();
std::vector<std::string_view> starter_strategies();

// Every source with every handler and store, also those that do not fit together.
std::vector<StarterParts> starter_combinations();

// Parses "file/sql/sqlite" or "claims/sqlite"; parts that are left out have their defaults.
// kRejected for an unknown word.
Result<StarterParts> parse_starter(std::string_view expression);

// The config's text. kRejected, with the reason, if the parts do not fit together.
Result<std::string> starter_text(const StarterParts& parts, bool small);

}  // namespace semel::cli
