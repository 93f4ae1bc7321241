// HeldMessages, Positions and Gates over the state.
#include <set>
#include <utility>

#include "core/key_encoding.h"
#include "stores/memory/state.h"
#include "system/mutex.h"

namespace semel::memory {
namespace {

using std::chrono::milliseconds;

class Held final : public HeldMessages {
 public:
  explicit Held(State& state) : state_(state) {}

  Result<void> append(ConsumerNumber consumer, std::span<const OutgoingMessage> messages) override {
    const system::MutexLock lock(state_.mutex);
    const StoreTime now = state_.now();
    for (const OutgoingMessage& message : messages) {
      state_.held.add(row_of(consumer, message, now));
    }
    return {};
  }

  Result<std::vector<Arrival>> take(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, milliseconds hidden,
                                    const LineOf& line_of) override {
    const system::MutexLock lock(state_.mutex);
    const StoreTime now = state_.now();
    return state_.held.take(consumer, max_messages, max_bytes, hidden, now, line_of);
  }

  Result<std::vector<Place>> hold_behind(ConsumerNumber consumer,
                                         std::span<const Follower> followers,
                                         std::size_t most_bytes) override {
    const system::MutexLock lock(state_.mutex);
    const StoreTime now = state_.now();
    std::vector<Place> places;
    // Once a message does not fit, later messages of its line must not overtake it.
    std::set<BytesView> full;
    for (const Follower& follower : followers) {
      const BytesView line = *follower.arrival->line;
      if (full.contains(line)) {
        places.push_back(Place::kFull);
        continue;
      }
      HeldRow row = row_of(*follower.message, follower.arrival);
      row.consumer = consumer;
      row.due = spi::kDueAtOnce;
      row.sent = now;
      places.push_back(state_.held.hold_behind(std::move(row), most_bytes));
      if (places.back() == Place::kFull) full.insert(line);
    }
    return places;
  }

  Result<std::vector<Bytes>> lines(ConsumerNumber consumer) override {
    const system::MutexLock lock(state_.mutex);
    return state_.held.lines(consumer);
  }

  Result<void> release(std::span<const RowTag> rows, milliseconds delay) override {
    const system::MutexLock lock(state_.mutex);
    const StoreTime now = state_.now();
    for (const RowTag row : rows) state_.held.release(row, delay, now);
    return {};
  }

  Result<void> extend(std::span<const RowTag> rows, milliseconds hidden) override {
    const system::MutexLock lock(state_.mutex);
    const StoreTime now = state_.now();
    for (const RowTag row : rows) state_.held.extend(row, hidden, now);
    return {};
  }

  Result<void> remove(std::span<const RowTag> rows) override {
    const system::MutexLock lock(state_.mutex);
    for (const RowTag row : rows) state_.held.remove(row);
    return {};
  }

  Result<Depth> depth(ConsumerNumber consumer) override {
    const system::MutexLock lock(state_.mutex);
    return state_.held.depth(consumer, state_.now());
  }

  int wake_fd() noexcept override {
    const system::MutexLock lock(state_.mutex);
    return state_.held.wake_fd();
  }
  int wake_fd(ConsumerNumber consumer) noexcept override {
    const system::MutexLock lock(state_.mutex);
    return state_.held.wake_fd(consumer);
  }

 private:
  State& state_;
};

class MemoryPositions final : public Positions {
 public:
  explicit MemoryPositions(State& state) : state_(state) {}

  Result<std::optional<Bytes>> load(ConsumerNumber consumer, std::string_view partition) override {
    const system::MutexLock lock(state_.mutex);
    const auto found = state_.positions.find({consumer, std::string(partition)});
    if (found == state_.positions.end()) return std::optional<Bytes>();
    return std::optional<Bytes>(found->second);
  }

  Result<void> save(ConsumerNumber consumer, std::string_view partition,
                    BytesView position) override {
    const system::MutexLock lock(state_.mutex);
    state_.positions[{consumer, std::string(partition)}] = position;
    return {};
  }

  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber consumer,
                                               std::string_view partition) override {
    Name name{consumer, std::string(partition)};
    const system::MutexLock lock(state_.mutex);
    if (!state_.reserved.insert(name).second) {
      return failure({ErrorKind::kBlocked, "R230",
                      "consumer \"" + state_.name_of(consumer) + "\" already reads \"" +
                          name.second + "\" in this process",
                      "one consumer of this name and file at a time"});
    }
    return std::make_unique<Reserved>(state_, std::move(name));
  }

 private:
  using Name = std::pair<ConsumerNumber, std::string>;

  class Reserved final : public Reservation {
   public:
    Reserved(State& state, Name name) : state_(state), name_(std::move(name)) {}
    ~Reserved() override {
      const system::MutexLock lock(state_.mutex);
      state_.reserved.erase(name_);
    }

   private:
    State& state_;
    Name name_;
  };

  State& state_;
};

class MemoryGates final : public Gates {
 public:
  explicit MemoryGates(State& state) : state_(state) {}

  Result<std::optional<ShutGate>> state(ConsumerNumber consumer) override {
    const system::MutexLock lock(state_.mutex);
    const auto found = state_.gates.find(consumer);
    if (found == state_.gates.end()) return std::optional<ShutGate>();
    const ShutGate& gate = found->second;
    if (gate.until && *gate.until <= state_.now()) return std::optional<ShutGate>();
    return std::optional(gate);
  }

  Result<void> shut(ConsumerNumber consumer, std::string_view why,
                    std::optional<milliseconds> time) override {
    const system::MutexLock lock(state_.mutex);
    const StoreTime now = state_.now();
    const auto found = state_.gates.find(consumer);
    if (found != state_.gates.end() && !found->second.until) return {};
    ShutGate gate{std::string(why), now, std::nullopt};
    if (time) gate.until = now + *time;
    state_.gates.insert_or_assign(consumer, std::move(gate));
    return {};
  }

  Result<void> open(ConsumerNumber consumer) override {
    const system::MutexLock lock(state_.mutex);
    const auto found = state_.gates.find(consumer);
    if (found != state_.gates.end() && found->second.until) state_.gates.erase(found);
    return {};
  }

  Result<bool> resume(ConsumerNumber consumer) override {
    const system::MutexLock lock(state_.mutex);
    return state_.gates.erase(consumer) > 0;
  }

 private:
  State& state_;
};

}  // namespace

std::unique_ptr<HeldMessages> make_held(State& state) { return std::make_unique<Held>(state); }
std::unique_ptr<Positions> make_positions(State& state) {
  return std::make_unique<MemoryPositions>(state);
}
std::unique_ptr<Gates> make_gates(State& state) { return std::make_unique<MemoryGates>(state); }

}  // namespace semel::memory
