#include "stores/sqlite/detail_rows.h"

#include "stores/sqlite/connection.h"

namespace semel::sqlite {

DetailRows::DetailRows(Connection& connection)
    : add_result_(connection, "INSERT INTO semel_result (result) VALUES (?1)"),
      find_result_(connection, "SELECT result FROM semel_result WHERE row = ?1"),
      find_inbox_(connection, "SELECT result FROM semel_inbox WHERE row = ?1"),
      remove_result_(connection, "DELETE FROM semel_result WHERE row = ?1"),
      remove_inbox_(connection, "DELETE FROM semel_inbox WHERE row = ?1"),
      next_inbox_(connection, "SELECT coalesce(max(row), 0) + 1 FROM semel_inbox"),
      put_inbox_(connection,
                 "INSERT INTO semel_inbox (row, consumer, key, type, content_type, received_at, "
                 "processed_at, error, result, payload) "
                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"),
      end_inbox_(connection,
                 "UPDATE semel_inbox SET processed_at = ?2, error = ?3, result = ?4 "
                 "WHERE row = ?1") {}

std::int64_t DetailRows::add_result(BytesView result) {
  return add_result_.bind_bytes(1, result).insert();
}

Bytes DetailRows::result_of(std::optional<std::int64_t> result, std::optional<std::int64_t> inbox) {
  if (!result && !inbox) return {};
  Prepared& find = result ? find_result_ : find_inbox_;
  find.bind(1, result ? result : inbox);
  const Reading reading(find);
  return find.next() ? find.text(0) : Bytes();
}

void DetailRows::remove(std::optional<std::int64_t> result, std::optional<std::int64_t> inbox) {
  if (result) remove_result_.bind(1, *result).run();
  if (inbox) remove_inbox_.bind(1, *inbox).run();
}

std::int64_t DetailRows::next_inbox() {
  if (!next_) {
    const Reading reading(next_inbox_);
    next_ = next_inbox_.next() ? next_inbox_.integer(0) : 1;
  }
  return (*next_)++;
}

namespace {

void bind_ending(Prepared& statement, int first, const Finish& finish, bool processed,
                 StoreTime now) {
  statement.bind(first, processed ? std::optional(now) : std::nullopt);
  // An error that a later try overcame is no error of the message.
  const std::string& error = finish.error.empty() ? finish.reason : finish.error;
  if (processed || error.empty()) {
    statement.bind_null(first + 1);
  } else {
    statement.bind_bytes(first + 1, error);
  }
  if (finish.result.empty()) {
    statement.bind_null(first + 2);
  } else {
    statement.bind_bytes(first + 2, finish.result);
  }
}

}  // namespace

void DetailRows::put_inbox(std::int64_t row, const Message& message, const Finish& finish,
                           bool processed, StoreTime now) {
  put_inbox_.bind(1, row)
      .bind(2, message.key().id.consumer())
      .bind_bytes(3, message.key().text)
      .bind_bytes(4, message.type())
      .bind_bytes(5, message.content_type())
      .bind(6, now)
      .bind_bytes(10, message.payload());
  bind_ending(put_inbox_, 7, finish, processed, now);
  put_inbox_.run();
}

bool DetailRows::end_inbox(std::int64_t row, const Finish& finish, bool processed, StoreTime now) {
  end_inbox_.bind(1, row);
  bind_ending(end_inbox_, 2, finish, processed, now);
  return end_inbox_.change() > 0;
}

}  // namespace semel::sqlite
