#include "stores/sqlite/housekeeper.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

namespace semel::sqlite {
namespace {

// From this length the log is worth copying: a page that changed often is copied once. On a small
// disk it is copied sooner: a log may take this fraction of the free space.
constexpr int kLongLog = 8'000;
constexpr int kShortestLongLog = 250;
constexpr std::uintmax_t kPartOfFree = 16;
constexpr std::uintmax_t kPageBytes = 4'096;
// If a round wrote no more than this, the writers can be stopped for as much.
constexpr int kShortRest = 400;
// Each round copies what was written during the one before it. If that never becomes little, the
// writers must wait: otherwise the log would grow as long as they write.
constexpr int kRounds = 6;
constexpr int kLongestLogs = 3;
constexpr std::chrono::milliseconds kPatience{250};

int long_log_on(const std::string& path) {
  std::error_code problem;
  const auto space = std::filesystem::space(std::filesystem::absolute(path).parent_path(), problem);
  if (problem) return kLongLog;
  const std::uintmax_t pages = space.available / kPartOfFree / kPageBytes;
  return static_cast<int>(std::clamp<std::uintmax_t>(pages, kShortestLongLog, kLongLog));
}

}  // namespace

Housekeeper::Housekeeper(const ConnectionOptions& options, Writer& writer, Filters& filters)
    : writer_(writer),
      filters_(filters),
      connection_(options),
      long_pages_(long_log_on(options.path)) {
  connection_.set_sync(Sync::kProcessCrash);
  writer_.on_commit([this](int pages) {
    if (pages >= long_pages_) ring(&Housekeeper::long_log_);
  });
  filters_.on_wanted([this] { ring(&Housekeeper::filter_wanted_); });
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Housekeeper::~Housekeeper() {
  thread_.request_stop();
  thread_.join();
  filters_.on_wanted({});
  writer_.on_commit([](int) {});
}

void Housekeeper::ring(bool Housekeeper::*what) {
  const system::MutexLock lock(mutex_);
  this->*what = true;
  rang_.notify_one();
}

void Housekeeper::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool long_log = false;
    {
      const system::MutexLock lock(mutex_);
      if (!rang_.wait(mutex_, stop,
                      [this]() SEMEL_REQUIRES(mutex_) { return long_log_ || filter_wanted_; }))
        return;
      long_log = std::exchange(long_log_, false);
      filter_wanted_ = false;
    }
    // A failure here is harmless: the log is longer for a while, or a table is read itself. A
    // commit that has the same trouble reports it.
    if (long_log) {
      (void)contained([&] { shorten(stop); });
      // Requests of commits made meanwhile are fulfilled.
      const system::MutexLock lock(mutex_);
      long_log_ = false;
    }
    (void)contained([&] { filters_.build(connection_, [&] { return stop.stop_requested(); }); });
  }
}

void Housekeeper::shorten(const std::stop_token& stop) {
  Log log = copy();
  for (int round = 0; round < kRounds && log.pages < kLongestLogs * long_pages_; ++round) {
    if (stop.stop_requested()) return;
    const int before = log.copied;
    log = copy();
    if (log.pages - before <= kShortRest) break;
  }
  // The log restarts only when all of it is copied. Under a steady load more is always written
  // meanwhile; so the writers are stopped for the last small rest.
  writer_.take_turn(kPatience);
  try {
    copy();
  } catch (...) {
    writer_.leave_turn();
    throw;
  }
  writer_.leave_turn();
}

Housekeeper::Log Housekeeper::copy() {
  Log log;
  connection_.set_patience(kPatience);
  const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                             SQLITE_CHECKPOINT_PASSIVE, &log.pages, &log.copied);
  // Another process is doing it.
  if ((code & 0xff) == SQLITE_BUSY) return {};
  if (code != SQLITE_OK) connection_.raise(code);
  return log;
}

}  // namespace semel::sqlite
