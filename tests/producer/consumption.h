// A consumer with a record, run over all there is at a source: what came, and what it did.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace semel::test {

struct Consumption {
  int exit_code = -1;
  std::map<std::string, int> effects;  // how often its work ran, by key
  int done = 0;                        // deliveries that ended so
  int duplicates = 0;
  int others = 0;
  std::string complaints;
};

// `source`: as in YAML. Its keys are found by `key: auto`.
Consumption consume(std::string_view source);
// The consumer of a config, whose handler is native.
Consumption consume_config(const std::string& config, const std::string& consumer);

}  // namespace semel::test
