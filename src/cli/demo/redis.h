// RedisServer: a real server in the trial's folder. Redis: an ordinary connection to it, which
// shares no code with Semel.
#pragma once

#include <optional>
#include <string>

#include <semel/error.h>

#include "cli/demo/process.h"

struct redisContext;

namespace semel::cli::demo {

// The path of the program; none if it is not installed.
std::optional<std::string> find_redis_server();
// The error that says why it was not found.
Error no_redis_server();

// The path of its socket in that folder.
std::string redis_socket(const std::string& folder);

// The destructor ends the server.
class RedisServer {
 public:
  // Waits until the server answers. Throws SemelError.
  RedisServer(const std::string& program, const std::string& folder);

 private:
  Process process_;
};

// Throws SemelError on every failure.
class Redis {
 public:
  explicit Redis(const std::string& socket);
  ~Redis();
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  // SET key 1 EX 86400 NX: true if the key did not exist.
  bool set_nx(const std::string& key);
  // Whether the server answers.
  bool ping();

 private:
  redisContext* context_ = nullptr;
};

}  // namespace semel::cli::demo
