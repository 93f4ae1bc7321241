// A dead letter as a line of JSON: `dlq export` writes it and `dlq import` reads it back. The bytes
// are preserved exactly. Pure.
#pragma once

#include <string_view>

#include <semel/admin/records.h>
#include <semel/result.h>

#include "base/json.h"

namespace semel::cli {

json::Writer letter_line(const DeadLetter& letter);

// Fails with kRejected and the reason: not such a line, a missing member, or bytes that differ from
// the ones that were written.
class LetterReader {
 public:
  Result<DeadLetter> read(std::string_view line);

 private:
  Result<json::Scalar> at(const std::string& pointer);
  Result<std::string> text(const std::string& name);
  Result<Bytes> bytes(const std::string& name);
  Result<std::int64_t> number(const std::string& name);
  Result<Headers> headers();

  json::Document document_;
};

}  // namespace semel::cli
