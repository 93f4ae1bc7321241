#include "stores/sql/server_database.h"

#include "stores/sql/transacted.h"

namespace semel::sql {
namespace {

// `Clock` is the session, or the transaction, which reads the server's clock once.
template <class Clock>
class ServerAccess final : public Access {
 public:
  ServerAccess(const Core& core, Session& session, Clock& clock)
      : tables_(core.tables(session)), clock_(clock) {}

  SharedTables& tables() noexcept override { return tables_; }
  StoreTime now() override { return clock_.now(); }

 private:
  Tables tables_;
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
