#include "tests/fuzz/request_text.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/url_text.h"

namespace semel::fuzz {

namespace {

// Takes the part before `mark` from the text, and the mark with it; all where there is none.
std::string_view cut(std::string_view& text, char mark) {
  const auto end = text.find(mark);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

}  // namespace

RequestText::RequestText(std::string_view bytes) {
  std::string_view line = cut(bytes, '\n');
  method_ = cut(line, ' ');
  path_ = cut(line, '?');
  query_ = line;
  while (!bytes.empty()) {
    std::string_view header = cut(bytes, '\n');
    if (header.empty()) break;
    const std::string_view name = cut(header, ':');
    while (header.starts_with(' ')) header.remove_prefix(1);
    headers_.emplace_back(name, header);
  }
  body_ = bytes;
}

std::optional<std::string_view> RequestText::header(std::string_view name) const {
  for (const auto& [known, value] : headers_) {
    if (ascii::alike(known, name)) return value;
  }
  return std::nullopt;
}

std::optional<std::vector<std::pair<std::string, std::string>>> RequestText::query() const {
  std::vector<std::pair<std::string, std::string>> all;
  std::string_view rest = query_;
  while (!rest.empty()) {
    std::string_view part = cut(rest, '&');
    const auto name = url_text::unescaped(cut(part, '='));
    const auto value = url_text::unescaped(part);
    if (!name || !value) return std::nullopt;
    all.emplace_back(*name, *value);
  }
  return all;
}

http::HttpRequest RequestText::request(const std::optional<std::string>& authorization) const {
  http::HttpRequest request;
  request.method = method_;
  request.path = path_;
  request.body = body_;
  request.header = [this, authorization, held = authorization.value_or("")](
                       const char* name) -> std::optional<std::string_view> {
    if (!ascii::alike(name, "Authorization")) return header(name);
    if (!authorization) return std::nullopt;
    return held;
  };
  request.query = [this] { return query(); };
  request.headers = [this] {
    std::vector<std::pair<std::string_view, std::string_view>> all;
    for (const auto& [name, value] : headers_) all.emplace_back(name, value);
    return all;
  };
  return request;
}

}  // namespace semel::fuzz
