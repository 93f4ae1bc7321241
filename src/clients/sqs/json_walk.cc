#include "clients/sqs/json_walk.h"

#include <charconv>

#include "base/json_scan.h"

namespace semel::sqs {

namespace {

std::string meaning_of(const json::RawString& raw) {
  return raw.escaped ? json::unescape(raw.text) : std::string(raw.text);
}

// Steps over the bracket of a composite, so that the scan is before its first part. False if the
// text is no such composite.
bool enters(json::Scan& scan, std::string_view text, char begin) {
  if (text.empty()) return false;
  scan.skip_space();
  if (scan.peek() != begin) return false;
  scan.step();
  scan.skip_space();
  return true;
}

// Skips the comma after a part; false at the end.
bool goes_on(json::Scan& scan) {
  scan.skip_space();
  if (scan.peek() != ',') return false;
  scan.step();
  scan.skip_space();
  return true;
}

}  // namespace

void each_member(std::string_view object,
                 const std::function<void(const std::string& name, std::string_view value)>& see) {
  json::Scan scan(object);
  if (!enters(scan, object, '{') || scan.peek() == '}') return;
  do {
    const std::string name = meaning_of(scan.raw_string());
    scan.skip_space();
    scan.step();  // the colon
    scan.skip_space();
    see(name, scan.skip_value());
  } while (goes_on(scan));
}

void each_item(std::string_view list, const std::function<void(std::string_view item)>& see) {
  json::Scan scan(list);
  if (!enters(scan, list, '[') || scan.peek() == ']') return;
  do {
    see(scan.skip_value());
  } while (goes_on(scan));
}

std::string_view member_of(std::string_view object, std::string_view name) {
  std::string_view found;
  each_member(object, [&](const std::string& each, std::string_view value) {
    if (each == name) found = value;
  });
  return found;
}

std::string text_of(std::string_view value) {
  if (value.empty() || value.front() != '"') return std::string(value);
  return meaning_of(json::Scan(value).raw_string());
}

std::optional<std::int64_t> number_of(std::string_view value) {
  const std::string text = text_of(value);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace semel::sqs
