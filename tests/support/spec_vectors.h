// The vectors of the wire contract, from the files of spec/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <semel/bytes.h>
#include <semel/spi/claim.h>
#include <semel/spi/record_machine.h>

#include "base/json.h"

namespace semel::test {

// The path of a file of spec/.
std::string spec_path(const std::string& name);

// A file of test vectors. Places are JSON pointers: "/ids/3/key". A file that cannot be read, or
// lacks what is asked for, throws std::runtime_error. Not thread-safe.
class SpecVectors {
 public:
  explicit SpecVectors(const std::string& name);

  // The places of a list's elements.
  std::vector<std::string> each(const std::string& list) const;
  bool has(const std::string& place) const;  // false where it is null
  std::string text(const std::string& place) const;
  std::int64_t number(const std::string& place) const;
  bool truth(const std::string& place) const;
  // The text, or the bytes that its `_base64` member encodes, repeated as its `times` member says;
  // none if it is null.
  std::optional<Bytes> content(const std::string& vector, const std::string& name) const;
  Fingerprint fingerprint(const std::string& place) const;
  Nonce nonce(const std::string& place) const;
  // A record at a place; its times count from `now`. None where it is null.
  std::optional<spi::Record> record(const std::string& place, StoreTime now) const;
  // A claim's answer in one line: its outcome and the values that belong to it.
  std::string answer(const std::string& place) const;

 private:
  json::Scalar at(const std::string& place) const;

  json::Document document_;
};

// A record in the words of the files, to compare two.
std::string spec_text(const std::optional<spi::Record>& record, StoreTime now);

}  // namespace semel::test
