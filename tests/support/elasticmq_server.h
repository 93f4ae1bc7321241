// ElasticmqServer: an ElasticMQ, which implements the API of Amazon SQS. Its queues play the part
// of a database server's databases. They are in memory, so a kill loses them. It does not check
// signatures.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/database_server.h"

namespace semel::test {

class ElasticmqServer final : public DatabaseServer {
 public:
  // Why there is none on this machine; nothing where there is.
  static std::optional<std::string> why_absent();
  // For tests that do not change the server.
  static const ElasticmqServer& shared();

  // kAway: it has its port, and listens there from start() on.
  enum class Begins { kStarted, kAway };
  explicit ElasticmqServer(Begins begins = Begins::kStarted);
  ~ElasticmqServer() override { end(); }

  // The address of a queue.
  std::string url(std::string_view queue) const override;
  // There is no SQL.
  std::string query(const std::string&, const std::string&) const override { return {}; }

  using Attributes = std::vector<std::pair<std::string, std::string>>;
  // The name of a queue that was not there before.
  std::string new_queue(const Attributes& attributes = {}) const;
  // A FIFO queue, likewise.
  std::string new_fifo_queue() const;
  void make_queue(const std::string& name, const Attributes& attributes = {}) const;
  void delete_queue(const std::string& name) const;
  static std::string unused_name();
  // A standard queue that is there, empty, from the beginning of each start() from now on.
  void begin_with(const std::string& queue) { first_queues_.push_back(queue); }

  struct Post {
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};  // message attributes
    std::string group = {};                                         // of a FIFO queue
    std::string deduplication = {};                                 // likewise

    // The value of the header; "(none)" without it.
    std::string header(std::string_view name) const;
  };
  // Returns when the server has them all.
  void send(const std::string& queue, const std::vector<Post>& posts) const;
  void send_bodies(const std::string& queue, const std::vector<std::string>& bodies) const;

  // The number of available messages, and of messages that were received and not deleted.
  std::int64_t ready(const std::string& queue) const;
  std::int64_t in_flight(const std::string& queue) const;
  // Receives one message, as another consumer would, and hides it for this time. Returns its body;
  // empty if there is none.
  std::string take_one(const std::string& queue, int visibility_seconds) const;
  // Receives and deletes what is there. Messages of a FIFO queue come in the order of each group.
  std::vector<Post> take_all(const std::string& queue) const;
  // The same at any server of this API: `call` makes a call of it, and returns its good answer.
  using Caller = std::function<std::string(const std::string& action, const std::string& body)>;
  static std::vector<Post> take_all_at(const std::string& queue_url, const Caller& call);
  // The server's answer, whatever it is; "(no answer)" where it does not.
  std::string call(const std::string& action, const std::string& body) const;

 private:
  explicit ElasticmqServer(const std::optional<ServerAddress>& found);
  std::string checked(const std::string& action, const std::string& body) const;
  std::int64_t count(const std::string& queue, const std::string& attribute) const;

  std::vector<std::string> maker() const override { return {"/bin/mkdir", "-p", data()}; }
  std::vector<std::string> server() const override;
  std::string socket_path() const override { return {}; }
  bool answers() const override;
  std::string home_database() const override { return {}; }
  std::string drop_statement(const std::string&) const override { return {}; }

  std::vector<std::string> first_queues_;
};

}  // namespace semel::test
