#include <semel/message.h>

#include <cmath>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/json.h"

namespace semel {
namespace {

[[noreturn]] void invalid(std::string message) {
  throw PayloadInvalid({ErrorKind::kRejected, "", std::move(message), ""});
}

const char* kind_of(const json::Scalar& scalar) noexcept {
  struct Names {
    const char* operator()(const json::Absent&) const { return "not there"; }
    const char* operator()(const json::Composite&) const { return "an object or an array"; }
    const char* operator()(const json::JsonNull&) const { return "null"; }
    const char* operator()(bool) const { return "a boolean"; }
    const char* operator()(const json::Integer&) const { return "an integer"; }
    const char* operator()(const json::Float&) const { return "a number with a fraction"; }
    const char* operator()(const std::string&) const { return "a string"; }
  };
  return std::visit(Names{}, scalar);
}

[[noreturn]] void unfit(std::string_view pointer, const json::Scalar& scalar, const char* wanted) {
  invalid(
      fmt::format("{} of the payload is {}, and {} is wanted", pointer, kind_of(scalar), wanted));
}

// The result borrows from a document of the thread, until the next call.
json::Scalar scalar_at(const Message& message, std::string_view pointer) {
  thread_local json::Document document;
  Result<json::Pointer> parsed = json::Pointer::parse(pointer);
  if (!parsed) throw PayloadInvalid(std::move(parsed.error()));
  if (message.known_json()) {
    document.parse_known(message.payload());
  } else if (Result<void> read = document.parse(message.payload()); !read) {
    invalid("the payload is " + read.error().message);
  }
  Result<json::Scalar> found = document.at(*parsed);
  if (!found) invalid("in the payload, " + found.error().message);
  return std::move(*found);
}

constexpr double kTwoTo63 = 0x1p63;

std::optional<std::int64_t> whole(double number) noexcept {
  const bool fits = number >= -kTwoTo63 && number < kTwoTo63;
  if (!fits || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

std::optional<BytesView> find_header(const Headers& headers, std::string_view name) noexcept {
  for (const Header& header : headers) {
    if (ascii::alike(header.name, name)) return header.value;
  }
  return std::nullopt;
}

std::int64_t Message::json_integer(std::string_view pointer, std::int64_t low,
                                   std::int64_t high) const {
  const json::Scalar scalar = scalar_at(*this, pointer);
  std::optional<std::int64_t> number;
  if (const auto* integer = std::get_if<json::Integer>(&scalar)) {
    number = integer->value;
  } else if (const auto* fraction = std::get_if<json::Float>(&scalar)) {
    number = whole(fraction->value);
    if (!number && std::isfinite(fraction->value) && std::abs(fraction->value) < kTwoTo63) {
      unfit(pointer, scalar, "an integer");
    }
  } else {
    unfit(pointer, scalar, "an integer");
  }
  if (!number || *number < low || *number > high) {
    invalid(fmt::format("{} of the payload is out of the range {} to {}", pointer, low, high));
  }
  return *number;
}

template <>
std::string Message::json<std::string>(std::string_view pointer) const {
  json::Scalar scalar = scalar_at(*this, pointer);
  if (auto* text = std::get_if<std::string>(&scalar)) return std::move(*text);
  unfit(pointer, scalar, "a string");
}

template <>
double Message::json<double>(std::string_view pointer) const {
  const json::Scalar scalar = scalar_at(*this, pointer);
  if (const auto* fraction = std::get_if<json::Float>(&scalar)) {
    if (std::isfinite(fraction->value)) return fraction->value;
  } else if (const auto* integer = std::get_if<json::Integer>(&scalar)) {
    const auto number = static_cast<double>(integer->value.value_or(0));
    if (integer->value && whole(number) == integer->value) return number;
  } else {
    unfit(pointer, scalar, "a number");
  }
  invalid(fmt::format("{} of the payload is no number that a double can hold", pointer));
}

template <>
bool Message::json<bool>(std::string_view pointer) const {
  const json::Scalar scalar = scalar_at(*this, pointer);
  if (const auto* flag = std::get_if<bool>(&scalar)) return *flag;
  unfit(pointer, scalar, "a boolean");
}

}  // namespace semel
