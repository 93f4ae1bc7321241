// FileDatabase: the connections of an opened file as a sql::Database.
#pragma once

#include "stores/sql/database.h"
#include "stores/sqlite/store_context.h"

namespace semel::sqlite {

class FileDatabase final : public sql::Database {
 public:
  // `core` outlives the database.
  explicit FileDatabase(StoreContext& context) noexcept : context_(context) {}

  std::int64_t instance() override { return context_.instances.number(); }
  bool locks_all() const noexcept override { return true; }

 protected:
  void run_glance(const Job& job) override;
  void run_look(const Job& job) override;
  void run_change(Sync sync, const Job& job) override;
  void run_transaction(Sync sync, const TransactionJob& job) override;

 private:
  StoreContext& context_;
};

}  // namespace semel::sqlite
