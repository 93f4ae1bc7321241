// Consumers written by hand over Redis, without Semel.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace semel::bench {

enum class Style {
  // A claim and a completion, each as one script over all keys of a batch; of a Cluster one for
  // each tag, all of them on their way at once.
  kScripts,
  kSetNx,    // SET key 1 EX … NX, and then the work: what most people write
  kMachine,  // the same with states: GET, SET NX, and SET when it is done, one after the other
};

// One server, or the masters of a Cluster.
struct RedisPlace {
  struct Node {
    std::string socket;  // empty: by TCP
    int port = 0;
  };
  std::string url;  // as Semel takes it
  std::vector<Node> nodes;
  // For a Cluster: the text between braces in a key, and its node, an index into `nodes`.
  struct Tag {
    std::string text;
    std::size_t owner = 0;
  };
  std::vector<Tag> tags;  // none: keys have none
};

// A consumer over its own connection, to each node one.
class RedisByHand {
 public:
  virtual ~RedisByHand() = default;
  RedisByHand() = default;
  RedisByHand(const RedisByHand&) = delete;
  RedisByHand& operator=(const RedisByHand&) = delete;

  // `batch`: of kScripts only; the others take one message after the other.
  virtual void handle(const std::vector<std::string>& payloads, std::size_t batch) = 0;
};

std::unique_ptr<RedisByHand> make_redis_by_hand(const RedisPlace& place, Style style);

// Returns when the replicas have followed. Ends the benchmark where the server refuses it.
void forget_all(const RedisPlace& place);
long long memory_of(const RedisPlace& place);
// Microseconds of the servers' time that scripts have taken since the servers began.
double script_microseconds_of(const RedisPlace& place);

}  // namespace semel::bench
