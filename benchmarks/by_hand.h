// What people write by hand over SQLite, without Semel: the raw limit with a transaction for each
// batch, and the naive consumer with one for each message. Same pragmas, prepared statements, a
// JSON parser that knows no faster; each as fast as its style allows.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;

namespace semel::bench {

// A file with the business table, in WAL mode.
void make_business_file(const std::string& path);
// What is in the accounts, to be compared with what should be.
long long sum_of_accounts(const std::string& path);
long long sum_of_amounts(const std::vector<std::string>& payloads);

enum class Work {
  kClaims,    // the record alone
  kEffects,   // and the UPDATE
  kInbox,     // and the message kept
  kTwoPhase,  // a claim, committed without a sync of its own; then the completion
};

// A consumer over its own connection. The record's table is made where it is missing.
class ByHand {
 public:
  ByHand(const std::string& path, Work work);
  ~ByHand();
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  // Handles all, `batch` to a transaction. Yields messages per second.
  double consume(const std::vector<std::string>& payloads, std::size_t batch);
  // One message to a transaction: the seconds that each took.
  std::vector<double> latencies(const std::vector<std::string>& payloads);
  // Puts records there, in one transaction, to begin with.
  void preload(const std::vector<std::string>& payloads);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel::bench
