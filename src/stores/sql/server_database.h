// ServerDatabase: the sessions of a pool as a Database.
#pragma once

#include "stores/sql/database.h"
#include "stores/sql/store_context.h"

namespace semel::sql {

class ServerDatabase final : public Database {
 public:
  // All of it outlives the database.
  explicit ServerDatabase(const StoreContext& context) : context_(context) {}

  std::int64_t instance() override { return context_.instances.number(); }

 protected:
  void run_glance(const Job& job) override;
  void run_look(const Job& job) override;
  void run_change(Sync sync, const Job& job) override;
  void run_transaction(Sync sync, const TransactionJob& job) override;

 private:
  const StoreContext context_;
};

}  // namespace semel::sql
