// RabbitmqServer: Debian's RabbitMQ, of one node. Its queues play the part of a database server's
// databases.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/database_server.h"

namespace semel::test {

class RabbitmqServer final : public DatabaseServer {
 public:
  struct Options {
    // Erlang's terms, of settings that rabbitmq.conf does not take: "{consumer_timeout, 3000}".
    std::vector<std::string> terms;
    // PEM: it speaks TLS too, at tls_port().
    std::string certificate;
    std::string key;
    // For a cluster: the secret of its nodes, and the port of the running name server of the nodes.
    // Without them the server uses its own.
    std::string cookie = {};
    int names_port = 0;
    // A new queue outlives a kill. Asking for that takes longer than making the queue.
    bool queues_outlive_kill = true;
  };

  // For tests that do not change the server.
  static const RabbitmqServer& shared();

  RabbitmqServer() : RabbitmqServer(Options{}) {}
  explicit RabbitmqServer(Options options);
  ~RabbitmqServer() override { end(); }

  // For the vhost / and the user owner, who has all rights. Another user or vhost: "reader:right",
  // "%2F". reader may only read, stranger may enter no vhost; there is also a vhost other/one.
  std::string url(std::string_view) const override { return url_of("owner:right", "%2F"); }
  std::string url() const { return url({}); }
  std::string url_of(std::string_view account, std::string_view vhost) const;
  int tls_port() const;
  // The name used by other nodes.
  std::string node() const { return "test" + std::to_string(port()) + "@localhost"; }
  std::string certificate_file() const { return folder() + "/ca.pem"; }
  // There is no SQL.
  std::string query(const std::string&, const std::string&) const override { return {}; }

  // Creates a queue with a new name. From then on its definition and messages survive a kill.
  std::string new_queue(const std::string& type = "quorum") const;
  static std::string unused_name();
  void make_queue(const std::string& name, const std::string& type) const;
  void delete_queue(const std::string& name) const;
  // The name of a new exchange that routes messages with this header to the queue, and no others.
  std::string new_headers_exchange(const std::string& queue, const std::string& header,
                                   const std::string& value) const;
  // The number of available messages; -1 if the queue does not exist.
  std::int64_t depth(const std::string& queue) const;
  // The same with those that were delivered and not acknowledged.
  std::int64_t messages(const std::string& queue) const;

  struct Post {
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string message_id = {};
    std::string content_type = {};
    std::string correlation_id = {};
    std::string type = {};
    bool persistent = true;  // as it was taken
  };
  // Persistent; returns when the broker has confirmed them all.
  void publish(const std::string& queue, const std::vector<Post>& posts) const;
  // A message whose header `deep` is so many lists, each in the one before it.
  void publish_nested(const std::string& queue, std::size_t depth) const;
  void publish_bodies(const std::string& queue, const std::vector<std::string>& bodies) const;

  // All that is ready in it, in its order, and gone from it then.
  std::vector<Post> take_all(const std::string& queue) const;

  // Returns when the broker has hung up on a client that agreed on this heartbeat and keeps silent.
  // False where it takes too long.
  bool hangs_up_on_the_silent(std::chrono::seconds heartbeat) const;

  // The value of the Erlang expression in the broker, as Erlang writes it. Takes some milliseconds,
  // where rabbitmqctl takes a second of the processor.
  std::string eval(const std::string& expression) const;
  // Above so many bytes it takes nothing from publishers.
  void limit_memory(std::int64_t bytes) const;
  // As its leader tells it: "leader"; "none" where the queue does not exist, or its node is down.
  std::string of_queue(const std::string& queue, std::string_view what) const;

 private:
  explicit RabbitmqServer(const std::optional<ServerAddress>& found);
  std::vector<std::string> command(const std::string& what) const;

  std::vector<std::string> maker() const override { return {"/bin/mkdir", "-p", data()}; }
  std::vector<std::string> server() const override;
  std::string socket_path() const override;
  bool answers() const override;
  std::string home_database() const override { return {}; }
  std::string drop_statement(const std::string&) const override { return {}; }

  Options options_;
};

}  // namespace semel::test
