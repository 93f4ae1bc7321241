#include "cli/json_view.h"

#include <utility>

#include "base/json_scan.h"
#include "base/text_encoding.h"
#include "base/time_text.h"

namespace semel::cli {

namespace {

constexpr std::string_view kNoMembers = "{}";

// Reads a document that is a single scalar: the empty pointer refers to the whole document.
json::Scalar scalar_of(std::string_view value) {
  json::Document document;
  document.parse_known(value);
  return document.at(json::Pointer::parse("").value()).value_or(json::Absent{});
}

}  // namespace

JsonView::JsonView(std::string_view text)
    : text_(text), document_(std::make_unique<json::Document>()) {
  document_->parse_known(text_);
}

json::Scalar JsonView::at(std::string_view member) const {
  return document_->at(json::Pointer::parse("/" + std::string(member)).value())
      .value_or(json::Absent{});
}

std::string JsonView::text(std::string_view member) const {
  auto found = at(member);
  auto* text = std::get_if<std::string>(&found);
  return text == nullptr ? std::string() : std::move(*text);
}

Bytes JsonView::bytes(std::string_view member) const {
  const std::string coded = text(std::string(member) + "_base64");
  if (coded.empty()) return text(member);
  return semel::text::from_base64(coded).value_or(Bytes());
}

std::optional<std::int64_t> JsonView::number(std::string_view member) const {
  const auto found = at(member);
  const auto* number = std::get_if<json::Integer>(&found);
  return number == nullptr ? std::nullopt : number->value;
}

std::size_t JsonView::count(std::string_view member) const {
  const std::int64_t found = number(member).value_or(0);
  return found < 0 ? 0 : static_cast<std::size_t>(found);
}

bool JsonView::flag(std::string_view member) const {
  const auto found = at(member);
  const auto* flag = std::get_if<bool>(&found);
  return flag != nullptr && *flag;
}

std::optional<StoreTime> JsonView::time(std::string_view member) const {
  return parse_iso_time(text(member));
}

JsonView JsonView::object(std::string_view member) const {
  const auto found = at(member);
  const auto* object = std::get_if<json::Composite>(&found);
  const bool is_object = object != nullptr && object->written.starts_with('{');
  return JsonView(is_object ? object->written : kNoMembers);
}

std::vector<std::string_view> JsonView::elements(std::string_view member) const {
  std::vector<std::string_view> all;
  const auto found = at(member);
  const auto* array = std::get_if<json::Composite>(&found);
  if (array == nullptr || !array->written.starts_with('[')) return all;
  json::Scan scan(array->written);
  scan.step();
  scan.skip_space();
  while (scan.peek() != ']') {
    all.push_back(scan.skip_value());
    scan.skip_space();
    if (scan.peek() != ',') break;
    scan.step();
    scan.skip_space();
  }
  return all;
}

std::vector<JsonView> JsonView::objects(std::string_view member) const {
  std::vector<JsonView> all;
  for (const std::string_view element : elements(member)) {
    if (element.starts_with('{')) all.emplace_back(element);
  }
  return all;
}

std::vector<std::string> JsonView::texts(std::string_view member) const {
  std::vector<std::string> all;
  for (const std::string_view element : elements(member)) {
    auto value = scalar_of(element);
    if (auto* text = std::get_if<std::string>(&value)) all.push_back(std::move(*text));
  }
  return all;
}

std::vector<std::int64_t> JsonView::numbers(std::string_view member) const {
  std::vector<std::int64_t> all;
  for (const std::string_view element : elements(member)) {
    const auto value = scalar_of(element);
    const auto* number = std::get_if<json::Integer>(&value);
    if (number != nullptr && number->value) all.push_back(*number->value);
  }
  return all;
}

}  // namespace semel::cli
