// KafkaServer: an Apache Kafka of one node, or one node of a cluster (kafka_cluster.h). Its topics
// play the part of a database server's databases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/database_server.h"

namespace semel::test {

class KafkaServer final : public DatabaseServer {
 public:
  // Why there is none on this machine; nothing where there is.
  static std::optional<std::string> why_absent();
  // For tests that do not change the server.
  static const KafkaServer& shared();

  // An additional listener, for clients only.
  struct Listener {
    int port = 0;
    int advertised = 0;  // the port announced to clients: a proxy's; 0: its own
    std::string protocol = "PLAINTEXT";
    std::vector<std::string> properties = {};  // "NAME=value", of the listener
  };
  struct Options {
    std::optional<Listener> listener = {};
    std::vector<std::string> properties = {};  // "NAME=value", over those of kafka_broker
    int replicas = 1;                          // of a topic
    int controller_port = 0;                   // 0: any
  };
  KafkaServer() : KafkaServer(Options()) {}
  explicit KafkaServer(Options options);
  ~KafkaServer() override { end(); }

  std::string brokers() const {
    return cluster_.empty() ? "127.0.0.1:" + std::to_string(port()) : cluster_;
  }
  // The address of the additional listener.
  std::string listener_brokers() const;
  // The listener that requires a SASL/PLAIN login: owner:right may do anything, stranger:right
  // nothing.
  std::string login_brokers() const { return "127.0.0.1:" + socket(); }
  std::string url(std::string_view) const override { return brokers(); }
  // There is no SQL.
  std::string query(const std::string& database, const std::string& sql) const override;

  // The name of a topic that was not there before.
  std::string new_topic(int partitions = 1) const { return new_topic(partitions, {}); }
  // With settings of its own: {"retention.ms", "1000"}.
  std::string new_topic(int partitions,
                        const std::vector<std::pair<std::string, std::string>>& settings) const;
  // Creates a topic, also if one of the same name was deleted just now.
  void make_topic(const std::string& name, int partitions,
                  const std::vector<std::pair<std::string, std::string>>& settings = {}) const;
  // The topic has so many then, and each has a leader.
  void add_partitions(const std::string& topic, int partitions) const;
  // Returns when the brokers do not know it any more.
  void delete_topic(const std::string& name) const;
  // The user may read the topic as a member of the group, and no more.
  void let_read(const std::string& user, const std::string& topic, const std::string& group) const;

  struct Record {
    std::string value;
    std::optional<std::string> key = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
    int partition = -1;  // by the key, or anywhere
  };
  // Returns when the broker has them all.
  void produce(const std::string& topic, const std::vector<Record>& records) const;
  void produce_values(const std::string& topic, const std::vector<std::string>& values) const;
  // All of them in one transaction, which is committed, or aborted.
  void produce_in_transaction(const std::string& topic, const std::vector<std::string>& values,
                              bool commit) const;
  // The group's next offset; -1 where it has none. And how many records the partition has.
  std::int64_t committed(const std::string& group, const std::string& topic, int partition) const;
  std::int64_t end_of(const std::string& topic, int partition) const;
  // How many members the group has, as its broker counts them.
  int members(const std::string& group) const;
  // Deletes records as retention does: the partition's log then begins at `offset`.
  void delete_records(const std::string& topic, int partition, std::int64_t offset) const;
  // Acts like the tool for a group without members.
  void reset_offsets(const std::string& group, const std::string& topic, int partitions) const;

  // Sets all brokers of its cluster: from now on requests may go to any of them.
  void join_cluster(std::string brokers) { cluster_ = std::move(brokers); }
  // The number of brokers in the cluster's view, the minimum over the topic's partitions; 0 if none
  // is known.
  int known_brokers() const;
  int leader_of(const std::string& topic, int partition) const;
  int replicas_in_step(const std::string& topic) const;

 private:
  explicit KafkaServer(const std::optional<ServerAddress>& found);
  const std::string& socket() const noexcept { return address().socket; }

  std::vector<std::string> maker() const override { return {"/bin/mkdir", "-p", data()}; }
  std::vector<std::string> server() const override;
  void add_listener(std::vector<std::string>& words) const;
  std::string socket_path() const override;
  bool answers() const override;
  std::string home_database() const override { return {}; }
  std::string drop_statement(const std::string&) const override { return {}; }

  const Options options_;
  std::string cluster_;
  mutable int controller_port_ = 0;
};

}  // namespace semel::test
