// What a Redis server answers (RESP, version 2), and the reader that finds it in what arrives.
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
  Bytes bytes;  // kBytes, kStatus; of kError the server's words
  std::vector<Reply> list;

  bool is_error() const noexcept { return kind == Kind::kError; }
};

// Takes bytes in whatever pieces they come. Not for several threads.
class Reader {
 public:
  Reader();

  void feed(std::string_view bytes);
  // The next whole reply; none where more bytes are needed. Throws core::Failure (R200) where what
  // came is no reply: nothing that follows can be understood then.
  std::optional<Reply> next();

 private:
  struct Deleter {
    void operator()(redisReader* reader) const noexcept;
  };
  std::unique_ptr<redisReader, Deleter> reader_;
};

// Adds a command to `out`, in the form the server reads.
void append_command(std::string& out, const std::vector<BytesView>& arguments);

}  // namespace semel::redis
