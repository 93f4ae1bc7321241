// Prepared: one of our own statements, compiled at its first use and kept.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <semel/admin/records.h>
#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/spi/lease.h>

#include "stores/sql/answer.h"
#include "stores/sql/param.h"

struct sqlite3_stmt;

namespace semel::sqlite {

class Connection;

// Bound bytes are borrowed until the statement is reset. Errors are thrown as Failure, after the
// reset.
class Prepared {
 public:
  // `sql` must outlive the object: a literal, or a string that lives as long.
  Prepared(Connection& connection, const char* sql) noexcept : connection_(connection), sql_(sql) {}
  ~Prepared();
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  // Parameters count from 1.
  Prepared& bind(int at, std::int64_t value);
  Prepared& bind(int at, int value) { return bind(at, static_cast<std::int64_t>(value)); }
  Prepared& bind(int at, bool value) { return bind(at, static_cast<std::int64_t>(value)); }
  Prepared& bind(int at, std::chrono::milliseconds time) {
    return bind(at, static_cast<std::int64_t>(time.count()));
  }
  Prepared& bind(int at, StoreTime time) { return bind(at, time.time_since_epoch().count()); }
  Prepared& bind(int at, ConsumerNumber number) {
    return bind(at, static_cast<std::int64_t>(number));
  }
  Prepared& bind(int at, const KeyId& id) { return bind_blob(at, id.view()); }
  Prepared& bind(int at, const Fingerprint& print) { return bind_blob(at, print.view()); }
  Prepared& bind(int at, const Nonce& nonce) {
    return bind_blob(at, {reinterpret_cast<const char*>(nonce.bytes.data()), nonce.bytes.size()});
  }
  Prepared& bind_null(int at);
  Prepared& bind_blob(int at, BytesView bytes);
  Prepared& bind_text(int at, std::string_view text);
  // As text where it is valid text, so that people can read it in the sqlite3 shell, else as a
  // blob.
  Prepared& bind_bytes(int at, BytesView bytes);
  template <class T>
  Prepared& bind(int at, const std::optional<T>& value) {
    return value ? bind(at, *value) : bind_null(at);
  }
  Prepared& bind_param(int at, const sql::Param& param);

  // Moves to the next row. False at the end: then the statement is reset.
  bool next();
  // Runs to its end and resets.
  void run() {
    while (next()) {
    }
  }
  // Runs a statement that changes rows; returns how many.
  std::int64_t change();
  // Runs an INSERT into a table with row numbers; returns the new one.
  std::int64_t insert();
  void reset() noexcept;

  int columns() const noexcept;
  // These read the current row; columns count from 0.
  sql::Cell cell(int column) const;
  bool null(int column) const noexcept;
  std::int64_t integer(int column) const noexcept;
  int small(int column) const noexcept { return static_cast<int>(integer(column)); }
  StoreTime time(int column) const noexcept {
    return StoreTime(std::chrono::milliseconds(integer(column)));
  }
  std::optional<StoreTime> maybe_time(int column) const noexcept {
    return null(column) ? std::nullopt : std::optional(time(column));
  }
  std::optional<std::int64_t> maybe_integer(int column) const noexcept {
    return null(column) ? std::nullopt : std::optional(integer(column));
  }
  ConsumerNumber consumer(int column) const noexcept {
    return static_cast<ConsumerNumber>(integer(column));
  }
  // Text or blob, valid until the next step.
  BytesView bytes(int column) const noexcept;
  std::string text(int column) const { return std::string(bytes(column)); }
  // Zero where the column has another length.
  KeyId key_id(int column) const noexcept { return fixed<KeyId>(column); }
  Fingerprint fingerprint(int column) const noexcept { return fixed<Fingerprint>(column); }
  Nonce nonce(int column) const noexcept { return fixed<Nonce>(column); }

 private:
  template <class T>
  T fixed(int column) const noexcept {
    T value;
    const BytesView from = bytes(column);
    if (from.size() == value.bytes.size()) {
      from.copy(reinterpret_cast<char*>(value.bytes.data()), from.size());
    }
    return value;
  }
  sqlite3_stmt* ready();
  void check(int code);

  Connection& connection_;
  const char* sql_;
  sqlite3_stmt* statement_ = nullptr;
};

// Resets a statement whose rows are read, however the reading ends.
class Reading {
 public:
  explicit Reading(Prepared& statement) noexcept : statement_(statement) {}
  ~Reading() { statement_.reset(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  bool next() { return statement_.next(); }

 private:
  Prepared& statement_;
};

// True for UTF-8 without NUL, which the sqlite3 shell shows completely.
bool is_text(BytesView bytes) noexcept;

}  // namespace semel::sqlite
