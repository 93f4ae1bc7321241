// JsonView: read access to a JSON object for commands. Members that are missing or of another type
// read as empty: the command knows what it asked for, and a later version may add members.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>
#include <semel/bytes.h>

#include "base/json.h"

namespace semel::cli {

// Not thread-safe.
class JsonView {
 public:
  // `text`: a validated JSON object.
  explicit JsonView(std::string_view text);

  const std::string& written() const noexcept { return text_; }
  std::string text(std::string_view member) const;
  // The text, or the bytes that its base64 encodes.
  Bytes bytes(std::string_view member) const;
  std::optional<std::int64_t> number(std::string_view member) const;
  // 0 if the member is missing.
  std::size_t count(std::string_view member) const;
  bool flag(std::string_view member) const;
  // Reads a time that iso_time wrote.
  std::optional<StoreTime> time(std::string_view member) const;
  JsonView object(std::string_view member) const;
  std::vector<JsonView> objects(std::string_view member) const;
  std::vector<std::string> texts(std::string_view member) const;
  std::vector<std::int64_t> numbers(std::string_view member) const;

 private:
  json::Scalar at(std::string_view member) const;
  std::vector<std::string_view> elements(std::string_view member) const;

  std::string text_;
  std::unique_ptr<json::Document> document_;
};

}  // namespace semel::cli
