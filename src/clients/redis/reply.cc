#include "clients/redis/reply.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <new>

#include "core/failure.h"

namespace semel::redis {
namespace {

struct ReplyDeleter {
  void operator()(redisReply* reply) const noexcept { ::freeReplyObject(reply); }
};

[[noreturn]] void not_redis(const char* why) {
  core::fail({ErrorKind::kUnavailable, "R200",
              fmt::format("what answers is no Redis server, or was cut off: {}", why),
              "check host and port in store.redis.url"});
}

Reply::Kind kind_of(int type) {
  switch (type) {
    case REDIS_REPLY_STATUS:
      return Reply::Kind::kStatus;
    case REDIS_REPLY_ERROR:
      return Reply::Kind::kError;
    case REDIS_REPLY_INTEGER:
      return Reply::Kind::kNumber;
    case REDIS_REPLY_STRING:
      return Reply::Kind::kBytes;
    case REDIS_REPLY_ARRAY:
      return Reply::Kind::kList;
    default:
      return Reply::Kind::kNil;
  }
}

Reply converted(const redisReply& from) {
  Reply reply;
  reply.kind = kind_of(from.type);
  reply.number = from.integer;
  if (from.str != nullptr) reply.bytes.assign(from.str, from.len);
  reply.list.reserve(from.elements);
  for (std::size_t i = 0; i < from.elements; ++i) {
    reply.list.push_back(converted(*from.element[i]));
  }
  return reply;
}

// A line break, a mark, and the most digits that a size has.
constexpr std::size_t kLongestSize = 5 + std::numeric_limits<std::size_t>::digits10 + 1;

void append_size(std::string& out, std::string_view mark, std::size_t size) {
  char text[kLongestSize];
  const auto end = std::to_chars(std::copy(mark.begin(), mark.end(), text), std::end(text), size);
  out.append(text, end.ptr);
}

}  // namespace

void Reader::Deleter::operator()(redisReader* reader) const noexcept { ::redisReaderFree(reader); }

Reader::Reader() : reader_(::redisReaderCreate()) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

void Reader::feed(std::string_view bytes) {
  if (::redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    throw std::bad_alloc();
  }
}

std::optional<Reply> Reader::next() {
  void* found = nullptr;
  if (::redisReaderGetReply(reader_.get(), &found) != REDIS_OK) not_redis(reader_->errstr);
  if (found == nullptr) return std::nullopt;
  const std::unique_ptr<redisReply, ReplyDeleter> reply(static_cast<redisReply*>(found));
  return converted(*reply);
}

// hiredis has formatters too. They would be the most expensive part of a short command: they print
// each size through a format string, and copy the result.
void append_command(std::string& out, const std::vector<BytesView>& arguments) {
  std::size_t bytes = kLongestSize;
  for (const BytesView argument : arguments) bytes += kLongestSize + argument.size();
  out.reserve(out.size() + bytes);
  append_size(out, "*", arguments.size());
  for (const BytesView argument : arguments) {
    append_size(out, "\r\n$", argument.size());
    out.append("\r\n", 2);
    out.append(argument);
  }
  out.append("\r\n", 2);
}

}  // namespace semel::redis
