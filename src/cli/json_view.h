// JsonView: a JSON object as a command reads it. What is not there, or of another type, is empty:
// the reader knows what it asked for, and a later version may say more.
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

// One thread at a time.
class JsonView {
 public:
  // `text` is one object that was found good.
  explicit JsonView(std::string_view text);

  const std::string& written() const noexcept { return text_; }
  std::string text(std::string_view member) const;
  // The text, or what its base64 means.
  Bytes bytes(std::string_view member) const;
  std::optional<std::int64_t> number(std::string_view member) const;
  // The same; 0 where it is not there.
  std::size_t count(std::string_view member) const;
  bool flag(std::string_view member) const;
  // As iso_time wrote it.
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
