// Replies of a Redis server (RESP, version 2), and the reader that finds them in received bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/bytes.h>

struct redisReader;

namespace semel::redis {

struct Reply {
  enum class Kind { kNil, kStatus, kError, kNumber, kBytes, kList };

  Kind kind = Kind::kNil;
  std::int64_t number = 0;
  Bytes bytes;  // kBytes, kStatus, kError
  std::vector<Reply> list;

  bool is_error() const noexcept { return kind == Kind::kError; }
};

// Accepts bytes in pieces of any size. Not thread-safe.
class Reader {
 public:
  Reader();

  void feed(std::string_view bytes);
  // Returns the next complete reply; nullopt if more bytes are needed. Throws core::Failure (R200)
  // if the bytes are not a reply: nothing after them can be parsed.
  std::optional<Reply> next();

 private:
  struct Deleter {
    void operator()(redisReader* reader) const noexcept;
  };
  std::unique_ptr<redisReader, Deleter> reader_;
};

// Appends a command to `out`, in the form that the server reads.
void append_command(std::string& out, const std::vector<BytesView>& arguments);

}  // namespace semel::redis
