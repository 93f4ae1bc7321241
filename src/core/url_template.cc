#include "core/url_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "base/overloaded.h"

namespace semel::core {
namespace {

// The URL may be a secret: the words contain nothing of it.
tl::unexpected<Error> flaw(const char* words) {
  return failure({ErrorKind::kRejected, {}, words, {}});
}

// Parses the text between the braces.
std::optional<UrlPlace> read_place(std::string_view text) {
  UrlPlace place;
  place.written = fmt::format("{{{}}}", text);
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view form = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 1);
  if (form == "header") {
    place.of = UrlPlace::Of::kHeader;
    place.name = rest;
    return rest.empty() ? std::nullopt : std::optional(std::move(place));
  }
  if (form == "answer") {
    const auto slash = rest.find('/');
    if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
    place.of = UrlPlace::Of::kAnswer;
    place.name = rest.substr(0, slash);
    rest.remove_prefix(slash);
  } else if (form != "json") {
    return std::nullopt;
  }
  auto pointer = json::Pointer::parse(rest);
  if (!pointer) return std::nullopt;
  place.pointer = *std::move(pointer);
  return place;
}

std::string escaped_segment(std::string_view value) {
  std::string safe;
  for (const char c : value) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    safe += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return safe;
}

std::optional<std::string> scalar_text(const json::Scalar& scalar) {
  using Text = std::optional<std::string>;
  return std::visit(Overloaded{[](const std::string& text) -> Text { return text; },
                               [](const json::Integer& one) -> Text { return Text(one.written); },
                               [](const json::Float& one) -> Text { return Text(one.written); },
                               [](bool truth) -> Text { return truth ? "true" : "false"; },
                               [](const auto&) -> Text { return std::nullopt; }},
                    scalar);
}

std::optional<std::string> text_at(BytesView json, const json::Pointer& pointer) {
  json::Document document;
  if (!document.parse(json)) return std::nullopt;
  const auto found = document.at(pointer);
  return found ? scalar_text(*found) : std::nullopt;
}

std::optional<std::string> value_of(const UrlPlace& place, const Message& message,
                                    const StepAnswers& answers) {
  switch (place.of) {
    case UrlPlace::Of::kMessage:
      return text_at(message.payload(), place.pointer);
    case UrlPlace::Of::kHeader: {
      const auto value = message.header(place.name);
      return value ? std::optional<std::string>(*value) : std::nullopt;
    }
    case UrlPlace::Of::kAnswer: {
      const auto step = std::find_if(answers.begin(), answers.end(),
                                     [&](const auto& one) { return one.first == place.name; });
      return step == answers.end() ? std::nullopt : text_at(step->second, place.pointer);
    }
  }
  return std::nullopt;
}

[[noreturn]] void refuse_url(const UrlPlace& place, std::string_view why) {
  throw PayloadInvalid(
      {ErrorKind::kRejected, {}, fmt::format("the URL's {}: {}", place.written, why), {}});
}

}  // namespace

Result<UrlTemplate> UrlTemplate::parse(std::string_view url) {
  UrlTemplate made;
  for (;;) {
    const auto open = url.find('{');
    const std::string_view text = url.substr(0, open);
    if (text.find('}') != std::string_view::npos) return flaw("has a } without {");
    made.texts_.emplace_back(text);
    if (open == std::string_view::npos) return made;
    url.remove_prefix(open + 1);
    const auto close = url.find('}');
    if (close == std::string_view::npos) return flaw("has a { without }");
    auto place = read_place(url.substr(0, close));
    if (!place) {
      return flaw(
          "has braces around what is none of json:/pointer, header:NAME, answer:STEP/pointer");
    }
    // A message must not choose the host, nor the password that is sent to it.
    const std::string_view before = made.texts_.front();
    const auto scheme = before.find("://");
    if (scheme == std::string_view::npos ||
        before.find_first_of("/?", scheme + 3) == std::string_view::npos) {
      return flaw("has a place before its path: scheme, host and port are always the same");
    }
    made.places_.push_back(*std::move(place));
    url.remove_prefix(close + 1);
  }
}

bool UrlTemplate::has_place_in_path() const noexcept {
  return !places_.empty() && texts_.front().find('?') == std::string::npos;
}

std::string UrlTemplate::sample() const {
  std::string made = texts_.front();
  for (std::size_t i = 1; i < texts_.size(); ++i) made += "x" + texts_[i];
  return made;
}

std::string UrlTemplate::url(const Message& message, const StepAnswers& answers) const {
  std::string made = texts_.front();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto value = value_of(places_[i], message, answers);
    if (!value) refuse_url(places_[i], "no single value is there");
    if (value->empty()) refuse_url(places_[i], "what is there is empty");
    if (*value == "." || *value == "..")
      refuse_url(places_[i], "what is there would change the path");
    made += escaped_segment(*value);
    made += texts_[i + 1];
  }
  return made;
}

}  // namespace semel::core
