// RedisServer: a real one, in the trial's folder. Redis: a connection to it, as anyone would have
// it, on which no code of Semel's has a part.
#pragma once

#include <optional>
#include <string>

#include <semel/error.h>

#include "cli/demo/process.h"

struct redisContext;

namespace semel::cli::demo {

// Where the program is; none where it is not installed.
std::optional<std::string> find_redis_server();
// Why it was not found.
Error no_redis_server();

// Its socket in that folder.
std::string redis_socket(const std::string& folder);

// Ends with the object.
class RedisServer {
 public:
  // Waits until it answers. Throws SemelError.
  RedisServer(const std::string& program, const std::string& folder);

 private:
  Process process_;
};

// Every failure is thrown as SemelError.
class Redis {
 public:
  explicit Redis(const std::string& socket);
  ~Redis();
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  // SET key 1 EX 86400 NX: whether it was not there.
  bool set_nx(const std::string& key);
  // Whether it answers.
  bool ping();

 private:
  redisContext* context_ = nullptr;
};

}  // namespace semel::cli::demo
