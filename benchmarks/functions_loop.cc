#include "benchmarks/functions_loop.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/digest.h"
#include "benchmarks/message_fields.h"

namespace semel::bench {

std::size_t FunctionsLoop::consume(const std::vector<std::string>& payloads, ClaimedBy how,
                                   std::size_t batch) {
  constexpr std::size_t kKeyAt = 7, kKeySize = 36;
  Parser parser;
  Fields fields{};
  std::vector<Message> messages;
  std::size_t were_new = 0;
  for (std::size_t first = 0; first < payloads.size(); first += batch) {
    messages.clear();
    for (std::size_t i = first; i < std::min(first + batch, payloads.size()); ++i) {
      parser.parse(payloads[i], fields);
      const BytesView print(reinterpret_cast<const char*>(fields.digest), Fingerprint::kSize);
      messages.push_back({payloads[i].substr(kKeyAt, kKeySize), digest::hex(print),
                          std::to_string(fields.account), std::to_string(fields.amount)});
    }
    run("BEGIN");
    std::vector<bool> fresh;
    if (how == ClaimedBy::kClaimMany) fresh = claim_many(messages);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const bool is_new = how == ClaimedBy::kClaimMany ? fresh.at(i) : take(messages[i], how);
      if (!is_new) continue;
      make_effect(messages[i]);
      ++were_new;
    }
    run("COMMIT");
  }
  return were_new;
}

bool FunctionsLoop::take(const Message& message, ClaimedBy how) {
  switch (how) {
    case ClaimedBy::kClaim:
      return claim(message);
    case ClaimedBy::kBareFunction:
      return call_bare_function(message);
    default:
      return insert(message);
  }
}

}  // namespace semel::bench
