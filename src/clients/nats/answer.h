// Answer: JetStream's answer to a request, a JSON document.
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
  // A refusal by the server is an error; `known`: see errors.h for both. kUnavailable (R387): the
  // answer is not JSON.
  static Result<Answer> read(std::string_view text, bool known);

  // The value at a JSON pointer. If there is none of that type: the empty text, or `otherwise`.
  std::string text(const char* pointer) const;
  std::int64_t number(const char* pointer, std::int64_t otherwise = 0) const;
  bool has(const char* pointer) const;

 private:
  explicit Answer(std::unique_ptr<json::Document> document) : document_(std::move(document)) {}
  json::Scalar at(const char* pointer) const;

  std::unique_ptr<json::Document> document_;
};

}  // namespace semel::nats
