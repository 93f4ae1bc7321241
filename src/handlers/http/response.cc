#include "handlers/http/response.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"

namespace semel::handlers {

namespace {

constexpr std::size_t kHeaderLimit = 64 << 10;
// How much of a failed answer's body is shown.
constexpr std::size_t kShownBody = 1 << 10;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

void ResponseReader::status_line(std::string_view line) {
  const auto blank = line.find(' ');
  status_ = 0;
  if (blank != std::string_view::npos) {
    const auto number = trimmed(line.substr(blank)).substr(0, 3);
    std::from_chars(number.data(), number.data() + number.size(), status_);
  }
  content_type_.clear();
  retry_after_.clear();
  location_.clear();
}

void ResponseReader::field(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const auto name = line.substr(0, colon);
  for (auto& [known, place] :
       {std::pair{"content-type", &content_type_}, std::pair{"retry-after", &retry_after_},
        std::pair{"location", &location_}}) {
    if (ascii::alike(name, known)) *place = trimmed(line.substr(colon + 1));
  }
}

bool ResponseReader::header(BytesView line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kHeaderLimit) {
    too_large_ = true;
    return false;
  }
  if (whole_) return true;  // trailers
  constexpr int kFirstFinal = 200;
  if (line.starts_with("HTTP/")) {
    status_line(line);
  } else if (trimmed(line).empty()) {
    whole_ = status_ >= kFirstFinal;
  } else {
    field(line);
  }
  return true;
}

bool ResponseReader::body(BytesView part) {
  body_bytes_ += part.size();
  if (body_bytes_ > body_limit_) {
    too_large_ = true;
    return false;
  }
  const bool good = status() >= 200 && status() < 300;
  const std::size_t kept = good ? body_limit_ : std::min(body_limit_, kShownBody);
  body_.append(part.substr(0, kept - std::min(kept, body_.size())));
  return true;
}

}  // namespace semel::handlers
