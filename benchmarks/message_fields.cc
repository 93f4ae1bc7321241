#include "benchmarks/message_fields.h"

#include <algorithm>
#include <cstring>

namespace semel::bench {

void Parser::parse(const std::string& payload, Fields& fields) {
  text_.reserve(payload.size() + simdjson::SIMDJSON_PADDING);
  text_.assign(payload);
  auto document = parser_.iterate(text_);
  fields.id = id_of(document["id"].get_string().value());
  fields.account = document["account"].get_int64().value();
  fields.amount = document["amount"].get_int64().value();
  SHA256(reinterpret_cast<const unsigned char*>(payload.data()), payload.size(), fields.digest);
}

std::vector<Fields> sorted_fields(const std::vector<std::string>& payloads) {
  Parser parser;
  std::vector<Fields> all(payloads.size());
  for (std::size_t i = 0; i < payloads.size(); ++i) parser.parse(payloads[i], all[i]);
  std::sort(all.begin(), all.end(), [](const Fields& a, const Fields& b) {
    return std::memcmp(a.id.bytes, b.id.bytes, sizeof a.id.bytes) < 0;
  });
  return all;
}

}  // namespace semel::bench
