// How `semel run` reloads: by SIGHUP and by the API, and what it tells of it.
#pragma once

#include <functional>

#include "cli/console.h"
#include "cli/service_manager.h"
#include "compose/reloader.h"
#include "config/config.h"
#include "system/mutex.h"

namespace semel::cli {

// The terminal that a program was started in. When it closes, its programs get the same signal as
// from `kill -HUP`.
class Terminal {
 public:
  // Before SIGHUP is taken: where it is ignored (nohup), the terminal may close.
  Terminal();
  // It is gone, and whoever started the program in it expects it to end.
  bool is_closed() const;

 private:
  const bool ends_with_it_;
};

class RunReload {
 public:
  struct Options {
    bool once = false;
    // Reads the file anew, as at the start.
    std::function<config::Loaded()> load;
    // The run has taken up this config.
    std::function<void(const config::Config&)> taken;
  };
  // Borrows the console. Begins no thread before the reloader serves.
  RunReload(Console& console, const config::Config& running, Options options);

  compose::Reloader& reloader() noexcept { return reloader_; }
  // Tells this one of reloads from now on; null: nobody.
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
