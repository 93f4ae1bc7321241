// pessimistic_lock and optimistic_lock: lock the business row, or compare its version. They do so
// in the record's transaction, before the handler's statements and in the same flush. The context's
// row guard decides which, and when a message is a duplicate or too early; everything else is as in
// dedup_table.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <semel/reason.h>

#include "core/transaction_recorder.h"
#include "strategies/claim_policies.h"
#include "strategies/decision.h"
#include "strategies/kinds.h"
#include "strategies/pipeline.h"
#include "strategies/row_versions.h"

namespace semel::strategies {

namespace {

bool writes(const RecordedStatement& recorded) { return !recorded.statement->writes.empty(); }

// Otherwise the message would be done although its row got no newer version.
void need_first_write(Transaction& transaction) {
  auto& recorder = core::TransactionRecorder::of(transaction);
  const StatementList& list = recorder.statements();
  if (!recorder.awaits_write() || std::none_of(list.begin(), list.end(), writes)) return;
  throw StatementRefused({ErrorKind::kRejected, "",
                          "the handler writes, but not to the table that version.current reads",
                          "raise the version in the same table"});
}

Context with_guard(Context context) {
  auto* const handler = std::get_if<TransactionalHandler>(&context.handler);
  if (!context.row_guard || handler == nullptr) return context;
  context.handler =
      TransactionalHandler([guard = std::move(context.row_guard), work = std::move(*handler)](
                               const Message& message, Transaction& transaction) {
        guard(message, transaction);
        Verdict verdict = work(message, transaction);
        if (verdict.kind() == Verdict::Kind::kDone) need_first_write(transaction);
        return verdict;
      });
  return context;
}

// A guard only records statements, so it never queries.
struct NoQueries final : core::TransactionRecorder::Queries {
  Rows query(const RecordedStatement&, StatementList&) override { throw BatchBroken{}; }
};

class OptimisticLock final : public Strategy {
 public:
  explicit OptimisticLock(Context context)
      : guard_(context.row_guard),
        context_(with_guard(std::move(context))),
        versions_(*context_.environment->clock, context_.retry.first, context_.retry.longest),
        pipeline_(context_, PipelineOptions{.versions = &versions_}) {}

  void process(std::span<core::TrackedDelivery> batch, OutcomeSink& sink) noexcept override {
    std::vector<Item> items;
    items.reserve(batch.size());
    for (core::TrackedDelivery& delivery : batch) {
      items.push_back({&delivery, version_of(delivery.message)});
    }
    sort_by_version(items, [](const Item& item) -> const RowVersion* {
      return item.version ? &*item.version : nullptr;
    });
    std::vector<VersionedMessage> messages;
    for (const Item& item : items) {
      if (!item.version) continue;
      messages.push_back({item.delivery->message.key().id, *item.version});
    }
    const auto asked = context_.environment->clock->now();
    sink.waits(true);
    const RowVersions::Turn turn = versions_.take_turn(messages);
    sink.waits(false);
    sink.waited(context_.environment->clock->now() - asked);
    NotingSink noting(versions_, context_.services.recaller, sink);
    const std::vector<core::TrackedDelivery*> deliveries = without_early(items, noting);
    ClaimFirst policy;
    pipeline_.run(deliveries, policy, noting);
  }

 private:
  struct Item {
    core::TrackedDelivery* delivery;
    std::optional<RowVersion> version;
  };
  class NotingSink final : public OutcomeSink {
   public:
    // `recaller` may be null: then no message is kept for a recall.
    NotingSink(RowVersions& versions, Recaller* recaller, OutcomeSink& sink)
        : versions_(versions), recaller_(recaller), sink_(sink) {}
    void ended(core::TrackedDelivery& delivery, Outcome outcome) noexcept override {
      const auto waited_for = versions_.ended(delivery.message.key().id, outcome);
      sink_.ended(delivery, std::move(outcome));
      if (waited_for) recaller_->recall(name_of(*waited_for));
    }
    void waits(bool now) noexcept override { sink_.waits(now); }
    void waited(std::optional<std::chrono::nanoseconds> time) noexcept override {
      sink_.waited(time);
    }

   private:
    RowVersions& versions_;
    Recaller* const recaller_;
    OutcomeSink& sink_;
  };

  // If two rows get the same number, a wait ends too soon, which is harmless.
  static std::uint64_t name_of(const LockName& row) {
    std::uint64_t name = 0;
    std::memcpy(&name, row.bytes.data(), sizeof name);
    return name;
  }

  // Ends messages that are expected to be early, because a transaction that only finds that out
  // costs as much as one that does some work. Returns the others. Messages behind one that is not
  // early stay with it.
  std::vector<core::TrackedDelivery*> without_early(const std::vector<Item>& items,
                                                    OutcomeSink& sink) {
    std::vector<core::TrackedDelivery*> rest;
    std::vector<std::pair<const Item*, std::chrono::milliseconds>> early;
    std::set<LockName> going_on;
    for (const Item& item : items) {
      if (may_wait(item) && !going_on.contains(item.version->row)) {
        const KeyId& key = item.delivery->message.key().id;
        if (const auto wait = versions_.foresee(key)) {
          early.emplace_back(&item, *wait);
          continue;
        }
        if (!versions_.is_behind(key)) going_on.insert(item.version->row);
      }
      rest.push_back(item.delivery);
    }
    for (const auto& [item, wait] : early) {
      item->delivery->waits_for = name_of(item->version->row);
      sink.ended(*item->delivery, early_for(wait));
    }
    return rest;
  }

  // False if the end of this delivery has other consequences, such as for a crash count or the
  // consumer's gate: then it is tried. A message in an ordering group would delay later ones.
  bool may_wait(const Item& item) const {
    const Arrival& arrival = item.delivery->arrival;
    return context_.services.recaller != nullptr && item.version && arrival.row && !arrival.line &&
           !arrival.suspect && item.delivery->trial == 0;
  }

  static Outcome early_for(std::chrono::milliseconds wait) {
    Outcome outcome = kept_by_engine();
    outcome.reason = reason::kVersionEarly;
    outcome.error = "the row is known to have an older version yet";
    outcome.delay = wait;
    return outcome;
  }

  // nullopt if the handler will refuse the message, with a reason.
  std::optional<RowVersion> version_of(const Message& message) const noexcept {
    try {
      NoQueries none;
      core::TransactionRecorder recorder(none);
      Transaction transaction(recorder, Attempt{});
      guard_(message, transaction);
      const StatementList& list = recorder.statements();
      return list.empty() ? std::nullopt : list.front().version;
    } catch (...) {
      return std::nullopt;
    }
  }

  const std::function<void(const Message&, Transaction&)> guard_;
  const Context context_;
  RowVersions versions_;
  Pipeline pipeline_;
};

}  // namespace

std::unique_ptr<Strategy> make_pessimistic_lock(Context context) {
  return make_dedup_table(with_guard(std::move(context)));
}

std::unique_ptr<Strategy> make_optimistic_lock(Context context) {
  const bool guarded =
      context.row_guard != nullptr && std::holds_alternative<TransactionalHandler>(context.handler);
  if (!guarded) return make_dedup_table(std::move(context));
  return std::make_unique<OptimisticLock>(std::move(context));
}

}  // namespace semel::strategies
