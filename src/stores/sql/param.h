// Param: a value for one placeholder. It borrows its bytes for the call.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include <semel/admin/records.h>
#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/spi/delivery.h>
#include <semel/spi/lease.h>

namespace semel::sql {

// A name or word of our own, stored as text. Everything from outside is stored as bytes.
struct Word {
  std::string_view text;
};

// Bytes that are never read as text. SQLite compares a blob and a text as different, and stores as
// text what a person may want to read.
struct Binary {
  BytesView bytes;
};

class Param {
 public:
  enum class Type { kInteger, kBoolean, kBytes, kBinary, kWord, kTime };

  // Implicit, so that a list of values can be written {id, now, payload}.
  // NOLINTBEGIN(google-explicit-constructor)
  template <std::integral T>
  requires(!std::same_as<T, bool>) Param(T value)
      : type_(Type::kInteger), number_(static_cast<std::int64_t>(value)) {}
  Param(bool value) : type_(Type::kBoolean), number_(value ? 1 : 0) {}
  Param(BytesView bytes) : type_(Type::kBytes), bytes_(bytes) {}
  Param(const Bytes& bytes) : Param(BytesView(bytes)) {}
  Param(Binary binary) : type_(Type::kBinary), bytes_(binary.bytes) {}
  Param(Word word) : type_(Type::kWord), bytes_(word.text) {}
  Param(StoreTime time) : type_(Type::kTime), number_(time.time_since_epoch().count()) {}
  Param(std::chrono::milliseconds time) : type_(Type::kInteger), number_(time.count()) {}
  Param(ConsumerNumber number) : Param(static_cast<std::int64_t>(number)) {}
  Param(RowTag row) : Param(static_cast<std::int64_t>(row)) {}
  Param(const KeyId& id) : Param(Binary{id.view()}) {}
  Param(const Fingerprint& print) : Param(Binary{print.view()}) {}
  Param(const Nonce& nonce)
      : Param(Binary{{reinterpret_cast<const char*>(nonce.bytes.data()), nonce.bytes.size()}}) {}
  // NULL of the value's type.
  template <class T>
  Param(const std::optional<T>& value) : Param(value ? Param(*value) : null_like<T>()) {}
  // NOLINTEND(google-explicit-constructor)

  Type type() const noexcept { return type_; }
  bool null() const noexcept { return null_; }
  // kInteger, kBoolean, and kTime in milliseconds since 1970.
  std::int64_t number() const noexcept { return number_; }
  BytesView bytes() const noexcept { return bytes_; }

 private:
  template <class T>
  static Param null_like() {
    Param param = Param(T{});
    param.null_ = true;
    param.bytes_ = {};
    return param;
  }

  Type type_;
  bool null_ = false;
  std::int64_t number_ = 0;
  BytesView bytes_;
};

}  // namespace semel::sql
