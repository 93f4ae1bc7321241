#include "benchmarks/by_hand.h"

#include <algorithm>

#include "benchmarks/measure.h"
#include "benchmarks/message_fields.h"

namespace semel::bench {

double ByHand::consume(const std::vector<std::string>& payloads, std::size_t batch) {
  const Stopwatch watch;
  if (batch == 1) {
    for (const std::string& payload : payloads) handle_naively(payload);
  } else {
    for (std::size_t i = 0; i < payloads.size(); i += batch) {
      handle(payloads.data() + i, std::min(batch, payloads.size() - i));
    }
  }
  return static_cast<double>(payloads.size()) / watch.seconds();
}

std::vector<double> ByHand::latencies(const std::vector<std::string>& payloads) {
  std::vector<double> all;
  all.reserve(payloads.size());
  for (const std::string& payload : payloads) {
    const Stopwatch watch;
    handle(&payload, 1);
    all.push_back(watch.seconds());
  }
  return all;
}

long long sum_of_amounts(const std::vector<std::string>& payloads) {
  Parser parser;
  Fields fields{};
  long long sum = 0;
  for (const std::string& payload : payloads) {
    parser.parse(payload, fields);
    sum += fields.amount;
  }
  return sum;
}

}  // namespace semel::bench
