// Reloader: applies the present content of the config file to a run, for a signal and for the API.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <semel/error.h>
#include <semel/result.h>

#include "admin/reload.h"
#include "config/config.h"
#include "config/difference.h"
#include "system/mutex.h"

namespace semel::compose {

class Admin;
class Service;

struct ReloadOptions {
  // Reads and checks the file again, as at the start; secrets too.
  std::function<config::Loaded()> load;
  // Why the run accepts no other config; nullopt: it does.
  std::optional<Error> refused;
  // Writes lines of the log: the changes, and the reason of a refusal.
  std::function<void(const std::string& text)> say;
  std::function<void(const Error& error)> complain;
  // Called for each error and warning of the file.
  std::function<void(const config::Diagnostic&)> tell;
  // Called when the run has taken up this config.
  std::function<void(const config::Config&)> taken;
  // Called with true when a reload begins, and with false when it is refused or in effect. Calls
  // alternate; on any thread.
  std::function<void(bool)> under_way;
};

// One reload after the other. A config is checked and refused as a whole: then the run continues
// with its present one. Thread-safe.
class Reloader {
 public:
  Reloader(ReloadOptions options, const config::Config& running);
  ~Reloader();
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // Starts serving reloads. Borrows both until leave. Call it once.
  void serve(Service& service, Admin& admin) SEMEL_EXCLUDES(mutex_);
  // Waits for a reload that is being checked.
  void leave() SEMEL_EXCLUDES(one_, mutex_);

  // Reloads on this object's thread, which starts once there is a service to reload.
  void request() SEMEL_EXCLUDES(mutex_);
  // Reads and checks; then, without `dry_run`, begins to apply the config, and returns. A reload
  // that is not in effect yet is no obstacle: its consumers end as requested, and restart with this
  // config.
  admin::Reloaded reload(bool dry_run) SEMEL_EXCLUDES(one_, mutex_);
  admin::ReloadState state() const SEMEL_EXCLUDES(mutex_);
  // A consumer's phase has changed.
  void nudge() SEMEL_EXCLUDES(mutex_);

 private:
  struct Run {
    Service* service = nullptr;
    Admin* admin = nullptr;
    std::shared_ptr<const config::Config> config;
  };

  void loop() SEMEL_EXCLUDES(one_, mutex_);
  admin::Reloaded tried(const Run& run, bool dry_run) SEMEL_EXCLUDES(mutex_);
  Result<void> take(const Run& run, config::Config next, const config::Difference& difference)
      SEMEL_EXCLUDES(mutex_);
  void note(const admin::Reloaded& reloaded) SEMEL_EXCLUDES(mutex_);
  void begin() SEMEL_EXCLUDES(mutex_);
  void end_if_settled() SEMEL_REQUIRES(one_) SEMEL_EXCLUDES(mutex_);

  const ReloadOptions options_;
  system::Mutex one_ SEMEL_ACQUIRED_BEFORE(mutex_);  // held while a config is read and checked
  mutable system::Mutex mutex_;
  system::CondVar wake_;
  Run run_ SEMEL_GUARDED_BY(mutex_);
  admin::ReloadState state_ SEMEL_GUARDED_BY(mutex_);
  bool requested_ SEMEL_GUARDED_BY(mutex_) = false;
  bool under_way_ SEMEL_GUARDED_BY(mutex_) = false;  // reported as begun, and not as ended
  bool look_ SEMEL_GUARDED_BY(mutex_) = false;       // check whether it is in effect
  bool ending_ SEMEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace semel::compose
