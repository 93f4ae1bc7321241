#include "stores/sql/server_database.h"

#include <algorithm>

#include "stores/sql/operator.h"
#include "stores/sql/transacted.h"

namespace semel::sql {
namespace {

class ServerLooks final : public RecordLooks {
 public:
  explicit ServerLooks(Tables& tables) : tables_(tables) {}

  std::optional<RecordView> show(const KeyId& record) override {
    auto row = tables_.records.find(record, Lock::kNone);
    if (!row) return std::nullopt;
    const auto inbox = row->inbox;
    RecordView view = view_of_row(record, *std::move(row));
    const bool completed = view.state == RecordState::kCompleted;
    if (completed && inbox && view.result.empty()) view.result = tables_.inbox.result_of(*inbox);
    return view;
  }
  std::vector<RecordView> list(std::optional<ConsumerNumber> consumer,
                               std::optional<RecordState> state, std::size_t limit) override {
    std::vector<RecordView> views;
    for (auto& [id, row] : tables_.records.list(consumer, state, limit)) {
      views.push_back(view_of_row(id, std::move(row)));
    }
    return views;
  }
  std::vector<RecordCount> counts(StoreTime now) override { return tables_.records.counts(now); }
  Held held(ConsumerNumber consumer) override {
    const HeldRows::Backlog backlog = tables_.held.backlog(consumer);
    return {backlog.rows, backlog.oldest, backlog.newest};
  }

 private:
  Tables& tables_;
};

class ServerRecords final : public Records {
 public:
  explicit ServerRecords(Tables& tables) : tables_(tables) {}

  std::optional<Known> find(const KeyId& record) override {
    auto row = tables_.records.find(record, Lock::kForUpdate);
    if (!row) return std::nullopt;
    return Known{std::move(row->record), row->held.has_value()};
  }
  std::unordered_set<KeyId> completed(std::span<const KeyId> records) override {
    return tables_.records.completed(records);
  }
  bool reopen(const KeyId& record, StoreTime now) override {
    return reopen_record(tables_, record, now);
  }
  std::optional<Lease> seize(const KeyId& record, const Nonce& nonce,
                             std::chrono::milliseconds lease, StoreTime now) override {
    return seize_record(tables_, record, nonce, lease, now);
  }
  bool forget(const KeyId& record, StoreTime now) override {
    const auto row = tables_.records.find(record, Lock::kForUpdate);
    if (!row) return false;
    check_forget(row->record, now);
    if (row->held) tables_.held.take_out(RowTag{*row->held});
    tables_.records.erase(record);
    tables_.steps.forget(record);
    if (row->inbox) tables_.inbox.remove(*row->inbox);
    return true;
  }
  // The rows of the steps show it.
  void note_steps(const KeyId&) override {}
  void set_fingerprint(const KeyId& record, const Fingerprint& fingerprint,
                       StoreTime now) override {
    auto row = tables_.records.find(record, Lock::kForUpdate);
    row->record.fingerprint = fingerprint;
    tables_.records.save(record, *row, now);
  }
  void hold(const HeldContent& content, StoreTime now) override { tables_.held.add(content, now); }
  std::size_t free_from(std::int64_t instance, StoreTime now) override {
    const auto leases = tables_.records.end_leases(instance, now);
    return leases + static_cast<std::size_t>(tables_.held.show_again(instance, now));
  }
  // Locks also what is held for them, all before the letters, in the order of stores/sql/lock.h.
  void lock_letters(std::span<const std::int64_t> letters) override {
    std::vector<KeyId> records;
    for (const std::int64_t letter : letters) {
      if (const auto record = tables_.dead_letters.record_of(letter)) records.push_back(*record);
    }
    std::ranges::sort(records);
    records.erase(std::unique(records.begin(), records.end()), records.end());
    std::vector<RowTag> held;
    for (const KeyId& record : records) {
      const auto row = tables_.records.find(record, Lock::kForUpdate);
      if (row && row->held) held.push_back(RowTag{*row->held});
    }
    tables_.held.lock(held);
  }
  void lock_adding() override { tables_.dead_letters.lock_adding(); }

 private:
  Tables& tables_;
};

// `Clock` is the session, or the transaction, which reads the server's clock once.
template <class Clock>
class ServerAccess final : public TransactionAccess {
 public:
  ServerAccess(const StoreContext& context, Session& session, Clock& clock)
      : context_(context),
        session_(session),
        clock_(clock),
        tables_(context.tables(session)),
        looks_(tables_),
        records_(tables_) {}

  Statements& statements() noexcept override { return session_; }
  SharedTables& tables() noexcept override { return tables_; }
  RecordLooks& looks() noexcept override { return looks_; }
  Records& records() noexcept override { return records_; }
  StoreTime now() override { return clock_.now(); }
  std::vector<std::int64_t> gone() override { return context_.instances.gone(session_); }
  bool is_gone(std::int64_t instance) override {
    return context_.instances.is_gone(session_, instance);
  }

 private:
  const StoreContext& context_;
  Session& session_;
  Clock& clock_;
  Tables tables_;
  ServerLooks looks_;
  ServerRecords records_;
};

}  // namespace

void ServerDatabase::run_glance(const Job& job) {
  PooledSession lent(context_.pool);
  ServerAccess<Session> access(context_, *lent, *lent);
  job(access);
}

void ServerDatabase::run_look(const Job& job) { run_glance(job); }
void ServerDatabase::run_change(Sync, const Job& job) { run_glance(job); }

void ServerDatabase::run_transaction(Sync, const TransactionJob& job) {
  transacted(context_.pool, [&](ScopedTransaction& work) {
    ServerAccess<ScopedTransaction> access(context_, work.session(), work);
    job(access);
  });
}

}  // namespace semel::sql
