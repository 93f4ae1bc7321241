#include "stores/redis/run_markers.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "stores/redis/held_rows.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCrashMemory{std::chrono::hours(24 * 30)};

class Runs final : public RunMarkers {
 public:
  explicit Runs(Core& core) : core_(core) {}

  Result<Begun> begin(ConsumerNumber consumer, std::size_t window) override {
    return core::contained([&] {
      const std::scoped_lock lock(mutex_);
      sweep_now();
      const std::int64_t died = mark(consumer, window, true);
      marked_[consumer] = window;
      return Begun{died >= 0, static_cast<std::size_t>(std::max<std::int64_t>(died, 0))};
    });
  }

  Result<void> end(ConsumerNumber consumer) override {
    return core::contained([&] {
      const std::scoped_lock lock(mutex_);
      Call call = about(core_.instance.name());
      call.arguments.push_back(text_of(consumer));
      core_.run_one(core_.scripts.end_run, call, Loss::kNothingDone);
      marked_.erase(consumer);
    });
  }

  Result<bool> sweep() override {
    return core::contained([&] {
      const std::scoped_lock lock(mutex_);
      return sweep_now();
    });
  }

  Result<int> count_crash(const Message& message) override {
    return core::contained([&] {
      const KeyId& id = message.key().id;
      Call call;
      call.keys = {core_.names.record(id), core_.names.crash(id)};
      call.arguments = {std::to_string(kCrashMemory.count())};
      const Reply reply = core_.run_one(core_.scripts.count_crash, call, Loss::kInDoubt);
      return static_cast<int>(reply.number);
    });
  }

  Result<void> forget_crash(const Message& message) override {
    return core::contained([&] {
      Lent wire(core_.pool);
      wire->ask({"DEL", core_.names.crash(message.key().id)}, Loss::kNothingDone);
    });
  }

 private:
  static std::string text_of(ConsumerNumber consumer) {
    return std::to_string(static_cast<std::uint32_t>(consumer));
  }
  Call about(const Bytes& instance) const {
    Call call;
    call.keys = {core_.names.runs};
    call.arguments = {core_.names.prefix, instance};
    return call;
  }
  std::int64_t mark(ConsumerNumber consumer, std::size_t window, bool hear_of_deaths);
  bool sweep_now();
  bool free_all_of(const Bytes& instance);
  void show_rows(const Bytes& instance, const Bytes& consumer);

  Core& core_;
  std::mutex mutex_;
  std::map<ConsumerNumber, std::size_t> marked_;  // and their windows
};

// The largest window of those that died; negative where none did.
std::int64_t Runs::mark(ConsumerNumber consumer, std::size_t window, bool hear_of_deaths) {
  Call call = about(core_.instance.name());
  call.arguments.push_back(std::to_string(::getpid()));
  call.arguments.push_back(std::to_string(kAlive.count()));
  call.arguments.push_back(text_of(consumer));
  call.arguments.push_back(std::to_string(window));
  call.arguments.emplace_back(hear_of_deaths ? "1" : "0");
  return core_.run_one(core_.scripts.begin_run, call, Loss::kInDoubt).number;
}

bool Runs::sweep_now() {
  Call call = about(marked_.empty() ? Bytes() : core_.instance.name());
  call.arguments.push_back(std::to_string(kAlive.count()));
  const Reply reply = core_.run_one(core_.scripts.sign, call, Loss::kNothingDone);
  if (reply.list.at(0).bytes == "unknown") {
    // Others took it for gone, or the server has forgotten all.
    core_.instance.rename();
    for (const auto& [consumer, window] : marked_) mark(consumer, window, false);
  }
  core_.instance.set_gone(reply.list.at(1).bytes);
  bool freed = false;
  for (std::size_t i = 2; i < reply.list.size(); ++i) {
    freed = free_all_of(reply.list[i].bytes) || freed;
  }
  return freed;
}

// Whoever is stopped in the middle of it leaves the rest to the next who sweeps.
bool Runs::free_all_of(const Bytes& instance) {
  const Reply declared = core_.run_one(core_.scripts.declare, about(instance), Loss::kNothingDone);
  if (declared.list.at(0).number == 0) return false;
  core_.instance.set_gone(instance + core_.instance.gone());
  for (std::size_t i = 1; i < declared.list.size(); ++i) {
    show_rows(instance, declared.list[i].bytes);
  }
  return core_.run_one(core_.scripts.forget_run, about(instance), Loss::kNothingDone).number > 0;
}

void Runs::show_rows(const Bytes& instance, const Bytes& consumer) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Bytes cursor = "0";
    do {
      Call call = about(instance);
      call.arguments.push_back(consumer);
      call.arguments.push_back(std::to_string(lane));
      call.arguments.push_back(cursor);
      cursor = core_.run_one(core_.scripts.show, call, Loss::kNothingDone).list.at(0).bytes;
    } while (cursor != "0");
  }
}

}  // namespace

std::unique_ptr<RunMarkers> make_run_markers(Core& core) { return std::make_unique<Runs>(core); }

}  // namespace semel::redis
