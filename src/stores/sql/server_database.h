// ServerDatabase: the sessions of a pool as a Database.
#pragma once

#include "stores/sql/core.h"
#include "stores/sql/database.h"

namespace semel::sql {

class ServerDatabase final : public Database {
 public:
  // All of it outlives the database.
  explicit ServerDatabase(const Core& core) : core_(core) {}

  std::int64_t instance() override { return core_.instances.number(); }

 protected:
  void run_glance(const Job& job) override;
  void run_look(const Job& job) override;
  void run_change(Sync sync, const Job& job) override;
  void run_transaction(Sync sync, const TransactionJob& job) override;

 private:
  const Core core_;
};

}  // namespace semel::sql
