#include "stores/sqlite/writer_queue.h"

#include <unistd.h>

namespace semel::sqlite {
namespace {

// A turn is a few milliseconds: a thread that sleeps longer than a fraction of it leaves the disk
// idle.
constexpr WaitBudget::Duration kShortest{20};
constexpr WaitBudget::Duration kLongest{400};

bool take(SideFile& file, std::int64_t byte, WaitBudget& patience) {
  while (!file.try_lock(byte)) {
    if (!patience.wait()) return false;
  }
  return true;
}

}  // namespace

bool WriterQueue::enter(WaitBudget::Duration& patience) {
  WaitBudget left(patience, kShortest, kLongest);
  if (!take(file_, lock_byte::kGate, left)) return false;
  left.fresh();
  bool entered = false;
  try {
    entered = take(file_, lock_byte::kMain, left);
  } catch (...) {
    file_.unlock(lock_byte::kGate);
    throw;
  }
  file_.unlock(lock_byte::kGate);
  patience = left.left();
  if (entered) file_.set_holder(::getpid());
  return entered;
}

void WriterQueue::leave() noexcept { file_.unlock(lock_byte::kMain); }

}  // namespace semel::sqlite
