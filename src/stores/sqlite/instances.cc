#include "stores/sqlite/instances.h"

#include <fmt/format.h>
#include <unistd.h>

namespace semel::sqlite {

std::int64_t Instances::number() {
  if (const std::int64_t known = known_number(); known != 0) return known;
  const system::MutexLock lock(mutex_);
  if (const std::int64_t known = known_number(); known != 0) return known;
  WriteTransaction transaction(writer_, Sync::kPowerLoss, patience_);
  transaction.tables().meta.raise_epoch();
  const std::int64_t number = transaction.tables().runs.add_instance(::getpid(), transaction.now());
  // Locked before anyone can read the number: who reads it meets the lock.
  if (!file_.try_lock(lock_byte::kInstances + number)) {
    fail({ErrorKind::kUnavailable, "R201",
          fmt::format("{}: the lock of a new instance is taken", file_.path()),
          "stop all processes that use this database, then delete that file"});
  }
  try {
    transaction.commit();
  } catch (...) {
    file_.unlock(lock_byte::kInstances + number);
    throw;
  }
  number_.store(number, std::memory_order_release);
  return number;
}

bool Instances::alive(std::int64_t instance) const {
  return instance == known_number() || file_.locked_elsewhere(lock_byte::kInstances + instance);
}

bool Instances::sweep() {
  std::vector<std::int64_t> dead;
  const auto rows =
      reader_.glance([](Tables& tables, Connection&) { return tables.runs.instances(); });
  for (const InstanceRow& row : rows) {
    if (!alive(row.number)) dead.push_back(row.number);
  }
  if (dead.empty()) return false;
  WriteTransaction transaction(writer_, Sync::kProcessCrash, patience_);
  Tables& tables = transaction.tables();
  const StoreTime now = transaction.now();
  std::int64_t freed = 0;
  for (const std::int64_t instance : dead) {
    freed += tables.live.end_leases(instance, now);
    freed += tables.held.show_again(instance, now);
    freed += tables.runs.mark_died(instance);
    tables.runs.remove_instance(instance);
  }
  transaction.commit();
  return freed > 0;
}

}  // namespace semel::sqlite
