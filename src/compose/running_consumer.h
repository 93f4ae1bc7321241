// RunningConsumer: one consumer of a run, through all its engines. A reload ends its engine and
// begins another, and a person drains it; no engine begins before the previous one has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/result.h>

#include "compose/compose.h"
#include "config/config.h"
#include "engine/engine.h"
#include "system/mutex.h"

namespace semel::compose {

// Thread-safe, except run.
class RunningConsumer {
 public:
  using SharedConfig = std::shared_ptr<const config::Config>;
  // Passed to an engine by the previous one, and by the run.
  struct Carried {
    std::size_t suspects_first = 0;
    std::function<bool()> process_goes_on;
  };
  // `make` and `told` are called without a lock, `make` by one thread at a time.
  struct Options {
    std::string name;
    // Untried suspects of an earlier consumer of the name.
    std::size_t suspects_first = 0;
    // Whether its next engine may run together with those of other consumers; asked again after
    // look_again. Called without a lock.
    std::function<bool(const config::Config&)> may_begin;
    std::function<Result<std::unique_ptr<engine::Engine>>(const config::Config&, Carried)> make;
    // Called when its phase has changed, on its own thread.
    std::function<void()> changed;
    // Called when its engine cannot be made, which is retried; and, with `mended`, once it is made.
    std::function<void(const Error& error, bool mended)> trouble;
  };
  RunningConsumer(Options options, SharedConfig config);
  RunningConsumer(const RunningConsumer&) = delete;
  RunningConsumer& operator=(const RunningConsumer&) = delete;

  const std::string& name() const noexcept { return options_.name; }

  // Makes the first engine; before run. Otherwise run makes it, retrying until it can.
  Result<void> make_first() SEMEL_EXCLUDES(mutex_);
  // Runs until it is stopped or removed, or its engine ends by itself. Call it once.
  void run() SEMEL_EXCLUDES(mutex_);

  // Sets the config for its next engine.
  void keep(SharedConfig config) SEMEL_EXCLUDES(mutex_);
  // Ends its engine, and begins another with this config, even if it was removed; false: it is
  // over.
  bool restart(SharedConfig config) SEMEL_EXCLUDES(mutex_);
  // Ends its engine, without a successor.
  void remove() SEMEL_EXCLUDES(mutex_);
  // Ends its engine, without a successor until it is resumed. False: it was drained already.
  bool drain() SEMEL_EXCLUDES(mutex_);
  bool resume() SEMEL_EXCLUDES(mutex_);
  // Ends it with its run; a second call hurries it.
  void stop() SEMEL_EXCLUDES(mutex_);

  void nudge() const SEMEL_EXCLUDES(mutex_);
  // Another consumer's engine may have ended.
  void look_again() SEMEL_EXCLUDES(mutex_);
  // The config of its engine while that is ending; null: it continues, or there is none.
  SharedConfig ending() const SEMEL_EXCLUDES(mutex_);
  // The config of its present or next engine; null: it has none.
  SharedConfig in_use() const SEMEL_EXCLUDES(mutex_);
  // The suspects that its next engine would begin with.
  std::size_t suspects_left() const SEMEL_EXCLUDES(mutex_);
  Service::Phase phase() const SEMEL_EXCLUDES(mutex_);
  // Nothing is left to do for it: it runs as wanted, or is not to run.
  bool settled() const SEMEL_EXCLUDES(mutex_);
  std::size_t in_flight() const SEMEL_EXCLUDES(mutex_);
  std::vector<engine::Engine::Figures> figures() const SEMEL_EXCLUDES(mutex_);

  struct End {
    engine::Ended ended = engine::Ended::kDrained;
    std::optional<Error> final_error;
    bool by_itself = false;  // it was not asked to end
  };
  // How its newest engine ended; success where a reload or a person ended it.
  End end() const SEMEL_EXCLUDES(mutex_);

 private:
  using Phase = Service::Phase;

  Carried carried() SEMEL_REQUIRES(mutex_);
  void ask_engine() SEMEL_REQUIRES(mutex_);
  bool process_goes_on() const SEMEL_EXCLUDES(mutex_);
  // Null: there is to be none.
  engine::Engine* next() SEMEL_EXCLUDES(mutex_);
  engine::Engine* take_up(std::unique_ptr<engine::Engine> made, const SharedConfig& config)
      SEMEL_EXCLUDES(mutex_);
  void retire(engine::Ended ended) SEMEL_EXCLUDES(mutex_);
  bool becomes_drained() SEMEL_EXCLUDES(mutex_);
  void wait_for_others(const SharedConfig& config) SEMEL_EXCLUDES(mutex_);
  bool wait_to_make_again(const Error& error, const SharedConfig& config) SEMEL_EXCLUDES(mutex_);
  void tell(const Error& error, bool mended) SEMEL_EXCLUDES(mutex_);
  bool leaves() const SEMEL_REQUIRES(mutex_) { return removed_ || stops_ > 0; }

  const Options options_;
  mutable system::Mutex mutex_;
  system::CondVar wake_;
  SharedConfig config_ SEMEL_GUARDED_BY(mutex_);
  // The config of the engine, until that is completely gone.
  SharedConfig begun_ SEMEL_GUARDED_BY(mutex_);
  std::unique_ptr<engine::Engine> engine_ SEMEL_GUARDED_BY(mutex_);
  Phase phase_ SEMEL_GUARDED_BY(mutex_) = Phase::kStarting;
  bool asked_ SEMEL_GUARDED_BY(mutex_) = false;  // the engine was asked to end
  bool look_ SEMEL_GUARDED_BY(mutex_) = false;   // check whether it may begin
  bool drained_ SEMEL_GUARDED_BY(mutex_) = false;
  bool removed_ SEMEL_GUARDED_BY(mutex_) = false;
  int stops_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t suspects_ SEMEL_GUARDED_BY(mutex_);
  End end_ SEMEL_GUARDED_BY(mutex_);
  std::optional<std::string> told_;  // used by its own thread: the present trouble
};

}  // namespace semel::compose
