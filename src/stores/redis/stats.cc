#include "stores/redis/stats.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/consumer_times.h"
#include "stores/redis/byte_reader.h"
#include "stores/redis/record.h"
#include "stores/redis/record_view.h"
#include "stores/redis/scan.h"

namespace semel::redis {
namespace {

// How many of each kind are measured.
constexpr std::size_t kMeasured = 200;

// Estimates the memory of things of one kind from a sample.
class Measure {
 public:
  void saw(const std::string& name) {
    ++count_;
    if (sample_.size() < kMeasured) sample_.push_back(name);
  }
  // The average size; 0 where there is none. Values removed meanwhile are not counted.
  std::size_t each(Router& router) const {
    std::vector<Question> questions;
    for (const std::string& name : sample_) questions.push_back({name, {"MEMORY", "USAGE", name}});
    std::size_t sum = 0, measured = 0;
    for (const Reply& reply : router.ask_all(questions, Loss::kNothingDone)) {
      if (reply.is_error()) throw failure_of(reply);
      if (reply.kind == Reply::Kind::kNil) continue;
      sum += static_cast<std::size_t>(reply.number);
      ++measured;
    }
    return measured == 0 ? 0 : sum / measured;
  }
  std::size_t count() const noexcept { return count_; }

 private:
  std::size_t count_ = 0;
  std::vector<std::string> sample_;
};

using ByNumber = std::map<ConsumerNumber, StoreStats::Consumer>;

ByNumber consumers_of(Router& router, const Names& names) {
  ByNumber consumers;
  const Reply all = router.ask({"HGETALL", names.consumers}, Loss::kNothingDone);
  for (std::size_t i = 0; i + 1 < all.list.size(); i += 2) {
    const ConsumerNumber number = number_in(all.list[i + 1].bytes);
    consumers[number].name = all.list[i].bytes;
    consumers[number].number = number;
  }
  return consumers;
}

void add(StoreStats::Consumer& told, char letter, BytesView head) {
  // The offsets of its state and its times: see record.h.
  constexpr std::size_t kFirstSeen = 14, kUntil = 20, kTime = 6;
  const auto time_at = [&](std::size_t at) {
    return std::optional(ByteReader(head.substr(at, kTime)).time());
  };
  const bool completed = letter == state_letter(RecordState::kCompleted);
  core::note_change(told, time_at(completed ? kUntil : kFirstSeen));
  if (letter == 'C' || letter == 'R') core::note_waiting(told, time_at(kFirstSeen));
  switch (letter) {
    case 'C':
      ++told.consuming;
      break;
    case 'R':
      ++told.retrying;
      break;
    case 'P':
      ++told.parked;
      break;
    case 'X':
      ++told.dead;
      break;
    default:
      break;
  }
}

// On a Cluster the greatest.
std::uint64_t epoch_of(Router& router, const Names& names) {
  const std::vector<std::string> tokens = names.tokens();
  std::vector<Question> questions;
  for (const std::string& name : tokens) questions.push_back({name, {"GET", name}});
  std::uint64_t epoch = 0;
  for (const Reply& token : router.ask_all(questions, Loss::kNothingDone)) {
    if (token.is_error()) throw failure_of(token);
    epoch = std::max(epoch, static_cast<std::uint64_t>(number_in(token.bytes)));
  }
  return epoch;
}

// Counts waiting and given-up messages.
void count_messages(StoreContext& context, ByNumber& consumers) {
  for (auto& [number, told] : consumers) {
    Call call;
    const std::string text = std::to_string(static_cast<std::uint32_t>(number));
    call.keys = {context.names.last_row(number)};
    call.arguments = {context.names.prefix, text};
    const Reply depth = context.run_one(context.scripts.depth, call, Loss::kNothingDone);
    told.held = static_cast<std::size_t>(depth.list.at(0).number);
    // A due row waits since its due time; a row that was tried has a record with that time.
    if (depth.list.size() > 2 && depth.list[1].number == 0) {
      core::note_waiting(told, StoreTime(std::chrono::milliseconds(depth.list[2].number)));
    }
    const std::string counts = context.names.of_store("letter-counts");
    const Bytes letters = context.router.ask({"HGET", counts, text}, Loss::kNothingDone).bytes;
    std::from_chars(letters.data(), letters.data() + letters.size(), told.dead_letters);
  }
}

// Returns the processes with a recent sign of life, and notes what they run.
std::vector<std::int64_t> running_pids(Router& router, const Names& names, ByNumber& consumers) {
  const Reply runs = router.ask({"HGETALL", names.runs}, Loss::kNothingDone);
  std::vector<std::int64_t> running;
  for (std::size_t i = 0; i + 1 < runs.list.size(); i += 2) {
    const std::string alive = names.of_store("alive:") + runs.list[i].bytes;
    if (router.ask({"EXISTS", alive}, Loss::kNothingDone).number == 0) continue;
    const Bytes& pid = runs.list[i + 1].bytes;
    std::int64_t number = 0;
    std::from_chars(pid.data(), pid.data() + pid.size(), number);
    running.push_back(number);
    const std::string run = names.of_store("run:") + runs.list[i].bytes;
    for (const Reply& field : router.ask({"HKEYS", run}, Loss::kNothingDone).list) {
      // One of the fields is no consumer but a note.
      std::uint32_t consumer = 0;
      std::from_chars(field.bytes.data(), field.bytes.data() + field.bytes.size(), consumer);
      const auto told = consumers.find(ConsumerNumber{consumer});
      if (told != consumers.end()) told->second.running_pids.push_back(number);
    }
  }
  return running;
}

void add_messages(StoreContext& context, ByNumber& consumers, StoreStats& stats) {
  count_messages(context, consumers);
  stats.running_pids = running_pids(context.router, context.names, consumers);
}

// Moves the statistics: empties `consumers`.
void add_sorted(ByNumber& consumers, StoreStats& stats) {
  for (auto& [number, told] : consumers) stats.consumers.push_back(std::move(told));
  std::ranges::sort(stats.consumers, {}, &StoreStats::Consumer::name);
}

}  // namespace

StoreStats backlog_of(StoreContext& context) {
  StoreStats stats;
  stats.schema_version = kFormat;
  stats.records_counted = false;
  ByNumber consumers = consumers_of(context.router, context.names);
  add_messages(context, consumers, stats);
  add_sorted(consumers, stats);
  return stats;
}

StoreStats stats_of(StoreContext& context) {
  const Names& names = context.names;
  Router& router = context.router;
  StoreStats stats;
  stats.schema_version = kFormat;
  stats.epoch = epoch_of(router, names);
  ByNumber consumers = consumers_of(router, names);
  Measure completed, unfinished, others;
  each_name(router, names, [&](std::span<const std::string> page) {
    std::vector<std::string> records;
    for (const std::string& name : page) {
      names.id_of(name) ? records.push_back(name) : others.saw(name);
    }
    const std::vector<Reply> states = beginnings(router, records, kHead - 1);
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (states[i].is_error() || states[i].bytes.size() < kHead) continue;  // verify reports it
      const char letter = states[i].bytes[1];
      const bool done = letter == state_letter(RecordState::kCompleted);
      (done ? completed : unfinished).saw(records[i]);
      const auto whose = consumers.find(names.id_of(records[i])->consumer());
      if (whose != consumers.end()) add(whose->second, letter, states[i].bytes);
    }
  });
  add_messages(context, consumers, stats);
  stats.record_bytes = completed.each(router);
  for (const Measure* kind : {&completed, &unfinished, &others}) {
    stats.bytes += kind->count() * kind->each(router);
  }
  add_sorted(consumers, stats);
  StoreStats::Generation all;
  all.number = 1;
  all.active = true;
  all.rolling = true;
  all.records = completed.count();
  stats.generations.push_back(all);
  return stats;
}

}  // namespace semel::redis
