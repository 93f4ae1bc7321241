// NatsServer: Debian's nats-server with JetStream, of one node. Its streams play the part of a
// database server's databases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/database_server.h"

namespace semel::test {

class NatsServer final : public DatabaseServer {
 public:
  struct Options {
    // PEM: it speaks TLS, and nothing else.
    std::string certificate = {};
    std::string key = {};
  };

  // For tests that do not change the server.
  static const NatsServer& shared();

  NatsServer() : NatsServer(Options{}) {}
  explicit NatsServer(Options options);
  ~NatsServer() override { end(); }

  // A right that deaf:right lacks is given, and the server reads its config anew. For one's own.
  void let_deaf_hear();

  // As owner, who may do anything. Others: deaf:right may not subscribe, reader:right may publish
  // nothing, finder:right not ask for messages, taker:right not acknowledge, plain:right no more
  // than reading takes; bare:right has an account without JetStream.
  std::string url(std::string_view account) const override;
  std::string url() const { return url("owner:right"); }
  std::string certificate_file() const { return folder() + "/ca.pem"; }
  // There is no SQL.
  std::string query(const std::string&, const std::string&) const override { return {}; }

  // Creates a stream with a new name; it takes what is published to NAME and below. `more`: members
  // of its config in JSON, each with a comma before it.
  std::string new_stream(const std::string& more = {}) const;
  static std::string unused_name();
  void delete_stream(const std::string& stream) const;
  void purge_stream(const std::string& stream) const;
  // A durable one that is pulled from, with explicit acknowledgements. `more`: as above.
  void make_consumer(const std::string& stream, const std::string& durable,
                     const std::string& more = {}) const;
  void delete_consumer(const std::string& stream, const std::string& durable) const;

  // -1 where there is no such consumer.
  struct Counts {
    std::int64_t pending = -1;      // never delivered
    std::int64_t ack_pending = -1;  // delivered and not acknowledged
    std::int64_t waiting = -1;      // requests that are open
    bool all_done() const { return pending == 0 && ack_pending == 0; }
  };
  Counts counts(const std::string& stream, const std::string& durable) const;
  // A member of its config: "ack_wait", "filter_subject".
  std::string setting(const std::string& stream, const std::string& durable,
                      const std::string& member) const;

  struct Post {
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string id = {};     // Nats-Msg-Id
    std::string below = {};  // published to STREAM.below; empty: to STREAM
  };
  // Returns when the server has confirmed them all.
  void publish(const std::string& stream, const std::vector<Post>& posts) const;
  // All that the stream has, in its order.
  std::vector<Post> stored(const std::string& stream) const;
  std::int64_t stored_count(const std::string& stream) const;
  void publish_bodies(const std::string& stream, const std::vector<std::string>& bodies) const;

 private:
  explicit NatsServer(const std::optional<ServerAddress>& found);
  std::string api(const std::string& subject, const std::string& body) const;
  std::string call_name() const;
  void write_config() const;

  std::vector<std::string> maker() const override { return {"/bin/mkdir", "-p", data()}; }
  std::vector<std::string> server() const override;
  std::string socket_path() const override { return folder() + "/none"; }
  bool answers() const override;
  std::string home_database() const override { return {}; }
  std::string drop_statement(const std::string&) const override { return {}; }

  Options options_;
  bool deaf_hears_ = false;
};

}  // namespace semel::test
