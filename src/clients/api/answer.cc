#include "clients/api/answer.h"

#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/printable.h"

namespace semel::api_client {

namespace {

constexpr std::size_t kTextShown = 200;

std::string text_at(const json::Document& document, const char* pointer) {
  const auto found = document.at(json::Pointer::parse(pointer).value());
  const auto* text = found ? std::get_if<std::string>(&*found) : nullptr;
  return text == nullptr ? std::string() : *text;
}

ErrorKind kind_of(int status) noexcept {
  switch (status) {
    case 429:
    case 503:
    case 504:
      return ErrorKind::kUnavailable;
    default:
      return ErrorKind::kRejected;
  }
}

Error no_run(const Answer& answer, std::string_view url, std::string_view why) {
  std::string text =
      fmt::format("{} is not the API of a run: {} (HTTP {})", url, why, answer.status);
  const std::string_view body = std::string_view(answer.body).substr(0, kTextShown);
  if (answer.content_type.starts_with("text/plain") && !body.empty()) {
    text += ": " + printable_text(body.substr(0, body.find('\n')));
  }
  return {ErrorKind::kUnavailable, "R362", std::move(text),
          "the URL of admin.listen, with the prefix of a proxy where there is one"};
}

}  // namespace

Result<std::string> document_of(Answer answer, std::string_view url) {
  json::Document document;
  const bool is_json = document.parse(answer.body).has_value();
  if (is_json && answer.content_type.starts_with("application/problem+json")) {
    std::string message = text_at(document, "/detail");
    if (message.empty()) message = text_at(document, "/title");
    return failure({kind_of(answer.status), text_at(document, "/code"), std::move(message),
                    text_at(document, "/fix")});
  }
  const bool good = answer.status >= 200 && answer.status < 300;
  if (!good) return failure(no_run(answer, url, "it answers no problem document"));
  if (!is_json || !text_at(document, "/schema").starts_with("semel.v1.")) {
    return failure(no_run(answer, url, "it answers no document of Semel"));
  }
  return std::move(answer.body);
}

}  // namespace semel::api_client
