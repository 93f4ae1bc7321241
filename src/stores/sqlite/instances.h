// Instances: which opened stores are alive.
//
// Each store that claims or takes has a number and a lock on the byte of that number. A free lock
// proves that its process is gone; a stopped process keeps its lock.
#pragma once

#include <atomic>
#include <vector>

#include "stores/sqlite/side_file.h"
#include "stores/sqlite/writer.h"

namespace semel::sqlite {

// Thread-safe.
class Instances {
 public:
  // The writer is borrowed and must outlive it.
  Instances(const std::string& side_file, Writer& writer, std::chrono::milliseconds patience);

  // This store's number. The first call registers it and raises the store's epoch. Throws Failure.
  std::int64_t number();
  // Zero where this store is not registered.
  std::int64_t known_number() const noexcept { return number_.load(std::memory_order_acquire); }
  // The instances whose process died; none where the locks prove nothing, because their file was
  // replaced. Throws Failure.
  std::vector<std::int64_t> gone(Connection& connection) const;
  // The same for a single registered instance.
  bool is_gone(std::int64_t number) const;

 private:
  const sql::SqlText all_;
  SideFile file_;
  Writer& writer_;
  Prepared add_;  // used while the writer's turn is held
  const std::chrono::milliseconds patience_;
  std::atomic<std::int64_t> number_{0};
  // This object has locked its byte, which testing the lock cannot show; zero: none.
  std::atomic<std::int64_t> locked_{0};
};

}  // namespace semel::sqlite
