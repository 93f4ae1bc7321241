#include "stores/redis/run_markers.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "clients/redis/session.h"
#include "stores/redis/held_rows.h"
#include "system/mutex.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCrashMemory{std::chrono::hours(24 * 30)};

enum class SessionState { kNotKnown, kThere, kGone };

// As the script returns it.
struct Other {
  Bytes name;
  Bytes session;
  milliseconds sign_left{0};  // negative: its last one is over
  SessionState session_state = SessionState::kNotKnown;
};

class Runs final : public RunMarkers, public LifeSigns {
 public:
  explicit Runs(StoreContext& context) : context_(context) { context_.life_signs = this; }

  Result<Begun> begin(ConsumerNumber consumer, std::size_t window) override {
    return core::contained([&] {
      const system::MutexLock whole(sweeping_);
      sweep_now(Moment::kBegin);
      const std::int64_t died = mark_first(consumer, window);
      const auto heard = static_cast<std::size_t>(std::max<std::int64_t>(died, 0));
      if (died >= 0) acknowledge(consumer);
      return Begun{died >= 0, heard};
    });
  }

  Result<void> end(ConsumerNumber consumer) override {
    return core::contained([&] {
      const system::MutexLock whole(sweeping_);
      const system::MutexLock lock(mutex_);
      Call call = about(context_.instance.name());
      call.arguments.push_back(text_of(consumer));
      context_.run_one(context_.scripts.end_run, call, Loss::kNothingDone);
      marked_.erase(consumer);
      if (!marked_.empty()) return;
      session_.reset();
      gives_signs_ = false;
      // It may have been found dead since its last sign.
      context_.instance.rename();
    });
  }

  Result<bool> sweep() override {
    return core::contained([&] {
      const system::MutexLock whole(sweeping_);
      return sweep_now(Moment::kLater);
    });
  }

  void stay_known() override {
    if (!gives_signs_ || is_known()) return;
    const std::size_t failures = failures_;
    const system::MutexLock lock(mutex_);
    if (marked_.empty() || is_known()) return;
    // Another thread has tried in vain meanwhile, and may have taken its time for it.
    if (failures_ != failures) throw core::Failure(*failure_);
    try {
      sign();
    } catch (const core::Failure& failed) {
      failure_ = failed;
      ++failures_;
      throw;
    }
  }

  Result<std::vector<std::optional<int>>> crashes(std::span<const KeyId> keys) override {
    return core::contained([&] {
      std::vector<Call> calls;
      calls.reserve(keys.size());
      for (const KeyId& key : keys) calls.push_back(about_crashes(key));
      std::vector<std::optional<int>> crashes;
      crashes.reserve(keys.size());
      for (const Reply& reply : context_.run(context_.scripts.crashes, calls, Loss::kNothingDone)) {
        const bool completed = reply.kind == Reply::Kind::kNil;
        crashes.push_back(completed ? std::nullopt : std::optional(static_cast<int>(reply.number)));
      }
      return crashes;
    });
  }

  Result<std::vector<int>> change_crashes(std::span<const CrashChange> changes) override {
    return core::contained([&] {
      std::vector<Call> calls;
      calls.reserve(changes.size());
      for (const CrashChange& change : changes) {
        calls.push_back(about_crashes(change.key));
        calls.back().arguments = {std::to_string(change.from), std::to_string(change.highest),
                                  std::to_string(change.to), std::to_string(kCrashMemory.count())};
      }
      std::vector<int> crashes;
      crashes.reserve(changes.size());
      // Sending it again changes nothing more.
      for (const Reply& reply : context_.run(context_.scripts.crashes, calls, Loss::kNothingDone)) {
        crashes.push_back(static_cast<int>(reply.number));
      }
      return crashes;
    });
  }

 private:
  static std::string text_of(ConsumerNumber consumer) {
    return std::to_string(static_cast<std::uint32_t>(consumer));
  }
  static ConsumerNumber number_of(const Bytes& text) {
    std::uint32_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return ConsumerNumber{number};
  }
  Call about(const Bytes& instance) const {
    Call call;
    call.keys = {context_.names.runs};
    call.arguments = {context_.names.prefix, instance};
    return call;
  }
  Call about_crashes(const KeyId& key) const {
    Call call;
    call.keys = {context_.names.record(key), context_.names.crash(key)};
    return call;
  }
  void keep_connected() SEMEL_REQUIRES(mutex_);
  std::int64_t mark(ConsumerNumber consumer, std::size_t window, bool hear_of_deaths)
      SEMEL_REQUIRES(mutex_);
  void acknowledge(ConsumerNumber consumer);
  std::int64_t mark_first(ConsumerNumber consumer, std::size_t window) SEMEL_REQUIRES(sweeping_)
      SEMEL_EXCLUDES(mutex_);
  Reply sign() SEMEL_REQUIRES(mutex_);
  bool is_known() const {
    return context_.environment.clock->elapsed() - signed_at_.load() < kSureOfSign;
  }
  enum class Moment { kBegin, kLater };
  bool sweep_now(Moment moment) SEMEL_REQUIRES(sweeping_) SEMEL_EXCLUDES(mutex_);
  void look_for(std::span<const Bytes> sessions, std::span<Other> others);
  bool look_after(const Other& other, Moment moment);
  bool free_all_of(const Other& other);
  void show_rows(const Bytes& instance, const Bytes& consumer);

  StoreContext& context_;
  system::Mutex sweeping_;  // held for a whole begin, end or sweep; before mutex_
  system::Mutex mutex_;     // held for a sign
  std::map<ConsumerNumber, std::size_t> marked_ SEMEL_GUARDED_BY(mutex_);  // with their windows
  std::unique_ptr<Connection> session_ SEMEL_GUARDED_BY(mutex_);  // open while there are any
  std::shared_ptr<Node> session_node_ SEMEL_GUARDED_BY(mutex_);
  Bytes session_name_ SEMEL_GUARDED_BY(mutex_);
  std::atomic<bool> gives_signs_{false};
  std::atomic<std::chrono::nanoseconds> signed_at_{};  // at the latest
  std::atomic<std::size_t> failures_{0};
  std::optional<core::Failure> failure_ SEMEL_GUARDED_BY(mutex_);  // the last one of stay_known
};

// Connects to the node that has the list of instances: that node is asked for its connections.
void Runs::keep_connected() {
  const auto node = context_.router.owner(context_.names.runs);
  if (session_ != nullptr && session_node_ == node && session_->whole()) return;
  session_ = context_.router.connect_to(*node);
  session_node_ = node;
  session_name_ = session_of(*session_);
}

void Runs::acknowledge(ConsumerNumber consumer) {
  Call call = about(context_.instance.name());
  call.arguments.push_back(text_of(consumer));
  try {
    context_.run_one(context_.scripts.acknowledge_death, call, Loss::kNothingDone);
  } catch (const core::Failure&) {
    // The death is reported once more: a false suspicion only costs time.
  }
}

// The largest window of those that died; negative where none did.
std::int64_t Runs::mark(ConsumerNumber consumer, std::size_t window, bool hear_of_deaths) {
  Call call = about(context_.instance.name());
  call.arguments.push_back(std::to_string(::getpid()));
  call.arguments.push_back(std::to_string(kAlive.count()));
  call.arguments.push_back(text_of(consumer));
  call.arguments.push_back(std::to_string(window));
  call.arguments.push_back(hear_of_deaths ? "1" : "0");
  call.arguments.push_back(session_name_);
  return context_.run_one(context_.scripts.begin_run, call, Loss::kInDoubt).number;
}

// The consumer's mark is the first sign of an instance.
std::int64_t Runs::mark_first(ConsumerNumber consumer, std::size_t window) {
  const system::MutexLock lock(mutex_);
  keep_connected();
  const auto now = context_.environment.clock->elapsed();
  const std::int64_t died = mark(consumer, window, true);
  if (marked_.empty()) signed_at_ = now;
  marked_[consumer] = std::max(window, static_cast<std::size_t>(std::max<std::int64_t>(died, 0)));
  gives_signs_ = true;
  return died;
}

Reply Runs::sign() {
  if (!marked_.empty()) keep_connected();
  const auto now = context_.environment.clock->elapsed();
  Call call = about(marked_.empty() ? Bytes() : context_.instance.name());
  call.arguments.push_back(std::to_string(kAlive.count()));
  call.arguments.push_back(session_name_);
  Reply reply = context_.run_one(context_.scripts.sign, call, Loss::kNothingDone);
  if (reply.list.at(0).bytes == "unknown") {
    // Others found it dead, or the server has forgotten everything.
    context_.instance.rename();
    for (const auto& [consumer, window] : marked_) mark(consumer, window, false);
  }
  context_.instance.set_gone(reply.list.at(1).bytes);
  if (!marked_.empty()) signed_at_ = now;
  return reply;
}

bool Runs::sweep_now(Moment moment) {
  const Reply reply = [&] {
    const system::MutexLock lock(mutex_);
    return sign();
  }();
  std::vector<Other> others;
  std::vector<Bytes> sessions;
  for (std::size_t i = 2; i + 2 < reply.list.size(); i += 3) {
    sessions.push_back(reply.list[i + 1].bytes);
    others.push_back({reply.list[i].bytes, sessions.back(), milliseconds(reply.list[i + 2].number),
                      SessionState::kNotKnown});
  }
  if (others.empty()) return false;
  look_for(sessions, others);
  bool freed = false;
  for (const Other& other : others) freed = look_after(other, moment) || freed;
  return freed;
}

void Runs::look_for(std::span<const Bytes> sessions, std::span<Other> others) {
  const auto node = context_.router.owner(context_.names.runs);
  PooledConnection connection(node->pool);
  const auto there = connected(*connection, sessions);
  if (!there) return;
  for (Other& other : others) {
    if (!known_to(*connection, other.session)) continue;
    other.session_state =
        there->contains(other.session) ? SessionState::kThere : SessionState::kGone;
  }
}

// True where it was found to be dead.
bool Runs::look_after(const Other& other, Moment moment) {
  if (other.session_state == SessionState::kThere) return false;
  const bool silent = other.sign_left < milliseconds(0);
  const bool missing = other.session_state == SessionState::kGone;
  if (missing && (silent || kAlive - other.sign_left > kSure)) return free_all_of(other);
  // At the beginning of a run deaths are reported immediately: a false suspicion only costs time.
  if (missing ? moment == Moment::kLater : !silent) return false;
  Call call = about(other.name);
  call.arguments.push_back(other.session);
  context_.run_one(context_.scripts.doubt, call, Loss::kNothingDone);
  return false;
}

// If this stops half-way, the next sweep does the rest.
bool Runs::free_all_of(const Other& other) {
  Call call = about(other.name);
  call.arguments.push_back(other.session);
  call.arguments.push_back(std::to_string((kAlive - kSure).count()));
  const Reply declared = context_.run_one(context_.scripts.declare, call, Loss::kNothingDone);
  if (declared.list.at(0).number == 0) return false;
  context_.instance.set_gone(other.name + context_.instance.gone());
  for (std::size_t i = 1; i < declared.list.size(); ++i) {
    show_rows(other.name, declared.list[i].bytes);
  }
  return context_.run_one(context_.scripts.forget_run, call, Loss::kNothingDone).number > 0;
}

void Runs::show_rows(const Bytes& instance, const Bytes& consumer) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Bytes cursor = "0";
    do {
      Call call = about(instance);
      call.keys = {context_.names.last_row(number_of(consumer))};
      call.arguments.push_back(consumer);
      call.arguments.push_back(std::to_string(lane));
      call.arguments.push_back(cursor);
      cursor = context_.run_one(context_.scripts.show, call, Loss::kNothingDone).list.at(0).bytes;
    } while (cursor != "0");
  }
}

}  // namespace

std::unique_ptr<RunMarkers> make_run_markers(StoreContext& context) {
  return std::make_unique<Runs>(context);
}

}  // namespace semel::redis
