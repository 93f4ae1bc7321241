// A record of effects outside of any store: what the outside world saw, despite kills.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <semel/bytes.h>

namespace semel::test {

// An append-only file. Several objects, threads and processes may write to one path at a time.
class Ledger {
 public:
  explicit Ledger(std::string path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Records one effect of `key`; it is on disk when the call returns.
  void note(BytesView key);

  // The keys in the order of their effects, as the file has them now. A line that a kill cut short
  // is ignored.
  std::vector<Bytes> entries() const;
  std::map<Bytes, std::size_t> counts() const;

  struct Balance {
    std::size_t effects = 0;  // all
    std::size_t keys = 0;     // with at least one
    std::size_t doubled = 0;  // keys with more than one
  };
  Balance balance() const;

 private:
  std::string path_;
  int fd_;
};

}  // namespace semel::test
