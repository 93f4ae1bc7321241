#include "testing/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/held_messages.h>

#include "core/failpoints.h"
#include "core/key_encoding.h"
#include "testing/snapshot.h"

namespace semel::testkit {

namespace {

using std::chrono::milliseconds;

// A run that has received so often for each copy is not coming to an end.
constexpr std::size_t kMostRounds = 200;
constexpr std::size_t kMostRoundsOfCopy = 50;
constexpr int kDeepestPause = 2;
// A lease ends a moment before a pause does.
constexpr milliseconds kAfterLease{1'000};
constexpr std::size_t kMostBytes = 8 << 20;

class Simulation final : public Fate {
 public:
  Simulation(const Subject& subject, const Schedule& schedule, RunNames names)
      : subject_(subject),
        schedule_(schedule),
        names_(std::move(names)),
        broker_(schedule, subject.environment->clock),
        took_place_(schedule.faults.size()) {
    std::size_t copies = 0;
    for (const auto& batch : schedule.batches) copies += batch.size();
    rounds_left_ = kMostRounds + copies * kMostRoundsOfCopy;
  }

  RunResult run() {
    drive();
    result_.left = snapshot(subject_, names_);
    for (const auto& [name, why] : result_.given_up) result_.left[name] = 1;
    for (std::size_t i = 0; i < took_place_.size(); ++i) {
      if (!took_place_[i]) result_.no_faults.push_back(i);
    }
    return std::move(result_);
  }

  void at(Process& process, std::string_view point) override {
    const std::size_t number = ++result_.passed;
    result_.points.emplace(point);
    for (std::size_t i = 0; i < schedule_.faults.size(); ++i) {
      const Fault& fault = schedule_.faults[i];
      if (fault.at != number || process.over()) continue;
      if (fault.kind == Fault::Kind::kCrash) {
        took_place_[i] = true;
        ++result_.crashes;
        note(fmt::format("consumer {} ends at {} (point {})", process.member(), point, number));
        process.end();
      } else if (!process.holds_store() && depth_ < kDeepestPause) {
        took_place_[i] = true;
        ++result_.pauses;
        pause(process, point, number);
      }
    }
  }

 private:
  void note(std::string line) { result_.steps.push_back(std::move(line)); }
  std::unique_ptr<Process> next_process() {
    return std::make_unique<Process>(subject_, names_, *this, ++members_);
  }
  milliseconds lease() const {
    return subject_.options.guard ? subject_.options.guard->lease : subject_.options.lease;
  }

  void pause(const Process& process, std::string_view point, std::size_t number) {
    note(fmt::format("consumer {} is paused at {} (point {}), longer than its lease",
                     process.member(), point, number));
    broker_.lose(process.member());
    subject_.environment->clock.advance(lease() + kAfterLease);
    ++depth_;
    drive();
    --depth_;
    note(fmt::format("consumer {} goes on", process.member()));
  }

  // Until everything is acknowledged, and nothing is held for later.
  void drive() {
    auto process = next_process();
    while (true) {
      if (rounds_left_ == 0) {
        result_.stuck = true;
        break;
      }
      --rounds_left_;
      if (!turn(*process)) break;
      if (!process->over()) continue;
      broker_.lose(process->member());
      process = next_process();
    }
  }

  // False: there is nothing left to do.
  bool turn(Process& process) {
    if (const auto copies = broker_.take(process.member()); !copies.empty()) {
      receive(process, copies);
      return true;
    }
    if (const auto next = broker_.next_in()) {
      subject_.environment->clock.advance(*next);
      return true;
    }
    return turn_of_held(process);
  }

  core::TrackedDelivery delivery_of(const TestMessage& message, std::size_t copy) const {
    Message::Parts parts;
    parts.key = {message.key, core::encode_key(names_.number, message.key)};
    parts.fingerprint = fingerprint_of(message.payload);
    parts.ordering_key = message.ordering_key;
    parts.payload = message.payload;
    parts.headers = message.headers;
    parts.content_type = message.content_type;
    parts.type = message.type;
    Arrival arrival;
    arrival.partition = "deliver";
    arrival.position = fmt::format("deliver-{}", copy + 1);
    return {Message(std::move(parts)), std::move(arrival)};
  }

  // Copies of a message can be in one batch of a guard only: a runner's sequencer separates them.
  void receive(Process& process, std::vector<Broker::Copy> copies) {
    std::string keys;
    for (const auto& copy : copies) {
      keys += (keys.empty() ? "" : ", ") + subject_.messages[copy.message].key;
    }
    note(fmt::format("consumer {} receives {}", process.member(), keys));
    if (!process.pass(failpoint::kReceived)) return;
    while (!copies.empty() && !process.over()) {
      std::vector<Broker::Copy> now;
      std::vector<Broker::Copy> behind;
      for (const auto& copy : copies) {
        const bool twin = std::ranges::any_of(now, [&](const Broker::Copy& other) {
          return subject_.messages[other.message].key == subject_.messages[copy.message].key;
        });
        (twin && !subject_.options.guard ? behind : now).push_back(copy);
      }
      handle(process, now);
      copies = std::move(behind);
    }
  }

  void handle(Process& process, std::span<const Broker::Copy> copies) {
    std::vector<core::TrackedDelivery> batch;
    batch.reserve(copies.size());
    for (const auto& copy : copies) {
      batch.push_back(delivery_of(subject_.messages[copy.message], copy.number));
    }
    const std::vector<Outcome> outcomes = process.handle(batch);
    if (process.over()) return;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      note_outcome(process, subject_.messages[copies[i].message].key, outcomes[i]);
    }
    if (!process.pass(failpoint::kSettleBefore)) return;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      settle(process, copies[i].number, outcomes[i]);
    }
    process.pass(failpoint::kSettleAfter);
  }

  void note_outcome(const Process& process, const Bytes& key, const Outcome& outcome) {
    note(fmt::format("consumer {}: {} is {}{}{}", process.member(), key, to_string(outcome.kind),
                     outcome.error.empty() ? "" : ": ", outcome.error));
    if (outcome.given_up()) {
      result_.given_up.emplace(fmt::format("{}: {}", to_string(outcome.kind), key), outcome.error);
    }
  }

  void settle(const Process& process, std::size_t copy, const Outcome& outcome) {
    switch (outcome.settle) {
      case Outcome::Settle::kAck:
      case Outcome::Settle::kAcked:
        return broker_.acknowledge(process.member(), copy);
      case Outcome::Settle::kLater:
      case Outcome::Settle::kRelease:
      case Outcome::Settle::kKeep:
        return broker_.later(process.member(), copy, outcome.delay);
    }
  }

  // Delivers a retry that the store held.
  bool turn_of_held(Process& process) {
    HeldMessages* const held = subject_.store->facets().held;
    if (held == nullptr || subject_.options.guard) return false;
    auto rows = held->take(names_.number, 1, kMostBytes, lease());
    if (!rows) throw SemelError(std::move(rows.error()));
    if (!rows->empty()) {
      handle_held(process, *held, std::move(rows->front()));
      return true;
    }
    const auto peek = held->peek(names_.number);
    if (!peek) throw SemelError(peek.error());
    if (!peek->any) return false;
    subject_.environment->clock.advance(
        std::max(peek->next_due.value_or(lease()), milliseconds(1)));
    return true;
  }

  void handle_held(Process& process, HeldMessages& held, Arrival arrival) {
    TestMessage message;
    message.key = arrival.key.value_or(Bytes());
    message.payload = std::move(arrival.payload);
    message.headers = std::move(arrival.headers);
    message.content_type = arrival.content_type;
    message.type = arrival.type;
    note(fmt::format("consumer {} is given {} again by the store", process.member(), message.key));
    if (!process.pass(failpoint::kReceived)) return;
    core::TrackedDelivery one = delivery_of(message, 0);
    const RowTag row = arrival.row.value();
    one.arrival = std::move(arrival);
    const Outcome outcome = process.handle({&one, 1}).front();
    if (process.over()) return;
    note_outcome(process, message.key, outcome);
    if (!process.pass(failpoint::kSettleBefore)) return;
    Result<void> settled;
    if (outcome.settle == Outcome::Settle::kAck) {
      settled = held.remove({&row, 1});
    } else if (outcome.settle != Outcome::Settle::kAcked) {
      settled = held.release({&row, 1}, outcome.delay);
    }
    if (!settled) throw SemelError(settled.error());
    process.pass(failpoint::kSettleAfter);
  }

  const Subject& subject_;
  const Schedule& schedule_;
  const RunNames names_;
  Broker broker_;
  std::vector<bool> took_place_;  // by the index of the fault
  RunResult result_;
  std::size_t rounds_left_ = 0;
  Broker::Member members_ = 0;
  int depth_ = 0;
};

std::string consumer_of(std::size_t series, std::size_t number) {
  return fmt::format("deliver-{}-{}", series, number);
}

ConsumerNumber attached(Store& store, const std::string& name) {
  ConsumerSpec spec;
  spec.name = name;
  // The value that a Guard of the same name uses.
  spec.recipe_hash = "guard";
  auto number = store.attach(spec);
  if (!number) throw SemelError(std::move(number.error()));
  return *number;
}

}  // namespace

std::string first_consumer_of(std::size_t series) { return consumer_of(series, 1); }

RunResult simulate(const Subject& subject, const Schedule& schedule, std::size_t number) {
  RunNames names;
  names.consumer = consumer_of(subject.series, number);
  names.number = attached(*subject.store, names.consumer);
  for (const std::string& receiver : subject.options.receivers) {
    names.receivers.emplace(
        receiver,
        attached(*subject.store, fmt::format("{}-{}-{}", receiver, subject.series, number)));
  }
  subject.environment->random.seed(subject.options.seed);
  if (subject.options.store != nullptr) subject.options.store->reset();
  for (Outside* const outside : subject.options.outside) outside->clear();
  if (subject.options.reset) subject.options.reset();
  return Simulation(subject, schedule, std::move(names)).run();
}

}  // namespace semel::testkit
