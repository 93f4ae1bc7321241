#include "tests/support/redis_server.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>

namespace semel::test {
namespace {

using ContextPtr = std::unique_ptr<redisContext, decltype(&redisFree)>;

struct ReplyFreed {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using ReplyPtr = std::unique_ptr<redisReply, ReplyFreed>;

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= command.size();) {
    const auto end = std::min(command.find(' ', at), command.size());
    words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

ReplyPtr ask(redisContext* context, const std::vector<std::string>& words) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  return ReplyPtr(static_cast<redisReply*>(
      redisCommandArgv(context, static_cast<int>(words.size()), starts.data(), sizes.data())));
}

std::string reply_text(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
  if (reply.type != REDIS_REPLY_ARRAY) {
    return reply.str == nullptr ? "" : std::string(reply.str, reply.len);
  }
  std::string text;
  for (std::size_t i = 0; i < reply.elements; ++i) {
    if (i > 0) text += '\n';
    text += reply_text(*reply.element[i]);
  }
  return text;
}

}  // namespace

RedisServer::Options RedisServer::fast() { return {.arguments = {"--appendfsync", "no"}}; }

const RedisServer& RedisServer::shared() {
  static const RedisServer server(find_shared_server("redis"));
  return server;
}

RedisServer::RedisServer(Options options)
    : DatabaseServer("redis", plain_user("redis"), options.keep_pristine),
      options_(std::move(options)) {
  start();
}

RedisServer::RedisServer(const std::optional<ServerAddress>& found)
    : DatabaseServer("redis", found, plain_user("redis")), options_(fast()) {
  if (!found) start();
}

std::string RedisServer::url(std::string_view) const {
  return fmt::format("redis://127.0.0.1:{}/0", port());
}

std::vector<std::string> RedisServer::server() const {
  std::vector<std::string> all = {"/usr/bin/redis-server",
                                  "--port",
                                  std::to_string(port()),
                                  "--bind",
                                  "127.0.0.1",
                                  "--unixsocket",
                                  socket(),
                                  "--unixsocketperm",
                                  "777",
                                  "--dir",
                                  data(),
                                  "--save",
                                  "",
                                  "--appendonly",
                                  "yes",
                                  "--appendfsync",
                                  "always",
                                  "--daemonize",
                                  "no",
                                  "--enable-debug-command",
                                  "yes"};
  all.insert(all.end(), options_.arguments.begin(), options_.arguments.end());
  return all;
}

bool RedisServer::answers() const {
  // Uses the socket: another server may be at the port.
  const ContextPtr context(redisConnectUnix(socket().c_str()), &redisFree);
  if (context == nullptr || context->err != 0) return false;
  const ReplyPtr reply = ask(context.get(), {"PING"});
  return reply != nullptr &&
         (reply_text(*reply) == "PONG" || reply_text(*reply).starts_with("NOAUTH"));
}

std::string RedisServer::query(const std::string&, const std::string& command) const {
  return run(words_of(command));
}

std::string RedisServer::run(const std::vector<std::string>& words) const {
  try {
    return redis_command(port(), words);
  } catch (const std::runtime_error& failed) {
    throw std::runtime_error(std::string(failed.what()) + "\n" + log_tail());
  }
}

void add_tls(std::vector<std::string>& arguments, const RedisTls& tls) {
  const std::vector<std::string> more = {"--tls-port",         std::to_string(tls.port),
                                         "--tls-cert-file",    tls.certificate,
                                         "--tls-key-file",     tls.key,
                                         "--tls-ca-cert-file", tls.trusted,
                                         "--tls-auth-clients", tls.asks_clients ? "yes" : "no"};
  arguments.insert(arguments.end(), more.begin(), more.end());
}

std::string redis_command(int port, const std::vector<std::string>& words) {
  const ContextPtr context(redisConnect("127.0.0.1", port), &redisFree);
  if (context == nullptr || context->err != 0) {
    throw std::runtime_error(fmt::format("no Redis server answers at port {}", port));
  }
  const ReplyPtr reply = ask(context.get(), words);
  if (reply == nullptr) throw std::runtime_error(words.front() + ": " + context->errstr);
  if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(words.front() + ": " + reply->str);
  return reply_text(*reply);
}

// The words are separated by spaces.
std::string RedisServer::drop_statement(const std::string& database) const {
  return fmt::format(
      "EVAL {} 0 {}*",
      "for\t_,key\tin\tipairs(redis.call('KEYS',ARGV[1]))do\tredis.call('DEL',key)end", database);
}

}  // namespace semel::test
