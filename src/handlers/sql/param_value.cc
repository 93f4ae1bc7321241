#include "handlers/sql/param_value.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include <semel/message.h>

#include "base/decimal.h"

namespace semel::handlers {

namespace {

using Type = core::SqlParam::Type;

// The longest part of a value that is shown.
constexpr std::size_t kShown = 40;

const char* wanted(Type type) {
  switch (type) {
    case Type::kInteger:
      return "an integer";
    case Type::kReal:
      return "a number";
    case Type::kDecimal:
      return "a decimal number";
    case Type::kText:
      return "a text";
    case Type::kBoolean:
      return "true or false";
    case Type::kJson:
    case Type::kAsWritten:
      break;
  }
  return "a single value";
}

std::string shown(std::string_view text) {
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "…";
}

// Describes a value of the message in words.
struct Describe {
  std::string operator()(const json::Absent&) const { return "nothing"; }
  std::string operator()(const json::Composite& c) const {
    return c.written.starts_with('[') ? "an array" : "an object";
  }
  std::string operator()(const json::JsonNull&) const { return "null"; }
  std::string operator()(bool b) const { return b ? "true" : "false"; }
  std::string operator()(const json::Integer& i) const { return shown(i.written); }
  std::string operator()(const json::Float& f) const { return shown(f.written); }
  std::string operator()(const std::string& s) const { return "the text \"" + shown(s) + '"'; }
};

[[noreturn]] void refuse(std::string_view name, const core::SqlParam& param,
                         const json::Scalar& scalar, std::string_view why = {}) {
  throw PayloadInvalid(
      {ErrorKind::kRejected,
       {},
       fmt::format("parameter :{} must be {}; at \"{}\" of the {} stands {}{}", name,
                   wanted(param.type), param.pointer.text(), param.of_answer ? "answer" : "message",
                   std::visit(Describe{}, scalar), why),
       {}});
}

// 2^63: the first double past the 64-bit integers.
constexpr double kPastIntegers = 9223372036854775808.0;

std::optional<std::int64_t> whole(double number) {
  const bool fits = number >= -kPastIntegers && number < kPastIntegers;
  if (!fits || number != std::trunc(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<double> exact(std::int64_t number) {
  const auto real = static_cast<double>(number);
  if (real >= kPastIntegers || static_cast<std::int64_t>(real) != number) return std::nullopt;
  return real;
}

// True if neighbouring doubles differ by at most one: then the text was exactly a whole number.
bool counts_singly(double number) {
  constexpr double kEvery = 1LL << std::numeric_limits<double>::digits;
  return std::fabs(number) < kEvery;
}

constexpr std::string_view kRounded =
    ", which the store's database would round: type: real takes the nearest number, type: text "
    "keeps the digits";

// A number that no other type can hold; nullopt if the database cannot store all its digits.
std::optional<Value> exact_number(std::string_view written, core::Decimals decimals) {
  if (decimals == core::Decimals::kKept) return Decimal{std::string(written)};
  if (const auto real = decimal::exact_double(written)) return *real;
  return std::nullopt;
}

// Uses the type in the JSON, since none is declared.
Value as_written(std::string_view name, const core::SqlParam& param, core::Decimals decimals,
                 json::Scalar& scalar) {
  if (auto* text = std::get_if<std::string>(&scalar)) return std::move(*text);
  if (const auto* integer = std::get_if<json::Integer>(&scalar)) {
    if (integer->value) return *integer->value;
    if (decimals == core::Decimals::kKept) return Decimal{std::string(integer->written)};
    refuse(name, param, scalar, ", which does not fit 64 bits");
  }
  if (const auto* real = std::get_if<json::Float>(&scalar)) {
    if (auto value = exact_number(real->written, decimals)) return *std::move(value);
    refuse(name, param, scalar, kRounded);
  }
  if (const bool* truth = std::get_if<bool>(&scalar)) return std::int64_t{*truth};
  refuse(name, param, scalar);
}

// Also accepts a text, as amounts of money often are.
Value declared_decimal(std::string_view name, const core::SqlParam& param, core::Decimals decimals,
                       const json::Scalar& scalar) {
  std::string_view written;
  if (const auto* integer = std::get_if<json::Integer>(&scalar)) written = integer->written;
  if (const auto* real = std::get_if<json::Float>(&scalar)) written = real->written;
  if (const auto* text = std::get_if<std::string>(&scalar)) written = *text;
  if (!decimal::parse(written)) refuse(name, param, scalar);
  if (decimals == core::Decimals::kDoubles) {
    if (const auto number = decimal::exact_integer(written)) return *number;
  }
  if (auto value = exact_number(written, decimals)) return *std::move(value);
  refuse(name, param, scalar, kRounded);
}

// The JSON text, for a column of JSON.
std::optional<Value> json_of(const json::Scalar& scalar) {
  if (const auto* composite = std::get_if<json::Composite>(&scalar)) {
    return std::string(composite->written);
  }
  if (const auto* integer = std::get_if<json::Integer>(&scalar)) {
    return std::string(integer->written);
  }
  if (const auto* real = std::get_if<json::Float>(&scalar)) return std::string(real->written);
  if (const auto* text = std::get_if<std::string>(&scalar)) {
    return json::Writer().value(*text).text();
  }
  if (const bool* truth = std::get_if<bool>(&scalar)) return std::string(*truth ? "true" : "false");
  return std::nullopt;
}

std::optional<Value> declared(Type type, json::Scalar& scalar) {
  const auto* integer = std::get_if<json::Integer>(&scalar);
  const auto* real = std::get_if<json::Float>(&scalar);
  const bool* truth = std::get_if<bool>(&scalar);
  auto* text = std::get_if<std::string>(&scalar);
  switch (type) {
    case Type::kInteger:
      if (integer != nullptr && integer->value) return *integer->value;
      if (real != nullptr && counts_singly(real->value)) {
        if (const auto number = whole(real->value)) return *number;
      }
      return std::nullopt;
    case Type::kReal:
      if (real != nullptr && std::isfinite(real->value)) return real->value;
      if (integer != nullptr && integer->value) {
        if (const auto number = exact(*integer->value)) return *number;
      }
      return std::nullopt;
    case Type::kText:
      if (text != nullptr) return std::move(*text);
      if (integer != nullptr) return std::string(integer->written);
      if (real != nullptr) return std::string(real->written);
      return std::nullopt;
    case Type::kBoolean:
      if (truth != nullptr) return std::int64_t{*truth};
      if (integer != nullptr && (integer->value == 0 || integer->value == 1))
        return *integer->value;
      return std::nullopt;
    case Type::kJson:
      return json_of(scalar);
    case Type::kDecimal:
    case Type::kAsWritten:
      break;
  }
  return std::nullopt;
}

}  // namespace

Value param_value(std::string_view name, const core::SqlParam& param, core::Decimals decimals,
                  json::Scalar scalar) {
  if (std::holds_alternative<json::Absent>(scalar)) {
    if (param.optional) return Null{};
    refuse(name, param, scalar);
  }
  if (std::holds_alternative<json::JsonNull>(scalar)) return Null{};
  if (param.type == Type::kAsWritten) return as_written(name, param, decimals, scalar);
  if (param.type == Type::kDecimal) return declared_decimal(name, param, decimals, scalar);
  auto value = declared(param.type, scalar);
  if (!value) refuse(name, param, scalar);
  return std::move(*value);
}

}  // namespace semel::handlers
