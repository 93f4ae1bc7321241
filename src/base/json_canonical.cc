#include "base/json_canonical.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/decimal.h"
#include "base/json_scan.h"

namespace semel::json {
namespace {

// A member in the output, with its name kept separately.
struct Part {
  std::string name;
  std::size_t begin;
  std::size_t end;
};

bool by_name(const Part& a, const Part& b) { return a.name < b.name; }

// A longer exponent is left as it is written: no message is long enough to expand it.
constexpr std::size_t kLongestWritten = 15;
constexpr std::int64_t kGreatestExponent = 999'999'999'999'999;

bool has_long_exponent(std::string_view number) {
  const std::size_t mark = number.find_first_of("eE");
  if (mark == std::string_view::npos) return false;
  number.remove_prefix(mark + 1);
  if (number.starts_with('+')) number.remove_prefix(1);
  return number.size() > kLongestWritten;
}

void append_number(std::string& out, std::string_view written) {
  if (has_long_exponent(written)) {
    out += written;
    return;
  }
  const decimal::Number number = *decimal::parse(written, kGreatestExponent);
  if (number.digits.empty()) {
    out += '0';
    return;
  }
  if (number.negative) out += '-';
  out += number.digits;
  if (number.exponent != 0) fmt::format_to(std::back_inserter(out), "e{}", number.exponent);
}

class Canonical {
 public:
  explicit Canonical(std::string_view valid) : scan_(valid) {}

  std::string text() {
    value();
    return std::move(out_);
  }

 private:
  // Recursion is bounded by the validated document's depth.
  void value() {
    switch (scan_.peek()) {
      case '{':
        object();
        break;
      case '[':
        array();
        break;
      case '"':
        append_quoted(out_, string());
        break;
      case 't':
      case 'f':
      case 'n':
        out_ += scan_.skip_value();
        break;
      default:
        append_number(out_, scan_.skip_value());
    }
  }

  std::string string() {
    const RawString raw = scan_.raw_string();
    return raw.escaped ? unescape(raw.text) : std::string(raw.text);
  }

  // Moves to the next item of a list that ends with `end`, or past the end.
  bool next(char end) {
    scan_.skip_space();
    if (scan_.peek() == end) {
      scan_.step();
      return false;
    }
    if (scan_.peek() == ',') scan_.step();
    scan_.skip_space();
    return true;
  }

  void array() {
    scan_.step();
    out_ += '[';
    for (bool first = true; next(']'); first = false) {
      if (!first) out_ += ',';
      value();
    }
    out_ += ']';
  }

  void object() {
    scan_.step();
    out_ += '{';
    const std::size_t begin = out_.size();
    std::vector<Part> parts;
    while (next('}')) {
      Part part{string(), out_.size(), 0};
      append_quoted(out_, part.name);
      out_ += ':';
      scan_.skip_space();
      scan_.step();
      scan_.skip_space();
      value();
      out_ += ',';
      part.end = out_.size();
      parts.push_back(std::move(part));
    }
    if (!std::is_sorted(parts.begin(), parts.end(), by_name)) sort(parts, begin);
    if (!parts.empty()) out_.pop_back();
    out_ += '}';
  }

  void sort(std::vector<Part>& parts, std::size_t begin) {
    std::stable_sort(parts.begin(), parts.end(), by_name);
    std::string sorted;
    sorted.reserve(out_.size() - begin);
    for (const Part& part : parts) sorted.append(out_, part.begin, part.end - part.begin);
    out_.replace(begin, std::string::npos, sorted);
  }

  Scan scan_;
  std::string out_;
};

}  // namespace

std::string canonical(std::string_view valid) { return Canonical(valid).text(); }

}  // namespace semel::json
