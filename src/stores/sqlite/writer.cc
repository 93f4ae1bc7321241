#include "stores/sqlite/writer.h"

#include <sqlite3.h>
#include <unistd.h>

#include <utility>

#include "stores/sqlite/lock_holder.h"

namespace semel::sqlite {

using std::chrono::milliseconds;

Writer::Writer(const ConnectionOptions& options, std::size_t generation_rows,
               Environment& environment, StoreClock& clock)
    : environment_(environment),
      clock_(clock),
      connection_(options),
      writer_queue_(SideFile::path_for(options.path)),
      tables_(connection_, generation_rows),
      unit_claims_(tables_),
      lease_claims_(tables_, environment),
      finish_writer_(tables_),
      statements_(connection_),
      begin_(connection_, "BEGIN IMMEDIATE"),
      commit_(connection_, "COMMIT") {}

void Writer::on_commit(std::function<void(int)> told) {
  told_ = std::move(told);
  sqlite3_wal_hook(connection_.handle(), &Writer::wal_grew, this);
}

int Writer::wal_grew(void* self, sqlite3* /*connection*/, const char* /*database*/,
                     int pages) noexcept {
  static_cast<Writer*>(self)->told_(pages);
  return SQLITE_OK;
}

void Writer::take_turn(milliseconds patience) {
  WaitBudget::Duration left = patience;
  if (!lock_.lock(left)) fail(locked_error(connection_.path(), ::getpid()));
  bool entered = false;
  try {
    entered = writer_queue_.enter(left);
  } catch (...) {
    lock_.unlock();
    throw;
  }
  if (!entered) {
    const long holder = static_cast<long>(writer_queue_.holder());
    lock_.unlock();
    fail(locked_error(connection_.path(), holder > 0 ? std::optional(holder) : std::nullopt));
  }
  connection_.set_patience(std::chrono::duration_cast<milliseconds>(left));
}

void Writer::leave_turn() noexcept {
  writer_queue_.leave();
  lock_.unlock();
}

void Writer::blocked() const {
  fail(locked_error(connection_.path(), lock_holder(connection_.path())), SQLITE_BUSY);
}

WriteTransaction::WriteTransaction(Writer& writer, Sync sync, milliseconds patience)
    : writer_(writer) {
  writer_.take_turn(patience);
  try {
    writer_.connection_.set_sync(sync);
    try {
      writer_.begin_.run();
    } catch (const Failure& failed) {
      if ((failed.code() & 0xff) == SQLITE_BUSY) writer_.blocked();
      throw;
    }
    writer_.tables_.begin();
  } catch (...) {
    roll_back();
    throw;
  }
}

WriteTransaction::~WriteTransaction() { roll_back(); }

void WriteTransaction::write() {
  writer_.commit_.run();
  writer_.tables_.generations.committed();
}

void WriteTransaction::roll_back() noexcept {
  if (!open_) return;
  writer_.connection_.roll_back();
  writer_.tables_.generations.rolled_back();
  writer_.tables_.ttls.forget();
  let_go();
}

void WriteTransaction::let_go() noexcept {
  open_ = false;
  writer_.leave_turn();
}

}  // namespace semel::sqlite
