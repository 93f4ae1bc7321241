#include "clients/redis/reply.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

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

void append_command(std::string& out, const std::vector<BytesView>& arguments) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  starts.reserve(arguments.size());
  sizes.reserve(arguments.size());
  for (const BytesView argument : arguments) {
    // An empty view may have no address, and the formatter would copy from it.
    starts.push_back(argument.empty() ? "" : argument.data());
    sizes.push_back(argument.size());
  }
  // The variant that fills a plain buffer prints each size by sprintf.
  sds text = nullptr;
  const int size = ::redisFormatSdsCommandArgv(&text, static_cast<int>(starts.size()),
                                               starts.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  const std::unique_ptr<char, decltype(&::redisFreeSdsCommand)> owned(text, &::redisFreeSdsCommand);
  out.append(text, static_cast<std::size_t>(size));
}

}  // namespace semel::redis
