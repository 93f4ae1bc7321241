#include "cli/demo/redis.h"

#include <hiredis/hiredis.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include <semel/error.h>

namespace semel::cli::demo {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLongestStart{10'000};
constexpr milliseconds kAskAgain{5};

struct ReplyFreed {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using ReplyPtr = std::unique_ptr<redisReply, ReplyFreed>;

[[noreturn]] void refuse_redis(const std::string& why, const std::string& fix = {}) {
  throw SemelError({ErrorKind::kUnavailable, {}, "the demo's Redis " + why, fix});
}

ProcessSpec server_of(const std::string& program, const std::string& folder) {
  ProcessSpec spec;
  spec.program = program;
  spec.words = {"redis-server",
                "--port",
                "0",
                "--unixsocket",
                redis_socket(folder),
                "--dir",
                folder,
                "--save",
                "",
                "--appendonly",
                "yes",
                "--appendfsync",
                "everysec"};
  spec.log = folder + "/redis.log";
  return spec;
}

bool answers(const std::string& folder) {
  try {
    return Redis(redis_socket(folder)).ping();
  } catch (const SemelError&) {
    return false;
  }
}

}  // namespace

std::optional<std::string> find_redis_server() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string program = std::string(rest.substr(0, end)) + "/redis-server";
    if (end > 0 && ::access(program.c_str(), X_OK) == 0) return program;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

Error no_redis_server() {
  return {ErrorKind::kUnavailable,
          {},
          "redis-server is not on the PATH",
          "apt-get install redis-server"};
}

std::string redis_socket(const std::string& folder) { return folder + "/redis.sock"; }

RedisServer::RedisServer(const std::string& program, const std::string& folder)
    : process_(server_of(program, folder)) {
  const auto until = steady_clock::now() + kLongestStart;
  while (!answers(folder)) {
    if (!process_.runs() || steady_clock::now() > until) {
      refuse_redis("does not start: its words are in " + process_.log(),
                   "TMPDIR names a place with a shorter path, and --keep keeps the log");
    }
    std::this_thread::sleep_for(kAskAgain);
  }
}

Redis::Redis(const std::string& socket) : context_(redisConnectUnix(socket.c_str())) {
  if (context_ != nullptr && context_->err == 0) return;
  const std::string why = context_ != nullptr ? context_->errstr : "no memory";
  redisFree(context_);
  refuse_redis("cannot be reached at " + socket + ": " + why);
}

Redis::~Redis() { redisFree(context_); }

bool Redis::set_nx(const std::string& key) {
  const ReplyPtr reply(static_cast<redisReply*>(
      redisCommand(context_, "SET %b 1 EX 86400 NX", key.data(), key.size())));
  if (reply == nullptr) refuse_redis(std::string("is gone: ") + context_->errstr);
  if (reply->type == REDIS_REPLY_ERROR) refuse_redis(std::string("says ") + reply->str);
  return reply->type == REDIS_REPLY_STATUS;
}

bool Redis::ping() {
  const ReplyPtr reply(static_cast<redisReply*>(redisCommand(context_, "PING")));
  return reply != nullptr && reply->type == REDIS_REPLY_STATUS;
}

}  // namespace semel::cli::demo
