#include "stores/sql/server_database.h"

#include "stores/sql/operator.h"
#include "stores/sql/transacted.h"

namespace semel::sql {
namespace {

class ServerRecords final : public Records {
 public:
  explicit ServerRecords(Tables& tables) : tables_(tables) {}

  bool held_by(const Lease& lease) override {
    const auto row = tables_.records.find(lease.key, Lock::kForUpdate);
    return row && row->record.state == RecordState::kConsuming && row->record.nonce == lease.nonce;
  }
  bool reopen(const KeyId& record, StoreTime now) override {
    return reopen_record(tables_, record, now);
  }
  // The rows of the steps say so.
  void note_steps(const KeyId&) override {}

 private:
  Tables& tables_;
};

// `Clock` is the session, or the transaction, which reads the server's clock once.
template <class Clock>
class ServerAccess final : public Access {
 public:
  ServerAccess(const Core& core, Session& session, Clock& clock)
      : tables_(core.tables(session)), records_(tables_), clock_(clock) {}

  SharedTables& tables() noexcept override { return tables_; }
  Records& records() noexcept override { return records_; }
  StoreTime now() override { return clock_.now(); }

 private:
  Tables tables_;
  ServerRecords records_;
  Clock& clock_;
};

}  // namespace

void ServerDatabase::run_look(const Job& job) {
  Lent lent(core_.pool);
  ServerAccess<Session> access(core_, *lent, *lent);
  job(access);
}

void ServerDatabase::run_change(Sync, const Job& job) { run_look(job); }

void ServerDatabase::run_transaction(Sync, const Job& job) {
  transacted(core_.pool, [&](Work& work) {
    ServerAccess<Work> access(core_, work.session(), work);
    job(access);
  });
}

}  // namespace semel::sql
