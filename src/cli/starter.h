// Starter configs: one for each source, handler and store that fit together.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::cli {

struct StarterParts {
  std::string source;   // queue, file, http, kafka, nats, rabbitmq, redis_streams, sqs, stdin
  std::string handler;  // sql, exec, http, native
  std::string store;    // sqlite, postgres, mysql, memory
};

// A word that an expression may contain, from the config's schema, with its meaning.
struct StarterWord {
  std::string_view name;
  std::string_view meaning;
};
std::vector<StarterWord> starter_sources();
std::vector<StarterWord> starter_handlers();
std::vector<StarterWord> starter_stores();

// Parses "file/sql/sqlite"; parts that are left out have their defaults. kRejected for an unknown
// word.
Result<StarterParts> parse_starter(std::string_view expression);

// The config's text. kRejected, with the reason, if the parts do not fit together.
Result<std::string> starter_text(const StarterParts& parts, bool small);

}  // namespace semel::cli
