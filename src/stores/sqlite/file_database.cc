#include "stores/sqlite/file_database.h"

#include <utility>

#include "stores/sql/operator.h"

namespace semel::sqlite {
namespace {

class FileLooks final : public sql::RecordLooks {
 public:
  explicit FileLooks(Tables& tables) : tables_(tables) {}

  std::optional<RecordView> show(const KeyId& record) override {
    if (auto live = tables_.live.find(record)) return sql::view_of_row(record, *std::move(live));
    if (tables_.generations.having(record) == nullptr) return std::nullopt;
    const Finished found = tables_.generations.found();
    RecordView view;
    view.consumer = record.consumer();
    view.id = record;
    view.state = RecordState::kCompleted;
    view.fingerprint = found.fingerprint;
    view.completed_at = found.completed_at;
    view.result = tables_.result_of(found);
    return view;
  }
  std::vector<RecordView> list(std::optional<ConsumerNumber> consumer,
                               std::optional<RecordState> state, std::size_t limit) override {
    std::vector<RecordView> views;
    for (auto& [id, row] : tables_.live.list(consumer, state, limit)) {
      views.push_back(sql::view_of_row(id, std::move(row)));
    }
    return views;
  }
  std::vector<sql::RecordCount> counts(StoreTime now) override { return tables_.live.counts(now); }
  Held held(ConsumerNumber consumer) override {
    const HeldRows::Backlog backlog = tables_.held.backlog(consumer);
    return {backlog.rows, backlog.oldest, backlog.newest};
  }

 private:
  Tables& tables_;
};

class FileRecords final : public sql::Records {
 public:
  explicit FileRecords(Tables& tables) : tables_(tables) {}

  std::optional<Known> find(const KeyId& record) override {
    Known known;
    if (tables_.generations.having(record) != nullptr) {
      known.record.state = RecordState::kCompleted;
      known.record.fingerprint = tables_.generations.found().fingerprint;
      return known;
    }
    auto live = tables_.live.find(record);
    if (!live) return std::nullopt;
    known.record = std::move(live->record);
    known.held = live->held.has_value();
    return known;
  }
  std::unordered_set<KeyId> completed(std::span<const KeyId> records) override {
    std::unordered_set<KeyId> completed;
    for (const KeyId& record : records) {
      if (tables_.generations.having(record) != nullptr) completed.insert(record);
    }
    return completed;
  }
  bool reopen(const KeyId& record, StoreTime now) override {
    return sql::reopen_record(tables_, record, now);
  }
  std::optional<Lease> seize(const KeyId& record, const Nonce& nonce,
                             std::chrono::milliseconds lease, StoreTime now) override {
    return sql::seize_record(tables_, record, nonce, lease, now);
  }
  bool forget(const KeyId& record, StoreTime now) override {
    bool there = false;
    if (const auto live = tables_.live.find(record)) {
      sql::check_forget(live->record, now);
      tables_.live.erase(record);
      if (live->steps) tables_.steps.forget(record);
      if (live->held) tables_.held.remove(RowTag{*live->held});
      tables_.forget_details(std::nullopt, live->inbox);
      there = true;
    }
    while (Generation* const generation = tables_.generations.having(record)) {
      const Finished found = tables_.generations.found();
      tables_.forget_details(found.result, found.inbox);
      generation->erase(record);
      there = true;
    }
    return there;
  }
  void note_steps(const KeyId& record) override { tables_.live.note_steps(record); }
  void set_fingerprint(const KeyId& record, const Fingerprint& fingerprint,
                       StoreTime now) override {
    auto live = tables_.live.find(record);
    live->record.fingerprint = fingerprint;
    tables_.live.save(record, *live, now);
  }
  void hold(const HeldContent& content, StoreTime now) override { tables_.held.add(content, now); }
  std::size_t free_from(std::int64_t instance, StoreTime now) override {
    const auto leases = tables_.live.end_leases(instance, now);
    return static_cast<std::size_t>(leases + tables_.held.show_again(instance, now));
  }
  // The writer has the whole file locked.
  void lock_letters(std::span<const std::int64_t>) override {}
  void lock_adding() override {}

 private:
  Tables& tables_;
};

class FileAccess final : public sql::TransactionAccess {
 public:
  FileAccess(StoreContext& context, Tables& tables, Connection& connection)
      : context_(context),
        tables_(tables),
        connection_(connection),
        looks_(tables),
        records_(tables) {}

  sql::Statements& statements() noexcept override { return connection_; }
  sql::SharedTables& tables() noexcept override { return tables_; }
  sql::RecordLooks& looks() noexcept override { return looks_; }
  sql::Records& records() noexcept override { return records_; }
  StoreTime now() override { return context_.clock.now(); }
  std::vector<std::int64_t> gone() override { return context_.instances.gone(connection_); }
  bool is_gone(std::int64_t instance) override { return context_.instances.is_gone(instance); }

 private:
  StoreContext& context_;
  Tables& tables_;
  Connection& connection_;
  FileLooks looks_;
  FileRecords records_;
};

}  // namespace

void FileDatabase::run_glance(const Job& job) {
  context_.reader.glance([&](Tables& tables, Connection& connection) {
    FileAccess access(context_, tables, connection);
    job(access);
  });
}

void FileDatabase::run_look(const Job& job) {
  context_.reader.look([&](Tables& tables, Connection& connection) {
    FileAccess access(context_, tables, connection);
    job(access);
  });
}

void FileDatabase::run_change(Sync sync, const Job& job) { run_transaction(sync, job); }

void FileDatabase::run_transaction(Sync sync, const TransactionJob& job) {
  WriteTransaction transaction(context_.writer, sync, context_.options.busy);
  FileAccess access(context_, transaction.tables(), context_.writer.connection());
  job(access);
  transaction.commit();
}

}  // namespace semel::sqlite
