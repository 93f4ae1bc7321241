// A source without a broker, for tests of the components behind sources.
//
// The topic outlives its consumers: unacknowledged messages are delivered again to the next source
// on it. A source is one consumer's session on a topic.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/source.h>

namespace semel::test {

// Safe for several threads.
class MemoryTopic {
 public:
  MemoryTopic();
  ~MemoryTopic();
  MemoryTopic(const MemoryTopic&) = delete;
  MemoryTopic& operator=(const MemoryTopic&) = delete;

  // Adds one copy. A position is made where it has none.
  void add(Arrival arrival);
  void add(BytesView payload) {
    Arrival arrival;
    arrival.payload = payload;
    add(std::move(arrival));
  }
  // No more messages will be added: sources may reach their end.
  void finish();

  std::size_t added() const;
  std::size_t acked() const;
  std::size_t in_flight() const;
  std::size_t unsettled() const;   // all that is not acked
  std::size_t deliveries() const;  // how often anything was handed out
  // Every settlement, in order, with the position that it was for.
  struct Told {
    std::string position;
    Settlement::Kind kind;
    std::chrono::milliseconds delay;
  };
  std::vector<Told> told() const;
  // Waits until everything added is acked; false when it took too long.
  bool wait_all_acked(std::chrono::milliseconds patience = std::chrono::seconds(20)) const;

 private:
  friend class MemorySource;
  enum class Where { kReady, kOut, kLater, kAcked };
  struct Entry {
    Arrival arrival;
    Where where = Where::kReady;
    std::chrono::steady_clock::time_point due{};
  };
  void ring() noexcept;
  std::size_t count_locked(Where where) const;
  std::size_t count(Where where) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Entry> entries_;
  std::set<std::size_t> ready_;
  std::size_t later_ = 0;
  std::vector<Told> told_;
  bool finished_ = false;
  std::size_t deliveries_ = 0;
  int bell_;  // eventfd
};

struct MemorySourceOptions {
  bool redelivers = true;  // honours kLater
  bool replays = true;     // unsettled messages are delivered again after close
  Clock* clock = nullptr;  // of kLater; null: system_environment()'s
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(MemoryTopic& topic, MemorySourceOptions options = {});
  ~MemorySource() override;

  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  Result<void> extend(std::span<const Tag> tags, std::chrono::milliseconds by) override;
  void set_paused(std::string_view partition, bool paused) override;
  Result<void> close(std::chrono::milliseconds deadline) override;

  // Revokes everything and assigns it again, as a broker does at a rebalance: messages in flight
  // are delivered again under a new generation, and settlements of the old one are void.
  void reassign();
  // Makes the next call of receive, or of settle, fail with the error; two calls affect the next
  // two receives.
  void fail_receive(Error error);
  void fail_settle(Error error);
  std::size_t extended() const;

 private:
  void give_back();
  void wake_due(std::chrono::steady_clock::time_point now);
  bool paused(const std::string& partition) const;

  MemoryTopic& topic_;
  SourceTraits traits_;
  Clock* clock_;
  std::uint64_t generation_ = 1;
  std::set<std::size_t> mine_;
  std::set<std::string, std::less<>> paused_;
  std::deque<Error> fail_receive_;
  std::optional<Error> fail_settle_;
  std::size_t extended_ = 0;
  bool closed_ = false;
};

}  // namespace semel::test
