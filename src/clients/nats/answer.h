// Answer: what JetStream says to a request, a JSON document.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <semel/result.h>

#include "base/json.h"

namespace semel::nats {

class Answer {
 public:
  // A refusal of the server is an error: errors.h. `known`: as there. kUnavailable (R387): it is no
  // JSON.
  static Result<Answer> read(std::string_view text, bool known);

  // At a JSON pointer. Where there is nothing of that kind: the empty text, and `otherwise`.
  std::string text(const char* pointer) const;
  std::int64_t number(const char* pointer, std::int64_t otherwise = 0) const;
  bool has(const char* pointer) const;

 private:
  explicit Answer(std::unique_ptr<json::Document> document) : document_(std::move(document)) {}
  json::Scalar at(const char* pointer) const;

  std::unique_ptr<json::Document> document_;
};

}  // namespace semel::nats
