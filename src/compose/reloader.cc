#include "compose/reloader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compose/admin.h"
#include "compose/compose.h"
#include "system/utc_clock.h"

namespace semel::compose {

namespace {

constexpr std::size_t kNamesTold = 8;

using admin::Reloaded;
using admin::ReloadRefusal;

tl::unexpected<ReloadRefusal> refused(Error error) {
  return tl::unexpected(ReloadRefusal{std::move(error), {}});
}

Error ends() {
  return {ErrorKind::kUnavailable, "R345", "the run has not begun yet, or ends",
          "ask again once it is ready: /readyz"};
}

ReloadRefusal wrong_config(std::vector<config::Diagnostic> diagnostics) {
  const auto errors = std::ranges::count(diagnostics, config::Diagnostic::Severity::kError,
                                         &config::Diagnostic::severity);
  const auto first = std::ranges::find(diagnostics, config::Diagnostic::Severity::kError,
                                       &config::Diagnostic::severity);
  std::string message =
      fmt::format("the config has {} {}", errors, errors == 1 ? "error" : "errors");
  if (first != diagnostics.end()) {
    message += fmt::format(", the first is {}: {}", first->code, first->message);
    if (first->where.line > 0) {
      message += fmt::format(" ({}:{}:{})", first->file, first->where.line, first->where.column);
    }
  }
  Error error{ErrorKind::kRejected, "R355", message + "; the run goes on with the one it has",
              "mend the file, and reload again: semel check names the same errors"};
  return {std::move(error), std::move(diagnostics)};
}

// "store.sqlite.path (a.db to b.db, semel.yaml:3:11)"
std::string text_of(const config::ValueChange& change) {
  constexpr const char* kNothing = "nothing";
  std::string text = fmt::format("{} ({} to {}", change.path, change.from.value_or(kNothing),
                                 change.to.value_or(kNothing));
  if (!change.origin.empty()) text += ", " + change.origin;
  return text + ")";
}

Error needs_restart(const config::Difference& difference) {
  std::vector<std::string> values;
  for (const config::ValueChange& one : difference.fixed) {
    if (values.size() < kNamesTold) values.push_back(text_of(one));
  }
  const std::size_t left = difference.fixed.size() - values.size();
  std::string named = fmt::format("{}", fmt::join(values, ", "));
  if (left > 0) named += fmt::format(" and {} more", left);
  return {ErrorKind::kRejected, "R356",
          fmt::format("a reload cannot change {}; the run goes on with the config it has", named),
          "restart the run, or leave that as it was"};
}

std::string words_of(const config::Difference& difference) {
  std::vector<std::string> words;
  for (const config::ConsumerChange& change : difference.consumers) {
    words.push_back(fmt::format("{} {}", change.consumer, to_string(change.kind)));
  }
  if (difference.tokens) words.emplace_back("tokens");
  if (difference.shown) words.emplace_back("what the listener shows");
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

Reloader::Reloader(ReloadOptions options, const config::Config& running)
    : options_(std::move(options)) {
  const system::MutexLock lock(mutex_);
  run_.config = std::make_shared<const config::Config>(running);
  state_.taken_at = system::utc_now();
}

Reloader::~Reloader() {
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Reloader::serve(Service& service, Admin& admin) {
  {
    const system::MutexLock lock(mutex_);
    run_.service = &service;
    run_.admin = &admin;
  }
  thread_ = std::thread([this] { loop(); });
}

void Reloader::leave() {
  const system::MutexLock checked(one_);
  const system::MutexLock lock(mutex_);
  run_.service = nullptr;
  run_.admin = nullptr;
}

void Reloader::request() {
  const system::MutexLock lock(mutex_);
  requested_ = true;
  wake_.notify_all();
}

void Reloader::nudge() {
  const system::MutexLock lock(mutex_);
  look_ = true;
  wake_.notify_all();
}

void Reloader::loop() {
  system::RelockableLock lock(mutex_);
  for (;;) {
    wake_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) {
      return ending_ || (run_.service != nullptr && (requested_ || look_));
    });
    if (ending_) return;
    const bool requested = std::exchange(requested_, false);
    look_ = false;
    lock.unlock();
    // A signal gets no answer; its result is in the log only.
    if (requested) (void)reload(false);
    {
      // While this lock is held no config is checked, and the service is not destroyed.
      const system::MutexLock one(one_);
      end_if_settled();
    }
    lock.lock();
  }
}

Reloaded Reloader::reload(bool dry_run) {
  const system::MutexLock one(one_);
  Run run;
  {
    const system::MutexLock lock(mutex_);
    run = run_;
  }
  if (run.service == nullptr) return refused(ends());
  if (!dry_run) begin();
  Reloaded made = tried(run, dry_run);
  if (!dry_run) note(made);
  return made;
}

Reloaded Reloader::tried(const Run& run, bool dry_run) {
  if (options_.refused) return refused(*options_.refused);
  config::Loaded loaded = options_.load();
  if (!dry_run && options_.tell) {
    for (const config::Diagnostic& one : loaded.diagnostics) options_.tell(one);
  }
  if (!loaded.config) return tl::unexpected(wrong_config(std::move(loaded.diagnostics)));
  config::Difference difference = config::difference(*run.config, *loaded.config);
  if (!difference.fixed.empty()) return refused(needs_restart(difference));
  auto fine = run.service->check(*loaded.config, difference);
  if (!fine) return refused(std::move(fine.error()));
  if (dry_run) return difference;
  auto taken = take(run, *std::move(loaded.config), difference);
  if (!taken) return refused(std::move(taken.error()));
  return difference;
}

Result<void> Reloader::take(const Run& run, config::Config next,
                            const config::Difference& difference) {
  const auto config = std::make_shared<const config::Config>(std::move(next));
  if (!run.service->take(config, difference)) return failure(ends());
  run.admin->take(config);
  if (options_.taken) options_.taken(*config);
  const system::MutexLock lock(mutex_);
  run_.config = config;
  return {};
}

void Reloader::begin() {
  bool tells = false;
  {
    const system::MutexLock lock(mutex_);
    tells = !std::exchange(under_way_, true);
  }
  if (tells && options_.under_way) options_.under_way(true);
}

void Reloader::note(const Reloaded& reloaded) {
  {
    const system::MutexLock lock(mutex_);
    look_ = true;
    state_.at = system::utc_now();
    if (reloaded) {
      ++state_.taken;
      state_.taken_at = state_.at;
      state_.last = admin::ReloadState::Last::kTaken;
      state_.code.clear();
      state_.error.clear();
    } else {
      ++state_.refused;
      state_.last = admin::ReloadState::Last::kRefused;
      state_.code = reloaded.error().error.code;
      state_.error = reloaded.error().error.message;
    }
  }
  if (!reloaded) {
    options_.complain(reloaded.error().error);
  } else if (reloaded->nothing()) {
    options_.say("nothing has changed in the config");
  } else {
    options_.say("the config is taken up: " + words_of(*reloaded));
  }
  wake_.notify_all();
}

// Also needed if the last reload was refused: an earlier one may still be in progress.
void Reloader::end_if_settled() {
  Service* service = nullptr;
  {
    const system::MutexLock lock(mutex_);
    if (!under_way_) return;
    service = run_.service;
  }
  if (service == nullptr || service->is_stopping() || !service->unsettled().empty()) return;
  bool taken = false;
  {
    const system::MutexLock lock(mutex_);
    under_way_ = false;
    taken = state_.last == admin::ReloadState::Last::kTaken;
  }
  if (taken) options_.say("the config is in effect");
  if (options_.under_way) options_.under_way(false);
}

admin::ReloadState Reloader::state() const {
  Service* service = nullptr;
  admin::ReloadState made;
  {
    const system::MutexLock lock(mutex_);
    made = state_;
    service = run_.service;
  }
  if (service != nullptr) made.waits_for = service->unsettled();
  return made;
}

}  // namespace semel::compose
