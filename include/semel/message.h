// Message: a message whose key is known. Immutable; safe to read from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/bytes.h>
#include <semel/error.h>
#include <semel/key.h>

namespace semel {

struct Header {
  std::string name;  // compared without regard to ASCII case
  Bytes value;
};
using Headers = std::vector<Header>;

// The value of `name` in `headers`, or nothing. The first one wins where a name repeats.
[[nodiscard]] std::optional<BytesView> find_header(const Headers& headers,
                                                   std::string_view name) noexcept;

// Thrown by Message's JSON accessors: the payload lacks the member or it has another type. Uncaught
// in a handler it makes the message a dead letter with reason `payload.invalid` without a retry:
// the same bytes would fail again.
class PayloadInvalid : public SemelError {
 public:
  using SemelError::SemelError;
};

namespace core {
class Intake;
}

struct DeliverySpan;

class Message {
 public:
  struct Parts {
    Key key{};
    Fingerprint fingerprint{};
    Bytes ordering_key{};  // messages with the same one are handled in order; empty: the key's text
    Bytes payload{};
    std::string content_type{};  // as the source reported it; empty where it did not
    std::string type{};          // the kind of event, where the source knows it; else empty
    Headers headers{};
    std::optional<std::chrono::milliseconds> age{};  // by the broker's clock; nullopt: unknown
    std::shared_ptr<const DeliverySpan> span{};      // null: it is not traced
  };

  explicit Message(Parts parts) noexcept : parts_(std::move(parts)) {}

  const Key& key() const noexcept { return parts_.key; }
  const Fingerprint& fingerprint() const noexcept { return parts_.fingerprint; }
  BytesView ordering_key() const noexcept {
    return parts_.ordering_key.empty() ? parts_.key.text : parts_.ordering_key;
  }
  bool has_ordering_key() const noexcept { return !parts_.ordering_key.empty(); }
  BytesView payload() const noexcept { return parts_.payload; }
  const std::string& content_type() const noexcept { return parts_.content_type; }
  const std::string& type() const noexcept { return parts_.type; }
  const Headers& headers() const noexcept { return parts_.headers; }
  std::optional<std::chrono::milliseconds> age() const noexcept { return parts_.age; }
  // Its delivery's span (trace.h): the parent of what a handler traces itself. Null: not traced.
  const std::shared_ptr<const DeliverySpan>& span() const noexcept { return parts_.span; }
  std::optional<BytesView> header(std::string_view name) const noexcept {
    return find_header(parts_.headers, name);
  }

  // True where the payload was parsed as JSON to find the key.
  bool known_json() const noexcept { return known_json_; }

  // The scalar at a JSON pointer (RFC 6901) of the payload: m.json<int>("/amount"). T is a signed
  // integer type, double, bool or std::string. A number is converted only where nothing is lost.
  // Throws PayloadInvalid. Each call parses the payload anew.
  template <class T>
  T json(std::string_view pointer) const;

 private:
  std::int64_t json_integer(std::string_view pointer, std::int64_t low, std::int64_t high) const;

  friend class core::Intake;

  Parts parts_;
  bool known_json_ = false;
};

template <>
std::string Message::json<std::string>(std::string_view pointer) const;
template <>
double Message::json<double>(std::string_view pointer) const;
template <>
bool Message::json<bool>(std::string_view pointer) const;

template <class T>
T Message::json(std::string_view pointer) const {
  static_assert(std::numeric_limits<T>::is_integer && std::numeric_limits<T>::is_signed,
                "json<T>: a signed integer type, double, bool or std::string");
  return static_cast<T>(
      json_integer(pointer, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

}  // namespace semel
