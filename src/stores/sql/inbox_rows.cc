#include "stores/sql/inbox_rows.h"

namespace semel::sql {
namespace {

struct Ending {
  Ending(const Finish& finish, bool processed, StoreTime now) {
    if (processed) at = now;
    // An error that a later attempt overcame is no error of the message.
    const std::string& why = finish.error.empty() ? finish.reason : finish.error;
    if (!processed && !why.empty()) error = why;
    if (!finish.result.empty()) result = finish.result;
  }
  std::optional<StoreTime> at;
  std::optional<BytesView> error;
  std::optional<BytesView> result;
};

}  // namespace

InboxTexts::InboxTexts(const Dialect& dialect)
    : put(dialect,
          "INSERT INTO semel_inbox (row_id, consumer, message_key, type, content_type, "
          "received_at, processed_at, error, result, payload) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (row_id) DO UPDATE SET "
          "processed_at = excluded.processed_at, error = excluded.error, "
          "result = excluded.result"),
      end(dialect,
          "UPDATE semel_inbox SET processed_at = ?2, error = ?3, result = ?4 WHERE row_id = ?1"),
      result(dialect, "SELECT result FROM semel_inbox WHERE row_id = ?1"),
      remove(dialect, "DELETE FROM semel_inbox WHERE row_id = ?1") {}

void InboxRows::put(std::int64_t row, const Message& message, const Finish& finish, bool processed,
                    StoreTime now) {
  const Ending ending(finish, processed, now);
  statements_.queue(texts_.put, {row, message.key().id.consumer(), message.key().text,
                                 message.type(), message.content_type(), now, ending.at,
                                 ending.error, ending.result, message.payload()});
}

bool InboxRows::end(std::int64_t row, const Finish& finish, bool processed, StoreTime now) {
  const Ending ending(finish, processed, now);
  return statements_.ask(texts_.end, {row, ending.at, ending.error, ending.result}).changed() > 0;
}

Bytes InboxRows::result_of(std::int64_t row) {
  Answer answer = statements_.ask(texts_.result, {row});
  return answer.next() ? answer.bytes(0) : Bytes();
}

void InboxRows::remove(std::int64_t row) { statements_.queue(texts_.remove, {row}); }

}  // namespace semel::sql
