// RecordInspector over the names of a store.
#include "stores/redis/inspector.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/failpoints.h"
#include "stores/redis/cluster_letters.h"
#include "stores/redis/cluster_script.h"
#include "stores/redis/dead_letters.h"
#include "stores/redis/finisher.h"
#include "stores/redis/inspector_scripts.h"
#include "stores/redis/record.h"
#include "stores/redis/record_view.h"
#include "stores/redis/scan.h"
#include "stores/redis/stats.h"
#include "stores/redis/verify.h"

namespace semel::redis {
namespace {

// The answers of the inspector's scripts.
enum class Change { kNo = 0, kDone = 1, kHeld = 2, kNotRead = 3, kMissing = 4 };

SeenRecord seen_as(RecordState state, std::uint64_t token) {
  return {Bytes(1, state_letter(state)),
          state == RecordState::kCompleted ? Bytes() : token_bytes(token)};
}

// Whether the row may have been held for the record that was seen. It does not know the token.
bool was_seen_as(const LinkedRow& row, const SeenRecord& seen) {
  if (row.parked) return seen.state == "P";
  return seen.state == "R" || seen.state == "C";
}

StoreTime time_in(const Reply& read) {
  return StoreTime(std::chrono::milliseconds(read.list.at(1).number));
}

class RedisInspector final : public RecordInspector {
 public:
  RedisInspector(StoreContext& context, const std::string& clock)
      : context_(context), names_(context.names), scripts_(clock, context.names.cluster) {}

  Result<StoreTime> read_clock() override {
    return core::contained([&] { return time_in(read(KeyId{})); });
  }

  Result<std::optional<ConsumerNumber>> consumer(const std::string& name) override {
    return core::contained([&]() -> std::optional<ConsumerNumber> {
      const Reply reply = context_.router.ask({"HGET", names_.consumers, name}, Loss::kNothingDone);
      if (reply.kind == Reply::Kind::kNil) return std::nullopt;
      return number_in(reply.bytes);
    });
  }

  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state,
                                       std::size_t limit) override {
    return core::contained([&] { return listed(consumer, state, limit); });
  }

  Result<std::optional<RecordView>> show(const KeyId& id) override {
    return core::contained([&]() -> std::optional<RecordView> {
      const Reply reply = read(id);
      const Reply& record = reply.list.at(0);
      if (record.kind == Reply::Kind::kNil) return std::nullopt;
      RecordView view = view_of(id, record.bytes);
      view.read_at = time_in(reply);
      return view;
    });
  }

  Result<std::optional<RecordView>> left_behind(const KeyId& id) override {
    return core::contained([&]() -> std::optional<RecordView> {
      if (!names_.cluster || !seen_now(context_, id).state.empty()) return std::nullopt;
      auto row = linked_row(context_, id);
      return row ? std::optional(std::move(row->view)) : std::nullopt;
    });
  }

  Result<bool> forget(const KeyId& id) override {
    return core::contained([&] { return forget_now(id, {}); });
  }

  Result<bool> forget_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return core::contained([&] { return forget_now(id, seen_as(state, token)); });
  }

  Result<bool> unlock(const KeyId& id) override {
    return core::contained([&] {
      return names_.cluster ? unlock_on_cluster(context_, id)
                            : change(scripts_.unlock, id, {{}, {}});
    });
  }
  Result<bool> unlock_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return core::contained([&] {
      const SeenRecord seen = seen_as(state, token);
      return names_.cluster ? unlock_on_cluster(context_, id, {}, &seen)
                            : change(scripts_.unlock, id, {seen.state, seen.token});
    });
  }

  Result<std::optional<Lease>> seize(const KeyId& id, std::chrono::milliseconds lease) override {
    return core::contained([&] { return seized(id, {}, lease); });
  }
  Result<std::optional<Lease>> seize_as(const KeyId& id, RecordState state, std::uint64_t token,
                                        std::chrono::milliseconds lease) override {
    return core::contained([&] { return seized(id, seen_as(state, token), lease); });
  }

  Result<std::vector<StoreFinding>> verify(bool full) override {
    return core::contained([&] { return verify_in(context_, scripts_, full); });
  }

  Result<StoreStats> stats() override {
    return core::contained([&] { return stats_of(context_); });
  }
  Result<StoreStats> backlog() override {
    return core::contained([&] { return backlog_of(context_); });
  }

 private:
  std::vector<RecordView> listed(std::optional<ConsumerNumber> consumer,
                                 std::optional<RecordState> state, std::size_t limit);
  std::optional<Lease> seized(const KeyId& id, const SeenRecord& seen,
                              std::chrono::milliseconds lease);
  bool forget_now(const KeyId& id, const SeenRecord& seen);
  std::optional<bool> try_to_forget_on_cluster(const KeyId& id, const SeenRecord& seen);
  // The record's bytes, and its server's clock.
  Reply read(const KeyId& id);
  bool change(Script& script, const KeyId& id, const std::vector<Bytes>& arguments) {
    return try_to_change(script, id, arguments) == Change::kDone;
  }
  // kNo, kDone or kMissing.
  Change try_to_change(Script& script, const KeyId& id, const std::vector<Bytes>& arguments);

  StoreContext& context_;
  const Names& names_;
  InspectorScripts scripts_;
};

// Completed records, which are most, are recognised by their first bytes and skipped; wanted ones
// are then read completely.
std::vector<RecordView> RedisInspector::listed(std::optional<ConsumerNumber> consumer,
                                               std::optional<RecordState> state,
                                               std::size_t limit) {
  std::map<KeyId, RecordView> found;
  each_name(context_.router, names_, [&](std::span<const std::string> names) {
    std::vector<std::string> records;
    for (const std::string& name : names) {
      const auto id = names_.id_of(name);
      if (id && (!consumer || id->consumer() == *consumer)) records.push_back(name);
    }
    const std::vector<Reply> states = beginnings(context_.router, records, 1);
    std::vector<std::string> wanted;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (states[i].is_error()) throw failure_of(states[i]);
      if (is_unfinished(states[i].bytes, state)) wanted.push_back(std::move(records[i]));
    }
    if (wanted.empty()) return;
    // Read before the records: a lease that has ended by then had ended.
    const StoreTime now = time_in(read(*names_.id_of(wanted.front())));
    const std::vector<Reply> whole = beginnings(context_.router, wanted, -1);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (whole[i].is_error()) throw failure_of(whole[i]);
      const KeyId id = *names_.id_of(wanted[i]);
      // It may have changed in between.
      if (!is_unfinished(whole[i].bytes, state)) continue;
      RecordView view = view_of(id, whole[i].bytes);
      view.read_at = now;
      found.insert_or_assign(id, std::move(view));
    }
    while (found.size() > limit) found.erase(std::prev(found.end()));
  });
  std::vector<RecordView> views;
  views.reserve(found.size());
  for (auto& [id, view] : found) views.push_back(std::move(view));
  return views;
}

bool RedisInspector::forget_now(const KeyId& id, const SeenRecord& seen) {
  if (!names_.cluster) return change(scripts_.forget, id, {seen.state, seen.token});
  for (int look = 0; look < kLooks; ++look) {
    if (const auto done = try_to_forget_on_cluster(id, seen)) return *done;
  }
  never_stands_still();
}

// nullopt where the record changed meanwhile. It goes before the row that is held for it, which is
// on another node: a stop in between leaves the row, and the same call removes that.
std::optional<bool> RedisInspector::try_to_forget_on_cluster(const KeyId& id,
                                                             const SeenRecord& seen) {
  const bool any = seen.state.empty();
  const SeenRecord now = any ? seen_now(context_, id) : seen;
  const auto row = linked_row(context_, id);
  failpoint::hit(context_.environment, failpoint::kKept);
  const Change done = try_to_change(scripts_.forget, id, {now.state, now.token});
  failpoint::hit(context_.environment, failpoint::kRecorded);
  if (done == Change::kNo) return any ? std::nullopt : std::optional(false);
  if (done == Change::kMissing) {
    return row && (any || was_seen_as(*row, seen)) && drop_row(context_, *row);
  }
  try {
    if (row) drop_row(context_, *row);
  } catch (const core::Failure& failed) {
    throw in_doubt(failed);  // the record is gone
  }
  return true;
}

Reply RedisInspector::read(const KeyId& id) {
  Call call;
  call.keys = {names_.record(id)};
  return context_.run_one(scripts_.read, call, Loss::kNothingDone);
}

std::optional<Lease> RedisInspector::seized(const KeyId& id, const SeenRecord& seen,
                                            std::chrono::milliseconds lease) {
  context_.stay_known(Loss::kNothingDone);
  const Lease seized{id, {}, context_.instance.draw_nonce()};
  const std::vector<Bytes> how = {seen.state, seen.token, std::to_string(lease.count()),
                                  Bytes(nonce_of(seized))};
  return change(scripts_.seize, id, how) ? std::optional(seized) : std::nullopt;
}

Change RedisInspector::try_to_change(Script& script, const KeyId& id,
                                     const std::vector<Bytes>& arguments) {
  Call call;
  call.keys = {names_.record(id)};
  call.arguments = {names_.prefix};
  for (const Bytes& one : arguments) call.arguments.push_back(one);
  const Reply reply = context_.run_one(script, call, Loss::kInDoubt);
  const auto answer = static_cast<Change>(reply.number);
  switch (answer) {
    case Change::kNo:
    case Change::kDone:
    case Change::kMissing:
      return answer;
    case Change::kHeld:
      core::fail({ErrorKind::kBlocked, "R241",
                  "a running consumer holds this record: forgetting it now would let it happen "
                  "twice",
                  "stop the consumer, or wait for its lease to end"});
    case Change::kNotRead:
      break;
  }
  // Throws the reason why it cannot be read.
  decoded(context_.router.ask({"GET", call.keys.front()}, Loss::kNothingDone).bytes);
  return Change::kNo;
}

}  // namespace

std::unique_ptr<RecordInspector> make_inspector(StoreContext& context, const std::string& clock) {
  return std::make_unique<RedisInspector>(context, clock);
}

}  // namespace semel::redis
