#include "testing/explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "testing/comparison.h"
#include "testing/shrink.h"

namespace semel::testkit {

namespace {

constexpr std::size_t kMostCopies = 3;
constexpr std::size_t kLargestBatch = 4;
constexpr std::size_t kMostFaults = 3;

std::set<std::size_t> messages_of(const Schedule& schedule) {
  std::set<std::size_t> messages;
  for (const auto& batch : schedule.batches) messages.insert(batch.begin(), batch.end());
  return messages;
}

Schedule one_by_one(std::span<const std::size_t> messages) {
  Schedule schedule;
  for (const std::size_t message : messages) schedule.batches.push_back({message});
  return schedule;
}

// Sends the messages in reverse order, except for those with the same ordering key.
Schedule backwards(const std::vector<TestMessage>& messages) {
  std::map<Bytes, std::vector<std::size_t>> lines;  // each from its end
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (!messages[i].ordering_key.empty()) lines[messages[i].ordering_key].push_back(i);
  }
  std::vector<std::size_t> order;
  for (std::size_t i = messages.size(); i-- > 0;) {
    const auto line = lines.find(messages[i].ordering_key);
    if (line == lines.end()) {
      order.push_back(i);
    } else {
      order.push_back(line->second.back());
      line->second.pop_back();
    }
  }
  return one_by_one(order);
}

// A fault that did not take place changed nothing, so the run is the same without it.
Schedule without_no_faults(Schedule schedule, const RunResult& result) {
  for (auto i = result.no_faults.rbegin(); i != result.no_faults.rend(); ++i) {
    schedule.faults.erase(schedule.faults.begin() + static_cast<std::ptrdiff_t>(*i));
  }
  return schedule;
}

Finding no_fault(const Fault& fault, const RunResult& result) {
  const char* const why = fault.at > result.passed
                              ? "the run does not reach it"
                              : "a transaction is open there, or the consumer is gone";
  return {Finding::Kind::kNoFault,
          fmt::format("{}, in a run of {} points: {}", to_text(fault), result.passed, why), 1, 0};
}

// A schedule of several faults, by chance.
class RandomSchedule {
 public:
  RandomSchedule(const Subject& subject, FakeRandom& random, std::size_t usual_points)
      : subject_(subject), random_(random), usual_points_(usual_points) {}

  Schedule make() {
    const DeliverOptions& options = subject_.options;
    std::vector<std::size_t> copies(subject_.messages.size());
    std::iota(copies.begin(), copies.end(), std::size_t{0});
    if (options.reorderings) reorder(copies);
    if (options.duplicates) add_copies(copies);
    Schedule schedule;
    for (std::size_t first = 0; first < copies.size();) {
      const std::size_t most = std::min(kLargestBatch, copies.size() - first);
      const std::size_t size = options.batches ? 1 + random_.below(most) : 1;
      const auto begin = copies.begin() + static_cast<std::ptrdiff_t>(first);
      schedule.batches.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
      first += size;
    }
    add_faults(schedule, copies.size());
    return schedule;
  }

 private:
  // Swaps neighbours, except for those with the same ordering key.
  void reorder(std::vector<std::size_t>& copies) {
    if (copies.size() < 2) return;
    for (std::size_t n = copies.size() * copies.size(); n > 0; --n) {
      const std::size_t i = random_.below(copies.size() - 1);
      const Bytes& one = subject_.messages[copies[i]].ordering_key;
      const bool ordered = !one.empty() && one == subject_.messages[copies[i + 1]].ordering_key;
      if (!ordered && random_.below(2) == 0) std::swap(copies[i], copies[i + 1]);
    }
  }

  // Inserts each copy after the first one of its message.
  void add_copies(std::vector<std::size_t>& copies) {
    const std::vector<std::size_t> firsts = copies;
    for (const std::size_t message : firsts) {
      for (std::size_t n = random_.below(kMostCopies); n > 0; --n) {
        const auto first = std::ranges::find(copies, message) - copies.begin();
        const auto place = static_cast<std::size_t>(first) + 1 +
                           random_.below(copies.size() - static_cast<std::size_t>(first));
        copies.insert(copies.begin() + static_cast<std::ptrdiff_t>(place), message);
      }
    }
  }

  void add_faults(Schedule& schedule, std::size_t copies) {
    const DeliverOptions& options = subject_.options;
    if (!options.crashes && !options.pauses) return;
    const std::size_t points = usual_points_ * (copies + 1) / subject_.messages.size() + 1;
    for (std::size_t n = random_.below(kMostFaults + 1); n > 0; --n) {
      const bool crash = options.crashes && (!options.pauses || random_.below(2) == 0);
      schedule.faults.push_back(
          {crash ? Fault::Kind::kCrash : Fault::Kind::kPause, 1 + random_.below(points)});
    }
  }

  const Subject& subject_;
  FakeRandom& random_;
  const std::size_t usual_points_;
};

}  // namespace

Schedule plain_schedule(std::size_t messages) {
  std::vector<std::size_t> all(messages);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return one_by_one(all);
}

RunResult Explorer::run(const Schedule& schedule) {
  RunResult result = simulate(subject_, schedule, ++report_.runs);
  report_.crashes += result.crashes;
  report_.pauses += result.pauses;
  report_.points.insert(result.points.begin(), result.points.end());
  return result;
}

const Counts& Explorer::expected_of(const std::set<std::size_t>& messages) {
  const auto known = expected_.find(messages);
  if (known != expected_.end()) return known->second;
  const std::vector<std::size_t> in_order(messages.begin(), messages.end());
  return expected_.emplace(messages, run(one_by_one(in_order)).left).first->second;
}

std::vector<Finding> Explorer::try_one(const Schedule& schedule, RunResult* result) {
  const Counts& expected = expected_of(messages_of(schedule));
  RunResult ran = run(schedule);
  std::vector<Finding> findings;
  if (ran.stuck) {
    findings.push_back({Finding::Kind::kStuck, "messages that never come to an end", 0, 1});
  } else {
    findings = compare(expected, ran.left, subject_.options);
  }
  if (result != nullptr) *result = std::move(ran);
  return findings;
}

void Explorer::tell(const Schedule& schedule) {
  RunResult result;
  report_.findings = try_one(schedule, &result);
  report_.steps = std::move(result.steps);
  report_.replay = to_text(without_no_faults(schedule, result));
}

bool Explorer::found(const Schedule& schedule) {
  std::vector<Finding> findings = try_one(schedule);
  if (findings.empty()) return false;
  tell(shrink(schedule, [this](const Schedule& less) { return !try_one(less).empty(); }));
  if (!report_.findings.empty()) return true;
  // The same schedule does not find the same again.
  for (Finding& finding : findings) finding.kind = Finding::Kind::kUnsteady;
  report_.findings = std::move(findings);
  report_.replay = to_text(schedule);
  return true;
}

bool Explorer::found_unsteady() {
  const Schedule plain = plain_schedule(subject_.messages.size());
  RunResult first = run(plain);
  usual_points_ = first.passed;
  if (first.stuck) {
    tell(plain);
    return true;
  }
  if (!first.given_up.empty() && !subject_.options.may_give_up) {
    for (const auto& [name, why] : first.given_up) {
      report_.findings.push_back(
          {Finding::Kind::kGivenUp, why.empty() ? name : name + ": " + why, 0, 1});
    }
    report_.steps = std::move(first.steps);
    report_.replay = to_text(plain);
    return true;
  }
  expected_[messages_of(plain)] = first.left;
  RunResult second = run(plain);
  DeliverOptions strict;
  report_.findings = compare(first.left, second.left, strict);
  for (Finding& finding : report_.findings) finding.kind = Finding::Kind::kUnsteady;
  if (report_.findings.empty()) return false;
  report_.steps = std::move(second.steps);
  report_.replay = to_text(plain);
  return true;
}

bool Explorer::found_at_each_point(const Schedule& base) {
  if (found(base)) return true;
  const std::size_t points = run(base).passed;
  for (std::size_t at = 1; at <= points; ++at) {
    for (const auto kind : {Fault::Kind::kCrash, Fault::Kind::kPause}) {
      const DeliverOptions& options = subject_.options;
      if (kind == Fault::Kind::kCrash ? !options.crashes : !options.pauses) continue;
      Schedule faulty = base;
      faulty.faults.push_back({kind, at});
      if (found(faulty)) return true;
    }
  }
  return false;
}

bool Explorer::found_in_base_schedules() {
  const DeliverOptions& options = subject_.options;
  Schedule base = plain_schedule(subject_.messages.size());
  const Schedule once = base;
  if (options.duplicates) std::ranges::copy(once.batches, std::back_inserter(base.batches));
  if (found_at_each_point(base)) return true;
  if (options.reorderings && found(backwards(subject_.messages))) return true;
  if (options.batches && subject_.messages.size() > 1) {
    Schedule together;
    auto& batch = together.batches.emplace_back();
    for (const auto& one : once.batches) batch.push_back(one.front());
    if (options.duplicates) together.batches.push_back(batch);
    if (found_at_each_point(together)) return true;
  }
  return false;
}

bool Explorer::found_at_random() {
  FakeRandom random(subject_.options.seed);
  RandomSchedule schedules(subject_, random, usual_points_);
  for (std::size_t n = 0; n < subject_.options.random_runs; ++n) {
    if (found(schedules.make())) return true;
  }
  return false;
}

bool Explorer::found_in_replay() {
  const auto schedule = schedule_from(subject_.options.replay, subject_.messages.size());
  if (!schedule) {
    throw SemelError(
        {ErrorKind::kRejected,
         {},
         "\"" + subject_.options.replay + "\" is no schedule of these messages",
         "give DeliverOptions::replay what Report::replay said, and the same messages"});
  }
  RunResult result;
  report_.findings = try_one(*schedule, &result);
  // Without this a run that did not have its faults would pass for one that withstood them.
  for (const std::size_t i : result.no_faults) {
    report_.findings.push_back(no_fault(schedule->faults[i], result));
  }
  report_.steps = std::move(result.steps);
  report_.replay = to_text(*schedule);
  return true;
}

Report Explorer::explore() {
  report_.may_double = subject_.options.may_double;
  report_.may_lose = subject_.options.may_lose;
  if (!found_unsteady()) {
    if (!subject_.options.replay.empty()) {
      found_in_replay();
    } else if (!found_in_base_schedules()) {
      found_at_random();
    }
  }
  if (report_.findings.empty()) {
    report_.steps.clear();
    report_.replay.clear();
  }
  return std::move(report_);
}

}  // namespace semel::testkit
