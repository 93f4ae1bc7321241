#include "stores/sqlite/instances.h"

#include <fmt/format.h>
#include <unistd.h>

namespace semel::sqlite {

Instances::Instances(const std::string& side_file, Writer& writer,
                     std::chrono::milliseconds patience)
    : all_(Dialect(), "SELECT number FROM semel_instance ORDER BY number"),
      file_(side_file),
      writer_(writer),
      add_(writer.connection(), "INSERT INTO semel_instance (pid, started_at) VALUES (?1, ?2)"),
      patience_(patience) {}

std::int64_t Instances::number() {
  if (const std::int64_t known = known_number(); known != 0) return known;
  WriteTransaction transaction(writer_, Sync::kPowerLoss, patience_);
  // Another thread may have registered it meanwhile.
  if (const std::int64_t known = known_number(); known != 0) return known;
  transaction.tables().meta.raise_epoch();
  const std::int64_t number = add_.bind(1, ::getpid()).bind(2, transaction.now()).insert();
  // Locked before any process can read the number: one that reads it finds the lock.
  if (!file_.try_lock(lock_byte::kInstances + number)) {
    fail({ErrorKind::kUnavailable, "R201",
          fmt::format("{}: the lock of a new instance is taken", file_.path()),
          "stop all processes that use this database, then delete that file"});
  }
  locked_.store(number, std::memory_order_release);
  try {
    transaction.commit([&] { number_.store(number, std::memory_order_release); });
  } catch (...) {
    locked_.store(0, std::memory_order_release);
    file_.unlock(lock_byte::kInstances + number);
    throw;
  }
  return number;
}

std::vector<std::int64_t> Instances::gone(Connection& connection) const {
  std::vector<std::int64_t> numbers;
  sql::Answer answer = connection.ask(all_, {});
  while (answer.next()) {
    if (is_gone(answer.integer(0))) numbers.push_back(answer.integer(0));
  }
  return numbers;
}

bool Instances::is_gone(std::int64_t number) const {
  return number != locked_.load(std::memory_order_acquire) &&
         !file_.locked_elsewhere(lock_byte::kInstances + number) && file_.in_place();
}

}  // namespace semel::sqlite
