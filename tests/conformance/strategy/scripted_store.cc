#include "tests/conformance/strategy/scripted_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace semel::strategies {

namespace {

Applied apply(ScriptedState& state, const Finish& finish, StoreTime now) {
  if (finish.lease) {
    const auto at = state.records.find(finish.lease->key);
    if (at == state.records.end()) return Applied::kLeaseLost;
    if (spi::decide_finish(at->second, finish, now) == Applied::kLeaseLost) {
      return Applied::kLeaseLost;
    }
    const bool waits = finish.to == Finish::To::kRetrying || finish.to == Finish::To::kParked;
    if (waits) at->second->held = finish.keep != nullptr;
  }
  if (finish.lease) {
    StepJournal& journal = state.steps[finish.lease->key];
    if (finish.giving_up) journal.giving_up = finish.giving_up;
    if (finish.to == Finish::To::kDead) journal.giving_up.reset();
    if (finish.to == Finish::To::kCompleted) journal = {};
  }
  if (finish.to == Finish::To::kNotStarted) return Applied::kYes;
  if (finish.ack) state.rows.erase(static_cast<std::int64_t>(*finish.ack));
  if (finish.keep == nullptr) return Applied::kYes;
  const ScriptedState::Kept kept{finish.keep->key().text, finish.reason, finish.error,
                                 finish.attempts, Bytes(finish.keep->payload())};
  if (finish.to == Finish::To::kRetrying) state.held.push_back(kept);
  if (finish.to == Finish::To::kDead) state.dead_letters.push_back(kept);
  if (finish.inbox) state.inbox.push_back(kept.key);
  return Applied::kYes;
}

std::optional<Error> too_large(const ScriptedStore& store, std::span<const Finish> batch) {
  for (const Finish& finish : batch) {
    if (finish.keep == nullptr || finish.keep->payload().size() <= store.largest) continue;
    return Error{ErrorKind::kLimit, "R200", "more than the store takes", {}};
  }
  return std::nullopt;
}

Error sql_error(std::string what) { return {ErrorKind::kRejected, {}, std::move(what), {}}; }

class ScriptedUnit final : public UnitOfWork {
 public:
  ScriptedUnit(ScriptedStore& store, const UnitOptions& options)
      : store_(store), options_(options), staged_(store.state) {}

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    EXPECT_FALSE(entered_) << "claimed twice, or late";
    entered_ = true;
    store_.claimed_count.push_back(messages.size());
    std::vector<Claim> answers;
    for (const Message* message : messages) {
      if (!store_.refuse_key.empty() && message->key().text == store_.refuse_key) {
        return failure({ErrorKind::kRejected, {}, "a key that is refused", {}});
      }
      spi::ClaimRequest request;
      request.key = message->key().id;
      request.fingerprint = message->fingerprint();
      answers.push_back(spi::decide_claim(staged_.records[request.key], request, store_.now));
      if (std::holds_alternative<Acquired>(answers.back())) open_.insert(request.key);
    }
    return answers;
  }

  Result<std::vector<Applied>> confirm(std::span<const Lease> leases) override {
    EXPECT_FALSE(entered_) << "confirmed twice, or late";
    entered_ = true;
    std::vector<Applied> answers;
    for (const Lease& lease : leases) {
      auto& record = staged_.records[lease.key];
      const bool ours =
          record && record->state == RecordState::kConsuming && record->nonce == lease.nonce;
      answers.push_back(ours ? Applied::kYes : Applied::kLeaseLost);
      if (ours) open_.insert(lease.key);
    }
    return answers;
  }

  void run(std::size_t message, const StatementList& statements) override {
    EXPECT_TRUE(entered_);
    EXPECT_FALSE(gone_) << "statements for a transaction that is gone";
    pending_.emplace_back(message, &statements);
  }

  Result<Rows> query(std::size_t message, const RecordedStatement& statement) override {
    EXPECT_TRUE(entered_);
    run_pending();
    if (!report_.failed.empty()) {
      return failure({ErrorKind::kRetryTransaction, {}, "the batch is poisoned", {}});
    }
    newest_ = message;
    if (statement.statement->sql.find("broken") != std::string::npos) {
      return failure({ErrorKind::kRejected, "handler.sql.syntax", "no such column: broken", {}});
    }
    if (waits_in_vain(statement)) {
      Error error = blocked();
      if (options_.names_blocked) error.code = kQueryBlocked;
      gone_ = true;
      return failure(std::move(error));
    }
    std::int64_t count = 0;
    for (const auto& [name, times] : staged_.effects) count += times;
    for (const auto& [name, done] : done_) count += static_cast<std::int64_t>(done.size());
    return Rows{{"effects"}, {{Value(count)}}};
  }

  Result<FlushReport> flush() override {
    run_pending();
    if (lethal_) return failure(store_.lethal);
    if (blocked_) return failure(blocked());
    gone_ = gone_ || report_.all_undone;
    return std::exchange(report_, {});
  }

  Result<void> undo(std::size_t message) override {
    EXPECT_FALSE(gone_);
    EXPECT_LE(newest_.value_or(message), message) << "only the newest can be undone";
    done_[message].clear();
    return {};
  }

  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    EXPECT_TRUE(pending_.empty()) << "finished without a flush";
    EXPECT_FALSE(finished_ || gone_);
    finished_ = true;
    if (auto refused = too_large(store_, batch)) return failure(*std::move(refused));
    std::vector<Applied> answers;
    for (const Finish& finish : batch) {
      answers.push_back(apply(staged_, finish, store_.now));
      if (finish.lease) open_.erase(finish.lease->key);
    }
    return answers;
  }

  Result<void> commit() override {
    EXPECT_TRUE(entered_ && !gone_);
    EXPECT_TRUE(open_.empty()) << "a claim was left open";
    if (deferred_) return failure(sql_error("a constraint that was deferred"));
    for (const auto& [message, names] : done_) {
      for (const std::string& name : names) ++staged_.effects[name];
    }
    store_.state = std::move(staged_);
    return {};
  }

 private:
  void run_pending() {
    for (const auto& [message, list] : std::exchange(pending_, {})) {
      if (report_.all_undone || blocked_) return;
      run_list(message, *list);
    }
  }

  void run_list(std::size_t message, const StatementList& list) {
    for (const RecordedStatement& one : list) {
      const std::string& sql = one.statement->sql;
      if (sql.find("INTO effect") != std::string::npos) {
        done_[message].push_back(std::get<std::string>(one.values.at(0)));
        staged_.made.push_back(done_[message].back());
      } else if (sql.find("nothing") != std::string::npos && one.expect_rows) {
        return miss(message, one.otherwise);
      } else if (sql.find("taken") != std::string::npos) {
        if (one.unique_rules) return miss(message, one.unique_rules->front().otherwise);
        return fail(message, "UNIQUE constraint failed: taken.id");
      } else if (sql.find("broken") != std::string::npos) {
        return fail(message, "CHECK constraint failed: broken");
      } else if (sql.find("missing") != std::string::npos) {
        return fail(message, "no such column", Remedy::kStatement);
      } else if (waits_in_vain(one)) {
        return block(message, one);
      } else if (sql.find("lethal") != std::string::npos) {
        lethal_ = true;
        return;
      } else if (sql.find("deferred") != std::string::npos) {
        deferred_ = !options_.check_deferred;
        if (deferred_) continue;
        if (one.unique_rules) return miss(message, one.unique_rules->front().otherwise);
        return fail(message, "a constraint that was deferred");
      }
    }
  }
  bool waits_in_vain(const RecordedStatement& one) {
    if (one.statement->sql.find("locked") == std::string::npos) return false;
    const bool waits = store_.locked.contains(std::get<std::string>(one.values.back()));
    if (waits) ++store_.waits;
    return waits;
  }
  static Error blocked() { return {ErrorKind::kBlocked, {}, "the row is locked", {}}; }
  void block(std::size_t message, const RecordedStatement& one) {
    blocked_ = !options_.names_blocked;
    if (blocked_) return;
    done_[message].clear();
    report_.failed.push_back({message, "busy", blocked(), one});
    report_.all_undone = true;
  }
  void miss(std::size_t message, const Otherwise& otherwise) {
    done_[message].clear();
    report_.missed.push_back({message, otherwise});
  }
  void fail(std::size_t message, std::string what, Remedy remedy = Remedy::kTime) {
    done_[message].clear();
    Error error = sql_error(std::move(what));
    error.remedy = remedy;
    report_.failed.push_back({message, "constraint", std::move(error)});
    report_.all_undone = store_.always_undoes_all ||
                         (store_.sparse_undoes_all && options_.savepoints == Savepoints::kSparse);
  }

  ScriptedStore& store_;
  const UnitOptions options_;
  ScriptedState staged_;
  std::vector<std::pair<std::size_t, const StatementList*>> pending_;
  std::map<std::size_t, std::vector<std::string>> done_;
  std::set<KeyId> open_;
  std::optional<std::size_t> newest_;
  FlushReport report_;
  bool entered_ = false;
  bool finished_ = false;
  bool gone_ = false;
  bool lethal_ = false;
  bool blocked_ = false;   // by a row that is locked
  bool deferred_ = false;  // something that the commit refuses
};

}  // namespace

StoreFacets ScriptedStore::facets() noexcept {
  StoreFacets facets;
  if (has_transactions) facets.transactional = this;
  facets.steps = this;
  facets.runs = runs;
  return facets;
}

Result<Applied> ScriptedStore::keep(const Lease& lease, const StepEntry& entry) {
  if (journal_error) return failure(*journal_error);
  const auto& record = state.records[lease.key];
  if (!record || record->state != RecordState::kConsuming || record->nonce != lease.nonce) {
    return Applied::kLeaseLost;
  }
  auto& entries = state.steps[lease.key].entries;
  std::erase_if(entries,
                [&](const StepEntry& one) { return one.name == entry.name && one.id == entry.id; });
  entries.push_back(entry);
  return Applied::kYes;
}

Result<bool> ScriptedStore::give_up(const KeyId& record, const GivingUp& note) {
  auto& at = state.records[record];
  if (!at || !spi::decide_unlock(*at, now)) return false;
  state.steps[record].giving_up = note;
  return true;
}

Result<std::unique_ptr<UnitOfWork>> ScriptedStore::begin(const UnitOptions& options) {
  begun.push_back(options.savepoints);
  return std::make_unique<ScriptedUnit>(*this, options);
}

Result<std::vector<Claim>> ScriptedStore::claim(std::span<const Message* const> messages,
                                                const ClaimOptions& options) {
  claimed_count.push_back(messages.size());
  for (const Message* message : messages) {
    if (!refuse_key.empty() && message->key().text == refuse_key) {
      return failure({ErrorKind::kLimit, {}, "no room for this one", {}});
    }
  }
  std::vector<Claim> answers;
  for (const Message* message : messages) {
    spi::ClaimRequest request;
    request.key = message->key().id;
    request.fingerprint = message->fingerprint();
    request.token = Token{++next_nonce_};
    std::memcpy(request.nonce.bytes.data(), &next_nonce_, sizeof next_nonce_);
    request.lease = options.lease;
    answers.push_back(spi::decide_claim(state.records[request.key], request, now));
  }
  return answers;
}

Result<std::vector<Applied>> ScriptedStore::renew(std::span<const Lease> leases,
                                                  std::chrono::milliseconds lease) {
  std::vector<Applied> answers;
  for (const Lease& one : leases) {
    auto& record = state.records[one.key];
    const bool ours = record && spi::decide_renew(*record, one.nonce, lease, now);
    answers.push_back(ours ? Applied::kYes : Applied::kLeaseLost);
  }
  return answers;
}

Result<std::vector<Applied>> ScriptedStore::finish(std::span<const Finish> batch) {
  if (auto refused = too_large(*this, batch)) return failure(*std::move(refused));
  std::vector<Applied> answers;
  for (const Finish& finish : batch) answers.push_back(apply(state, finish, now));
  return answers;
}

}  // namespace semel::strategies
