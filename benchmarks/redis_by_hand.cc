#include "benchmarks/redis_by_hand.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "benchmarks/measure.h"
#include "benchmarks/message_fields.h"

namespace semel::bench {
namespace {

constexpr const char* kLeaseMs = "60000";
constexpr const char* kTtlMs = "604800000";
constexpr std::size_t kPrint = 16;

constexpr const char* kClaim = R"lua(
local time = redis.call('TIME')
local till = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1])
local won = 0
for i, key in ipairs(KEYS) do
  if not redis.call('GET', key) then
    redis.call('SET', key, 'C' .. ARGV[2 * i] .. ARGV[2 * i + 1] .. till)
    won = won + 1
  end
end
return won
)lua";

constexpr const char* kComplete = R"lua(
local ended = 0
for i, key in ipairs(KEYS) do
  local old = redis.call('GET', key)
  if old and string.sub(old, 1, 1) == 'C' and string.sub(old, 18, 33) == ARGV[i + 1] then
    redis.call('SET', key, 'D' .. string.sub(old, 2, 17), 'PX', ARGV[1])
    ended = ended + 1
  end
end
return ended
)lua";

class RedisConnection {
 public:
  explicit RedisConnection(const RedisPlace::Node& node)
      : context_(node.socket.empty() ? redisConnect("127.0.0.1", node.port)
                                     : redisConnectUnix(node.socket.c_str())) {
    if (context_ == nullptr || context_->err != 0) give_up("no connection to a Redis server");
  }
  ~RedisConnection() { redisFree(context_); }
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  void send(const std::vector<std::string_view>& words) {
    starts_.clear();
    sizes_.clear();
    for (const std::string_view word : words) {
      starts_.push_back(word.data());
      sizes_.push_back(word.size());
    }
    redisAppendCommandArgv(context_, static_cast<int>(words.size()), starts_.data(), sizes_.data());
    ++open_;
  }
  // Sends the queued commands; answers are waited for where they are read.
  void flush() {
    for (int done = open_ == 0; done == 0;) {
      if (redisBufferWrite(context_, &done) != REDIS_OK) give_up(context_->errstr);
    }
  }
  // Yields a number where the answer is one, 0 for nil, 1 for OK, and its text in `text`.
  long long read(std::string* text = nullptr) {
    void* got = nullptr;
    if (redisGetReply(context_, &got) != REDIS_OK) give_up(context_->errstr);
    auto* const reply = static_cast<redisReply*>(got);
    if (reply->type == REDIS_REPLY_ERROR) give_up(reply->str);
    if (text != nullptr && reply->str != nullptr) text->assign(reply->str, reply->len);
    const long long answer = reply->type == REDIS_REPLY_INTEGER ? reply->integer
                             : reply->type == REDIS_REPLY_NIL   ? 0
                                                                : 1;
    freeReplyObject(reply);
    --open_;
    return answer;
  }
  long long read_all() {
    long long sum = 0;
    while (open_ > 0) sum += read();
    return sum;
  }
  long long ask(const std::vector<std::string_view>& words, std::string* text = nullptr) {
    send(words);
    return read(text);
  }

 private:
  redisContext* context_;
  int open_ = 0;
  std::vector<const char*> starts_;
  std::vector<std::size_t> sizes_;
};

class ByHandOnRedis final : public RedisByHand {
 public:
  ByHandOnRedis(const RedisPlace& place, Style style) : place_(place), style_(style) {
    for (const RedisPlace::Node& node : place_.nodes) {
      RedisConnection& one = *connections_.emplace_back(std::make_unique<RedisConnection>(node));
      one.ask({"SCRIPT", "LOAD", kClaim}, &claim_);
      one.ask({"SCRIPT", "LOAD", kComplete}, &complete_);
    }
    groups_.resize(std::max<std::size_t>(place_.tags.size(), 1));
  }

  void handle(const std::vector<std::string>& payloads, std::size_t batch) override {
    if (style_ != Style::kScripts) batch = 1;
    for (std::size_t i = 0; i < payloads.size(); i += batch) {
      read(payloads.data() + i, std::min(batch, payloads.size() - i));
      if (style_ == Style::kScripts) {
        run(claim_, kLeaseMs, true);
        run(complete_, kTtlMs, false);
        for (const std::size_t used : used_) groups_[used].clear();
      } else {
        handle_one(*connections_[owner_of(used_.front())]);
        groups_[used_.front()].clear();
      }
    }
  }

 private:
  static void need(long long got, std::size_t wanted) {
    if (got != static_cast<long long>(wanted)) give_up(fmt::format("{} of {} keys", got, wanted));
  }

  std::size_t owner_of(std::size_t tag) const {
    return place_.tags.empty() ? 0 : place_.tags[tag].owner;
  }

  // All styles read the message: its key and a digest of it.
  void read(const std::string* payloads, std::size_t count) {
    fields_.resize(count);
    keys_.resize(count);
    used_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      parser_.parse(payloads[i], fields_[i]);
      std::size_t tag = 0;
      keys_[i] = "hand:";
      if (!place_.tags.empty()) {
        tag = fields_[i].digest[0] % place_.tags.size();
        fmt::format_to(std::back_inserter(keys_[i]), "{{{}}}", place_.tags[tag].text);
      }
      keys_[i].append(reinterpret_cast<const char*>(fields_[i].id.bytes),
                      sizeof fields_[i].id.bytes);
      if (groups_[tag].empty()) used_.push_back(tag);
      groups_[tag].push_back(i);
    }
  }

  std::string_view part(std::size_t at, std::size_t begin) const {
    return {reinterpret_cast<const char*>(fields_[at].digest) + begin, kPrint};
  }

  void handle_one(RedisConnection& connection) {
    if (style_ == Style::kSetNx) {
      need(connection.ask({"SET", keys_[0], "1", "PX", kTtlMs, "NX"}), 1);
      return;
    }
    need(connection.ask({"GET", keys_[0]}), 0);
    need(connection.ask({"SET", keys_[0], "consuming", "PX", kLeaseMs, "NX"}), 1);
    need(connection.ask({"SET", keys_[0], "completed", "PX", kTtlMs}), 1);
  }

  void run(const std::string& script, const char* time, bool claims) {
    for (const std::size_t tag : used_) {
      const std::vector<std::size_t>& group = groups_[tag];
      const std::string count = std::to_string(group.size());
      words_ = {"EVALSHA", script, count};
      for (const std::size_t i : group) words_.push_back(keys_[i]);
      words_.emplace_back(time);
      for (const std::size_t i : group) {
        if (claims) words_.push_back(part(i, 0));
        words_.push_back(part(i, kPrint));
      }
      connections_[owner_of(tag)]->send(words_);
    }
    for (const auto& connection : connections_) connection->flush();
    long long all = 0;
    for (const auto& connection : connections_) all += connection->read_all();
    need(all, keys_.size());
  }

  const RedisPlace place_;
  const Style style_;
  std::vector<std::unique_ptr<RedisConnection>> connections_;
  std::string claim_, complete_;
  Parser parser_;
  std::vector<Fields> fields_;
  std::vector<std::string> keys_;
  std::vector<std::vector<std::size_t>> groups_;  // of each tag, what has it
  std::vector<std::size_t> used_;                 // the tags that something has
  std::vector<std::string_view> words_;
};

}  // namespace

std::unique_ptr<RedisByHand> make_redis_by_hand(const RedisPlace& place, Style style) {
  return std::make_unique<ByHandOnRedis>(place, style);
}

void forget_all(const RedisPlace& place) {
  for (const RedisPlace::Node& node : place.nodes) {
    RedisConnection connection(node);
    connection.ask({"FLUSHALL", "SYNC"});
    if (!place.tags.empty() && connection.ask({"WAIT", "1", "60000"}) < 1) {
      give_up("a replica of the Cluster does not follow");
    }
  }
}

namespace {

// The number behind `name`, which stands behind `mark` in a section of INFO: of all nodes together,
// nothing of one that does not tell it.
long long told_by_all(const RedisPlace& place, std::string_view section, std::string_view mark,
                      std::string_view name) {
  long long all = 0;
  for (const RedisPlace::Node& node : place.nodes) {
    std::string text;
    RedisConnection(node).ask({"INFO", section}, &text);
    const auto marked = text.find(mark);
    const auto at = marked == std::string::npos ? marked : text.find(name, marked);
    if (at != std::string::npos) all += std::atoll(text.c_str() + at + name.size());
  }
  return all;
}

}  // namespace

long long memory_of(const RedisPlace& place) {
  const long long all = told_by_all(place, "memory", "# Memory", "used_memory:");
  if (all == 0) give_up("the server does not say what memory it uses");
  return all;
}

double script_microseconds_of(const RedisPlace& place) {
  return static_cast<double>(told_by_all(place, "commandstats", "cmdstat_evalsha:", "usec="));
}

}  // namespace semel::bench
