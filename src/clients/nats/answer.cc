#include "clients/nats/answer.h"

#include <utility>
#include <variant>

#include "clients/nats/errors.h"

namespace semel::nats {

Result<Answer> Answer::read(std::string_view text, bool known) {
  auto document = std::make_unique<json::Document>();
  if (!document->parse(text)) {
    return failure({ErrorKind::kUnavailable, "R387", "JetStream's answer is not JSON",
                    "check which server answers at nats.url"});
  }
  Answer answer(std::move(document));
  if (answer.has("/error")) {
    return failure(
        api_error(answer.number("/error/err_code"), answer.text("/error/description"), known));
  }
  return answer;
}

json::Scalar Answer::at(const char* pointer) const {
  auto found = document_->at(json::Pointer::parse(pointer).value());
  return found ? *std::move(found) : json::Scalar(json::Absent{});
}

std::string Answer::text(const char* pointer) const {
  auto found = at(pointer);
  auto* const text = std::get_if<std::string>(&found);
  return text == nullptr ? std::string() : std::move(*text);
}

std::int64_t Answer::number(const char* pointer, std::int64_t otherwise) const {
  const auto found = at(pointer);
  const auto* const number = std::get_if<json::Integer>(&found);
  return number == nullptr ? otherwise : number->value.value_or(otherwise);
}

bool Answer::has(const char* pointer) const {
  return !std::holds_alternative<json::Absent>(at(pointer));
}

}  // namespace semel::nats
