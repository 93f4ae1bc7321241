// What people write by hand over Redis, without Semel.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace semel::bench {

enum class Style {
  kScripts,  // a claim and a completion, each as one script over all keys of a batch
  kSetNx,    // SET key 1 EX … NX, and then the work: what most people write
  kMachine,  // the same with states: GET, SET NX, and SET when it is done, one after the other
};

// A consumer over its own connection.
class RedisByHand {
 public:
  virtual ~RedisByHand() = default;
  RedisByHand() = default;
  RedisByHand(const RedisByHand&) = delete;
  RedisByHand& operator=(const RedisByHand&) = delete;

  // `batch`: of kScripts only; the others take one message after the other.
  virtual void handle(const std::vector<std::string>& payloads, std::size_t batch) = 0;
};

std::unique_ptr<RedisByHand> make_redis_by_hand(const std::string& socket, Style style);

// Ends the benchmark where the server refuses it.
void forget_all(const std::string& socket);
long long memory_of(const std::string& socket);

}  // namespace semel::bench
