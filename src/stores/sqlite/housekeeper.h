// Housekeeper: the thread for work that need not happen inside a commit: copying the log into the
// database, and building filters.
#pragma once

#include <condition_variable>
#include <thread>

#include "stores/sqlite/connection.h"
#include "stores/sqlite/filters.h"
#include "stores/sqlite/writer.h"
#include "system/mutex.h"

namespace semel::sqlite {

class Housekeeper {
 public:
  // Writer and filters are borrowed and must outlive it.
  Housekeeper(const ConnectionOptions& options, Writer& writer, Filters& filters);
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

 private:
  struct Log {
    int pages = 0;   // in the log
    int copied = 0;  // of these, already in the database
  };
  void run(const std::stop_token& stop) SEMEL_EXCLUDES(mutex_);
  void ring(bool Housekeeper::*what) SEMEL_EXCLUDES(mutex_);
  void shorten(const std::stop_token& stop);
  Log copy();

  Writer& writer_;
  Filters& filters_;
  Connection connection_;
  const int long_pages_;  // the log is copied when it has this many
  system::Mutex mutex_;
  std::condition_variable_any rang_;
  bool long_log_ SEMEL_GUARDED_BY(mutex_) = false;
  bool filter_wanted_ SEMEL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace semel::sqlite
