// The fields of a message, as handwritten code reads them: a JSON parser that knows no faster, and
// a digest of the payload.
#pragma once

#include <openssl/sha.h>
#include <simdjson.h>

#include <string>
#include <vector>

#include "benchmarks/workload.h"

namespace semel::bench {

struct Fields {
  Id id;
  long long account;
  long long amount;
  unsigned char digest[SHA256_DIGEST_LENGTH];
};

class Parser {
 public:
  void parse(const std::string& payload, Fields& fields);

 private:
  simdjson::ondemand::parser parser_;
  std::string text_;
};

// Sorted by id, as whoever loads many rows would.
std::vector<Fields> sorted_fields(const std::vector<std::string>& payloads);

}  // namespace semel::bench
