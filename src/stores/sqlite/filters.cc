#include "stores/sqlite/filters.h"

#include <fmt/format.h>

#include "stores/sqlite/generation.h"

namespace semel::sqlite {
namespace {

// How often a long scan checks whether it should stop.
constexpr std::size_t kAskEvery = 4096;

// Null where the generation is not sealed, or gone, or the scan was stopped.
std::shared_ptr<const IdFilter> filter_of(Connection& connection, std::int64_t number,
                                          const std::function<bool()>& stopped) {
  // One state of the file: a generation that is sealed in it is scanned in it.
  connection.execute("BEGIN");
  struct End {
    Connection& connection;
    ~End() { connection.roll_back(); }
  } const end{connection};
  {
    Prepared sealed(connection,
                    "SELECT 1 FROM semel_generation WHERE number = ?1 AND state = 'sealed'");
    sealed.bind(1, number);
    const Reading reading(sealed);
    if (!sealed.next()) return nullptr;
  }
  const std::string count_sql = fmt::format("SELECT count(*) FROM {}", table_of(number));
  Prepared count(connection, count_sql.c_str());
  std::size_t rows = 0;
  while (count.next()) rows = static_cast<std::size_t>(count.integer(0));
  auto filter = std::make_shared<IdFilter>(rows);
  const std::string scan_sql = fmt::format("SELECT id FROM {}", table_of(number));
  Prepared scan(connection, scan_sql.c_str());
  const Reading reading(scan);
  for (std::size_t seen = 0; scan.next(); ++seen) {
    if (seen % kAskEvery == 0 && stopped()) return nullptr;
    filter->add(scan.key_id(0));
  }
  return filter;
}

}  // namespace

void Filters::want(std::int64_t generation) {
  const system::MutexLock lock(mutex_);
  if (!rang_ || built_.contains(generation) || !wanted_.insert(generation).second) return;
  rang_();
}

void Filters::on_wanted(std::function<void()> rang) {
  const system::MutexLock lock(mutex_);
  rang_ = std::move(rang);
}

void Filters::keep_only(const std::set<std::int64_t>& generations) {
  const system::MutexLock lock(mutex_);
  std::erase_if(built_, [&](const auto& built) { return !generations.contains(built.first); });
  std::erase_if(wanted_, [&](std::int64_t wanted) { return !generations.contains(wanted); });
}

std::shared_ptr<const IdFilter> Filters::find(std::int64_t generation) const {
  const system::MutexLock lock(mutex_);
  const auto found = built_.find(generation);
  return found == built_.end() ? nullptr : found->second;
}

void Filters::build(Connection& connection, const std::function<bool()>& stopped) {
  for (;;) {
    std::int64_t number = 0;
    {
      const system::MutexLock lock(mutex_);
      if (wanted_.empty()) return;
      // The newest first: it is used most.
      number = *wanted_.rbegin();
      wanted_.erase(number);
    }
    auto filter = filter_of(connection, number, stopped);
    if (stopped()) return;
    if (filter == nullptr) continue;
    const system::MutexLock lock(mutex_);
    built_[number] = std::move(filter);
    version_.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace semel::sqlite
