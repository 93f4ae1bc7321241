#include "benchmarks/redis_by_hand.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
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

class Connection {
 public:
  explicit Connection(const std::string& socket) : context_(redisConnectUnix(socket.c_str())) {
    if (context_ == nullptr || context_->err != 0) give_up("no connection to " + socket);
  }
  ~Connection() { redisFree(context_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Yields a number where the answer is one, 0 for nil, 1 for OK, and its text in `text`.
  long long ask(const std::vector<std::string_view>& words, std::string* text = nullptr) {
    starts_.clear();
    sizes_.clear();
    for (const std::string_view word : words) {
      starts_.push_back(word.data());
      sizes_.push_back(word.size());
    }
    auto* const reply = static_cast<redisReply*>(
        redisCommandArgv(context_, static_cast<int>(words.size()), starts_.data(), sizes_.data()));
    if (reply == nullptr) give_up(context_->errstr);
    if (reply->type == REDIS_REPLY_ERROR) give_up(reply->str);
    if (text != nullptr && reply->str != nullptr) text->assign(reply->str, reply->len);
    const long long answer = reply->type == REDIS_REPLY_INTEGER ? reply->integer
                             : reply->type == REDIS_REPLY_NIL   ? 0
                                                                : 1;
    freeReplyObject(reply);
    return answer;
  }

 private:
  redisContext* context_;
  std::vector<const char*> starts_;
  std::vector<std::size_t> sizes_;
};

class ByHandOnRedis final : public RedisByHand {
 public:
  ByHandOnRedis(const std::string& socket, Style style) : style_(style), connection_(socket) {
    connection_.ask({"SCRIPT", "LOAD", kClaim}, &claim_);
    connection_.ask({"SCRIPT", "LOAD", kComplete}, &complete_);
  }

  void handle(const std::vector<std::string>& payloads, std::size_t batch) override {
    if (style_ != Style::kScripts) batch = 1;
    for (std::size_t i = 0; i < payloads.size(); i += batch) {
      const std::size_t count = std::min(batch, payloads.size() - i);
      read(payloads.data() + i, count);
      if (style_ == Style::kScripts) {
        handle_by_scripts();
      } else if (style_ == Style::kSetNx) {
        need(connection_.ask({"SET", keys_[0], "1", "PX", kTtlMs, "NX"}), 1);
      } else {
        need(connection_.ask({"GET", keys_[0]}), 0);
        need(connection_.ask({"SET", keys_[0], "consuming", "PX", kLeaseMs, "NX"}), 1);
        need(connection_.ask({"SET", keys_[0], "completed", "PX", kTtlMs}), 1);
      }
    }
  }

 private:
  static void need(long long got, std::size_t wanted) {
    if (got != static_cast<long long>(wanted)) give_up(fmt::format("{} of {} keys", got, wanted));
  }

  // All styles read the message: its key and a digest of it.
  void read(const std::string* payloads, std::size_t count) {
    fields_.resize(count);
    keys_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      parser_.parse(payloads[i], fields_[i]);
      keys_[i] = "hand:";
      keys_[i].append(reinterpret_cast<const char*>(fields_[i].id.bytes),
                      sizeof fields_[i].id.bytes);
    }
  }

  std::string_view part(std::size_t at, std::size_t begin) const {
    return {reinterpret_cast<const char*>(fields_[at].digest) + begin, kPrint};
  }

  void handle_by_scripts() {
    const std::string count = std::to_string(keys_.size());
    std::vector<std::string_view> claim = {"EVALSHA", claim_, count};
    claim.insert(claim.end(), keys_.begin(), keys_.end());
    std::vector<std::string_view> complete = claim;
    complete[1] = complete_;
    claim.emplace_back(kLeaseMs);
    complete.emplace_back(kTtlMs);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      claim.push_back(part(i, 0));
      claim.push_back(part(i, kPrint));
      complete.push_back(part(i, kPrint));
    }
    need(connection_.ask(claim), keys_.size());
    need(connection_.ask(complete), keys_.size());
  }

  const Style style_;
  Connection connection_;
  std::string claim_, complete_;
  Parser parser_;
  std::vector<Fields> fields_;
  std::vector<std::string> keys_;
};

}  // namespace

std::unique_ptr<RedisByHand> make_redis_by_hand(const std::string& socket, Style style) {
  return std::make_unique<ByHandOnRedis>(socket, style);
}

void forget_all(const std::string& socket) { Connection(socket).ask({"FLUSHALL", "SYNC"}); }

long long memory_of(const std::string& socket) {
  std::string text;
  Connection(socket).ask({"INFO", "memory"}, &text);
  constexpr std::string_view kName = "used_memory:";
  const auto at = text.find(kName);
  if (at == std::string::npos) give_up("the server does not say what memory it uses");
  return std::atoll(text.c_str() + at + kName.size());
}

}  // namespace semel::bench
