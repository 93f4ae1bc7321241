// RunningConsumer: one consumer of a run, through all its engines. A reload ends its engine and
// begins another, and a person drains it; no engine begins before the one ahead of it has ended.
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
  // Given to an engine by the one before it, and by its run.
  struct Carried {
    std::size_t suspects_first = 0;
    std::function<bool()> process_goes_on;
  };
  // `make` and `told` are called with nothing locked, `make` by one thread at a time.
  struct Options {
    std::string name;
    // Messages that an earlier consumer of the name left untried.
    std::size_t suspects_first = 0;
    // Whether its next engine may begin beside those of other consumers; asked again after
    // look_again. Called with nothing locked.
    std::function<bool(const config::Config&)> may_begin;
    std::function<Result<std::unique_ptr<engine::Engine>>(const config::Config&, Carried)> make;
    // Its phase changed. On its own thread.
    std::function<void()> changed;
    // Its engine cannot be made, which is tried again; or, mended, it is made.
    std::function<void(const Error& error, bool mended)> trouble;
  };
  RunningConsumer(Options options, SharedConfig config);
  RunningConsumer(const RunningConsumer&) = delete;
  RunningConsumer& operator=(const RunningConsumer&) = delete;

  const std::string& name() const noexcept { return options_.name; }

  // Makes the first engine; before run. Without it run makes it, and tries until it can.
  Result<void> make_first() SEMEL_EXCLUDES(mutex_);
  // Runs until it is stopped or removed, or its engine ends by itself. Once.
  void run() SEMEL_EXCLUDES(mutex_);

  // The config for its next engine.
  void keep(SharedConfig config) SEMEL_EXCLUDES(mutex_);
  // Its engine ends, and the next has this config, also where it was removed; false: it is over.
  bool restart(SharedConfig config) SEMEL_EXCLUDES(mutex_);
  // Its engine ends, and there is no other.
  void remove() SEMEL_EXCLUDES(mutex_);
  // Its engine ends, and there is no other until it is resumed. False: it was so already.
  bool drain() SEMEL_EXCLUDES(mutex_);
  bool resume() SEMEL_EXCLUDES(mutex_);
  // Ends it with its run; a second call hurries it.
  void stop() SEMEL_EXCLUDES(mutex_);

  void nudge() const SEMEL_EXCLUDES(mutex_);
  // Another consumer's engine may have ended.
  void look_again() SEMEL_EXCLUDES(mutex_);
  // The config of its engine, while that is to end; null: it goes on, or there is none.
  SharedConfig ending() const SEMEL_EXCLUDES(mutex_);
  // The config of its engine, or of the one that it is about to have; null: it has none.
  SharedConfig in_use() const SEMEL_EXCLUDES(mutex_);
  // Suspects that its next engine would begin with.
  std::size_t suspects_left() const SEMEL_EXCLUDES(mutex_);
  Service::Phase phase() const SEMEL_EXCLUDES(mutex_);
  // Nothing is left to do for it: it runs as it should, or not.
  bool settled() const SEMEL_EXCLUDES(mutex_);
  std::size_t in_flight() const SEMEL_EXCLUDES(mutex_);
  std::vector<engine::Engine::Figures> figures() const SEMEL_EXCLUDES(mutex_);

  struct End {
    engine::Ended ended = engine::Ended::kDrained;
    std::optional<Error> final_error;
    bool by_itself = false;  // nobody had asked for it
  };
  // How its newest engine ended; one that ended as a reload or a person wished, well.
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
  // The config of the engine, until all of it is gone.
  SharedConfig begun_ SEMEL_GUARDED_BY(mutex_);
  std::unique_ptr<engine::Engine> engine_ SEMEL_GUARDED_BY(mutex_);
  Phase phase_ SEMEL_GUARDED_BY(mutex_) = Phase::kStarting;
  bool asked_ SEMEL_GUARDED_BY(mutex_) = false;  // the engine is to end
  bool look_ SEMEL_GUARDED_BY(mutex_) = false;   // whether it may begin
  bool drained_ SEMEL_GUARDED_BY(mutex_) = false;
  bool removed_ SEMEL_GUARDED_BY(mutex_) = false;
  int stops_ SEMEL_GUARDED_BY(mutex_) = 0;
  std::size_t suspects_ SEMEL_GUARDED_BY(mutex_);
  End end_ SEMEL_GUARDED_BY(mutex_);
  std::optional<std::string> told_;  // of its own thread: the trouble that lasts
};

}  // namespace semel::compose
