#include "stores/sqlite/file_database.h"

namespace semel::sqlite {
namespace {

class FileAccess final : public sql::Access {
 public:
  FileAccess(Tables& tables, StoreClock& clock) : tables_(tables), clock_(clock) {}

  sql::SharedTables& tables() noexcept override { return tables_; }
  StoreTime now() override { return clock_.now(); }

 private:
  Tables& tables_;
  StoreClock& clock_;
};

}  // namespace

void FileDatabase::run_look(const Job& job) {
  core_.reader.glance([&](Tables& tables, Connection&) {
    FileAccess access(tables, core_.clock);
    job(access);
  });
}

void FileDatabase::run_change(Sync sync, const Job& job) { run_transaction(sync, job); }

void FileDatabase::run_transaction(Sync sync, const Job& job) {
  WriteTransaction transaction(core_.writer, sync, core_.options.busy);
  FileAccess access(transaction.tables(), core_.clock);
  job(access);
  transaction.commit();
}

}  // namespace semel::sqlite
