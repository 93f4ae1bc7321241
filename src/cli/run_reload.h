// How `semel run` reloads, on SIGHUP or by the API, and what it prints about it.
#pragma once

#include <functional>

#include "cli/console.h"
#include "cli/service_manager.h"
#include "compose/reloader.h"
#include "config/config.h"
#include "system/mutex.h"

namespace semel::cli {

// The terminal that started the program. When it closes, its programs receive SIGHUP, the same
// signal as from `kill -HUP`.
class Terminal {
 public:
  // Construct before SIGHUP is handled: if it is ignored (nohup), the terminal may close.
  Terminal();
  // Whether the terminal is closed, so that the program is expected to end.
  bool is_closed() const;

 private:
  const bool ends_with_it_;
};

class RunReload {
 public:
  struct Options {
    bool once = false;
    // Reads the file again, as at the start.
    std::function<config::Loaded()> load;
    // Called when the run has taken up this config.
    std::function<void(const config::Config&)> taken;
  };
  // Borrows the console. Starts no thread before the reloader serves.
  RunReload(Console& console, const config::Config& running, Options options);

  compose::Reloader& reloader() noexcept { return reloader_; }
  // Reports reloads to this manager from now on; null: to none.
  void tell(const ServiceManager* manager) SEMEL_EXCLUDES(mutex_);

 private:
  compose::ReloadOptions reload_options(Options options);

  Console& console_;
  const config::Config& running_;
  system::Mutex mutex_;
  const ServiceManager* manager_ SEMEL_GUARDED_BY(mutex_) = nullptr;
  compose::Reloader reloader_;
};

}  // namespace semel::cli
