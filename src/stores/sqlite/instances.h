// Instances: which opened stores are alive.
//
// Each store that claims or takes has a number and a lock on the byte of that number. A lock that
// is free tells that its process is gone; a stopped process keeps it.
#pragma once

#include <atomic>
#include <vector>

#include "stores/sqlite/reader.h"
#include "stores/sqlite/side_file.h"
#include "stores/sqlite/writer.h"
#include "system/mutex.h"

namespace semel::sqlite {

// Safe for several threads.
class Instances {
 public:
  Instances(const std::string& side_file, Writer& writer, Reader& reader,
            std::chrono::milliseconds patience)
      : file_(side_file), writer_(writer), reader_(reader), patience_(patience) {}

  // This store's number. The first call registers it and raises the store's epoch. Throws Failure.
  std::int64_t number() SEMEL_EXCLUDES(mutex_);
  // Zero where this store is not registered.
  std::int64_t known_number() const noexcept { return number_.load(std::memory_order_acquire); }
  bool alive(std::int64_t instance) const;
  // Frees what processes that died had; true where there was any. Throws Failure.
  bool sweep();

 private:
  SideFile file_;
  Writer& writer_;
  Reader& reader_;
  const std::chrono::milliseconds patience_;
  system::Mutex mutex_;
  std::atomic<std::int64_t> number_{0};
};

}  // namespace semel::sqlite
