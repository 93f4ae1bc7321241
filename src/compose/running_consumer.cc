#include "compose/running_consumer.h"

#include <chrono>
#include <utility>

namespace semel::compose {

namespace {

// Pause between two attempts to make an engine.
constexpr std::chrono::milliseconds kMakeAgain{1'000};

// A busy or doubtful store counts as unavailable too. Only a wrong request is another error.
bool is_not_waited_for(const Error& error, const config::Config& config) {
  const bool is_away = error.kind != ErrorKind::kRejected && error.kind != ErrorKind::kLimit;
  return is_away && config.store.on_unavailable == config::StoreConfig::OnUnavailable::kFail;
}

}  // namespace

RunningConsumer::RunningConsumer(Options options, SharedConfig config)
    : options_(std::move(options)),
      config_(std::move(config)),
      suspects_(options_.suspects_first) {}

RunningConsumer::Carried RunningConsumer::carried() {
  return {suspects_, [this] { return process_goes_on(); }};
}

Result<void> RunningConsumer::make_first() {
  SharedConfig config;
  Carried carries;
  {
    const system::MutexLock lock(mutex_);
    config = config_;
    carries = carried();
  }
  auto made = options_.make(*config, std::move(carries));
  if (!made) return failure(std::move(made.error()));
  const system::MutexLock lock(mutex_);
  begun_ = std::move(config);
  engine_ = *std::move(made);
  return {};
}

void RunningConsumer::run() {
  while (engine::Engine* const engine = next()) {
    options_.changed();
    retire(engine->run());
    options_.changed();
  }
  {
    const system::MutexLock lock(mutex_);
    phase_ = Phase::kOver;
  }
  options_.changed();
}

engine::Engine* RunningConsumer::next() {
  for (;;) {
    if (becomes_drained()) options_.changed();
    SharedConfig config;
    Carried carries;
    {
      const system::MutexLock lock(mutex_);
      if (phase_ == Phase::kOver) return nullptr;
      if (engine_ != nullptr) {
        if (!asked_) phase_ = Phase::kRunning;
        return engine_.get();
      }
      // The consumer was drained since the last look: report that first.
      if (drained_ && !leaves() && phase_ != Phase::kDrained) continue;
      wake_.wait(mutex_, [this]() SEMEL_REQUIRES(mutex_) { return leaves() || !drained_; });
      if (leaves()) {
        // This consumer can no longer start: only a new one can be begun.
        phase_ = Phase::kOver;
        return nullptr;
      }
      phase_ = Phase::kStarting;
      config = config_;
      carries = carried();
      look_ = false;
    }
    if (!options_.may_begin(*config)) {
      wait_for_others(config);
      continue;
    }
    auto made = options_.make(*config, std::move(carries));
    if (made) {
      tell({}, true);
      if (engine::Engine* const engine = take_up(*std::move(made), config)) return engine;
    } else {
      tell(made.error(), false);
      if (!wait_to_make_again(made.error(), config)) return nullptr;
    }
    options_.changed();
  }
}

// False: the consumer is drained already, is about to begin, or still has an engine.
bool RunningConsumer::becomes_drained() {
  const system::MutexLock lock(mutex_);
  if (!drained_ || leaves() || engine_ != nullptr || phase_ == Phase::kOver) return false;
  return std::exchange(phase_, Phase::kDrained) != Phase::kDrained;
}

void RunningConsumer::wait_for_others(const SharedConfig& config) {
  const system::MutexLock lock(mutex_);
  wake_.wait(mutex_, [&]() SEMEL_REQUIRES(mutex_) {
    return look_ || leaves() || drained_ || config_ != config;
  });
}

// False: the consumer ends, because its run does not wait for what is unavailable.
bool RunningConsumer::wait_to_make_again(const Error& error, const SharedConfig& config) {
  const system::MutexLock lock(mutex_);
  if (is_not_waited_for(error, *config) && !leaves()) {
    end_ = {engine::Ended::kUnavailable, std::nullopt, true};
    phase_ = Phase::kOver;
    return false;
  }
  wake_.wait_for(mutex_, kMakeAgain, [&]() SEMEL_REQUIRES(mutex_) {
    return leaves() || drained_ || config_ != config;
  });
  return true;
}

// If the state has changed meanwhile, the engine has received nothing and is discarded.
engine::Engine* RunningConsumer::take_up(std::unique_ptr<engine::Engine> made,
                                         const SharedConfig& config) {
  const system::MutexLock lock(mutex_);
  if (leaves() || drained_ || config_ != config) return nullptr;
  begun_ = config;
  engine_ = std::move(made);
  end_ = {};
  asked_ = false;
  phase_ = Phase::kRunning;
  return engine_.get();
}

void RunningConsumer::retire(engine::Ended ended) {
  std::unique_ptr<engine::Engine> over;
  {
    const system::MutexLock lock(mutex_);
    over = std::move(engine_);
    end_ = {ended, over->final_error(), false};
    suspects_ = over->suspects_left();
  }
  // Destroying the engine closes its sources, which must happen before it counts as ended.
  over.reset();
  const system::MutexLock lock(mutex_);
  begun_.reset();
  const bool asked = std::exchange(asked_, false);
  // A run that does not wait for its store ends, whatever was requested for the consumer meanwhile.
  const bool away = ended == engine::Ended::kUnavailable && !leaves();
  end_.by_itself = !asked || away;
  if (end_.by_itself) {
    phase_ = Phase::kOver;
    return;
  }
  if (!leaves()) end_ = {};
  phase_ = drained_ ? Phase::kDrained : Phase::kStarting;
}

void RunningConsumer::tell(const Error& error, bool mended) {
  if (mended ? !told_ : told_ == error.message) return;
  told_ = mended ? std::nullopt : std::optional(error.message);
  options_.trouble(error, mended);
}

void RunningConsumer::ask_engine() {
  wake_.notify_all();
  if (std::exchange(asked_, true) || engine_ == nullptr) return;
  phase_ = Phase::kDraining;
  engine_->stop();
}

void RunningConsumer::keep(SharedConfig config) {
  const system::MutexLock lock(mutex_);
  config_ = std::move(config);
}

bool RunningConsumer::restart(SharedConfig config) {
  const system::MutexLock lock(mutex_);
  if (phase_ == Phase::kOver) return false;
  config_ = std::move(config);
  removed_ = false;
  ask_engine();
  return true;
}

void RunningConsumer::remove() {
  const system::MutexLock lock(mutex_);
  removed_ = true;
  ask_engine();
}

bool RunningConsumer::drain() {
  const system::MutexLock lock(mutex_);
  if (std::exchange(drained_, true)) return false;
  ask_engine();
  return true;
}

bool RunningConsumer::resume() {
  const system::MutexLock lock(mutex_);
  wake_.notify_all();
  return std::exchange(drained_, false);
}

void RunningConsumer::stop() {
  const system::MutexLock lock(mutex_);
  ++stops_;
  // If the engine is already ending, this first stop must not count as a second one.
  if (engine_ != nullptr && asked_ && stops_ > 1) engine_->stop();
  ask_engine();
}

void RunningConsumer::nudge() const {
  const system::MutexLock lock(mutex_);
  if (engine_ != nullptr) engine_->nudge();
}

void RunningConsumer::look_again() {
  const system::MutexLock lock(mutex_);
  look_ = true;
  wake_.notify_all();
}

RunningConsumer::SharedConfig RunningConsumer::ending() const {
  const system::MutexLock lock(mutex_);
  return asked_ ? begun_ : nullptr;
}

RunningConsumer::SharedConfig RunningConsumer::in_use() const {
  const system::MutexLock lock(mutex_);
  if (begun_ != nullptr) return begun_;
  return phase_ == Phase::kStarting ? config_ : nullptr;
}

std::size_t RunningConsumer::suspects_left() const {
  const system::MutexLock lock(mutex_);
  return suspects_;
}

Service::Phase RunningConsumer::phase() const {
  const system::MutexLock lock(mutex_);
  return phase_;
}

bool RunningConsumer::settled() const {
  const system::MutexLock lock(mutex_);
  return phase_ == Phase::kRunning || phase_ == Phase::kDrained || phase_ == Phase::kOver;
}

std::size_t RunningConsumer::in_flight() const {
  const system::MutexLock lock(mutex_);
  return engine_ == nullptr ? 0 : engine_->in_flight();
}

std::vector<engine::Engine::Figures> RunningConsumer::figures() const {
  const system::MutexLock lock(mutex_);
  if (engine_ == nullptr) return {};
  return engine_->figures();
}

RunningConsumer::End RunningConsumer::end() const {
  const system::MutexLock lock(mutex_);
  return end_;
}

bool RunningConsumer::process_goes_on() const {
  const system::MutexLock lock(mutex_);
  return asked_ && stops_ == 0;
}

}  // namespace semel::compose
