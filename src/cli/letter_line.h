// A dead letter as a line of JSON, and back: what `dlq export` writes and `dlq import` reads. No
// byte is lost on the way. Pure.
#pragma once

#include <string_view>

#include <semel/admin/records.h>
#include <semel/result.h>

#include "base/json.h"

namespace semel::cli {

json::Writer letter_line(const DeadLetter& letter);

// kRejected with what is wrong: not such a line, a member that is missing, bytes that are not the
// ones which were written.
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
