// FakeServer: imitates a pooler or a server in another language, at the level of PostgreSQL's
// protocol. It accepts any number of clients, one at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "system/descriptor.h"
#include "system/event_fd.h"
#include "system/mutex.h"

namespace semel::postgres {

class FakeServer {
 public:
  // Messages to a client, each as the server would send it.
  static std::string error(std::string_view severity, std::string_view state,
                           std::string_view words);
  // Transaction status. I: none is open; E: it has failed, and is open still.
  static std::string ready(char status = 'I');
  static std::string row(std::string_view value);
  static std::string done();
  // A statement was parsed, and its portal bound and described, in a pipeline.
  static std::string parsed();
  static std::string bound();
  // A successful login; the session of the server has this number.
  static std::string welcome(int session);

  // Answers to the beginning of a connection, to each simple query, and to a pipeline at its Sync.
  struct Script {
    std::string hello;
    std::function<std::string(std::string_view query)> answer;
    std::string pipeline = {};
  };
  explicit FakeServer(Script script);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const noexcept { return port_; }
  std::string url() const;

 private:
  void listen();
  void serve(system::Descriptor client) const;

  const Script script_;
  system::EventFd ending_;
  system::Descriptor listener_;
  int port_ = 0;
  std::vector<std::jthread> clients_;
  std::jthread thread_;
};

}  // namespace semel::postgres
