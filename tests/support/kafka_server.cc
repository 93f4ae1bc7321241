#include "tests/support/kafka_server.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>

#include "tests/support/inputs.h"
#include "tests/support/waiting.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;

constexpr int kBrokerPatience = 20'000;
constexpr int kAnswerPatience = 1'000;
constexpr const char* kNoTopic = "no topic is made";

void check(rd_kafka_resp_err_t code, const std::string& what) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(fmt::format("{}: {}", what, rd_kafka_err2str(code)));
  }
}

struct Destroyed {
  void operator()(rd_kafka_t* handle) const { rd_kafka_destroy(handle); }
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
  void operator()(rd_kafka_DeleteTopic_t* topic) const { rd_kafka_DeleteTopic_destroy(topic); }
  void operator()(rd_kafka_NewTopic_t* topic) const { rd_kafka_NewTopic_destroy(topic); }
  void operator()(rd_kafka_AclBinding_t* acl) const { rd_kafka_AclBinding_destroy(acl); }
};
template <class T>
using Owned = std::unique_ptr<T, Destroyed>;

// Keeps a producer's first failure.
void delivered(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  auto& failed = *static_cast<std::string*>(opaque);
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR && failed.empty()) {
    failed = rd_kafka_err2str(message->err);
  }
}

Owned<rd_kafka_t> client(rd_kafka_type_t type, const std::string& brokers, const std::string& group,
                         std::string* failed = nullptr, const std::string& transactions = {}) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  std::array<char, 512> why{};
  const auto set = [&](const char* name, const std::string& value) {
    if (rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK) {
      throw std::runtime_error(why.data());
    }
  };
  set("bootstrap.servers", brokers);
  set("log_level", "0");
  if (type == RD_KAFKA_PRODUCER) {
    set("enable.idempotence", "true");
    set("linger.ms", "2");
    if (!transactions.empty()) set("transactional.id", transactions);
    rd_kafka_conf_set_opaque(conf, failed);
    rd_kafka_conf_set_dr_msg_cb(conf, &delivered);
  } else {
    set("group.id", group.empty() ? "semel-tests" : group);
    set("enable.auto.commit", "false");
  }
  rd_kafka_t* handle = rd_kafka_new(type, conf, why.data(), why.size());
  if (handle == nullptr) throw std::runtime_error(why.data());
  return Owned<rd_kafka_t>(handle);
}

// The number that `read` finds in the brokers' answer; 0 if there is none.
int number_told(const std::string& brokers, int patience,
                const std::function<int(const rd_kafka_metadata_t&)>& read) {
  const auto handle = client(RD_KAFKA_CONSUMER, brokers, {});
  const struct rd_kafka_metadata* answer = nullptr;
  if (rd_kafka_metadata(handle.get(), 1, nullptr, &answer, patience) !=
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    return 0;
  }
  const int number = read(*answer);
  rd_kafka_metadata_destroy(answer);
  return number;
}

const rd_kafka_metadata_topic_t* topic_in(const rd_kafka_metadata_t& told,
                                          const std::string& topic) {
  for (int i = 0; i < told.topic_cnt; ++i) {
    if (topic == told.topics[i].topic) return &told.topics[i];
  }
  return nullptr;
}

rd_kafka_resp_err_t create_topic(rd_kafka_t* handle, rd_kafka_NewTopic_t* topic) {
  const Owned<rd_kafka_queue_t> queue(rd_kafka_queue_new(handle));
  rd_kafka_CreateTopics(handle, &topic, 1, nullptr, queue.get());
  const Owned<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kBrokerPatience));
  if (!event) throw std::runtime_error(kNoTopic);
  check(rd_kafka_event_error(event.get()), kNoTopic);
  std::size_t number = 0;
  const auto* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &number);
  return rd_kafka_topic_result_error(results[0]);
}

// With several brokers, one may not know yet of a topic that another has created.
void wait_for_leaders(rd_kafka_t* handle, const std::string& name) {
  const std::unique_ptr<rd_kafka_topic_t, decltype(&rd_kafka_topic_destroy)> topic(
      rd_kafka_topic_new(handle, name.c_str(), nullptr), &rd_kafka_topic_destroy);
  const auto by = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBrokerPatience);
  for (;;) {
    const rd_kafka_metadata_t* told = nullptr;
    const auto code = rd_kafka_metadata(handle, 0, topic.get(), &told, kBrokerPatience);
    bool whole = code == RD_KAFKA_RESP_ERR_NO_ERROR && told->topic_cnt == 1 &&
                 told->topics[0].partition_cnt > 0;
    for (int i = 0; whole && i < told->topics[0].partition_cnt; ++i) {
      whole = told->topics[0].partitions[i].leader >= 0;
    }
    if (told != nullptr) rd_kafka_metadata_destroy(told);
    if (whole) return;
    if (std::chrono::steady_clock::now() > by) throw std::runtime_error("no leader: " + name);
    rd_kafka_poll(handle, 50);
  }
}

}  // namespace

std::optional<std::string> KafkaServer::why_absent() {
  const std::string why = SEMEL_TEST_KAFKA_ABSENT;
  return why.empty() ? std::nullopt : std::optional(why);
}

const KafkaServer& KafkaServer::shared() {
  static const KafkaServer server(find_shared_server("kafka"));
  return server;
}

KafkaServer::KafkaServer(Options options)
    : DatabaseServer("kafka", {}, false), options_(std::move(options)) {
  start();
}

KafkaServer::KafkaServer(const std::optional<ServerAddress>& found)
    : DatabaseServer("kafka", found, {}) {
  if (!found) start();
}

std::string KafkaServer::socket_path() const {
  controller_port_ = options_.controller_port == 0 ? free_port() : options_.controller_port;
  return std::to_string(free_port());
}

std::vector<std::string> KafkaServer::server() const {
  if (const auto why = why_absent()) throw std::runtime_error(*why);
  std::vector<std::string> words = {
      input("tests/support/kafka_broker"), data(),  SEMEL_TEST_KAFKA, std::to_string(port()),
      std::to_string(controller_port_),    socket()};
  if (options_.listener) add_listener(words);
  words.insert(words.end(), options_.properties.begin(), options_.properties.end());
  return words;
}

// Later settings override earlier ones.
void KafkaServer::add_listener(std::vector<std::string>& words) const {
  const Listener& more = *options_.listener;
  const std::string usual =
      fmt::format("PLAINTEXT://127.0.0.1:{},LOGIN://127.0.0.1:{}", port(), socket());
  words.push_back(fmt::format("listeners={},CONTROLLER://127.0.0.1:{},MORE://127.0.0.1:{}", usual,
                              controller_port_, more.port));
  words.push_back(fmt::format("advertised.listeners={},MORE://127.0.0.1:{}", usual,
                              more.advertised == 0 ? more.port : more.advertised));
  words.push_back(
      "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,"
      "CONTROLLER:PLAINTEXT,MORE:" +
      more.protocol);
  for (const std::string& property : more.properties) {
    words.push_back("listener.name.more." + property);
  }
}

std::string KafkaServer::listener_brokers() const {
  const Listener& more = options_.listener.value();
  return fmt::format("127.0.0.1:{}", more.advertised == 0 ? more.port : more.advertised);
}

bool KafkaServer::answers() const {
  return number_told("127.0.0.1:" + std::to_string(port()), kAnswerPatience,
                     [](const rd_kafka_metadata_t& told) { return told.broker_cnt; }) > 0;
}

int KafkaServer::known_brokers() const {
  return number_told(brokers(), kBrokerPatience,
                     [](const rd_kafka_metadata_t& told) { return told.broker_cnt; });
}

int KafkaServer::leader_of(const std::string& topic, int partition) const {
  return number_told(brokers(), kBrokerPatience, [&](const rd_kafka_metadata_t& told) {
    const auto* found = topic_in(told, topic);
    for (int i = 0; found != nullptr && i < found->partition_cnt; ++i) {
      if (found->partitions[i].id == partition) return std::max(found->partitions[i].leader, 0);
    }
    return 0;
  });
}

int KafkaServer::replicas_in_step(const std::string& topic) const {
  return number_told(brokers(), kBrokerPatience, [&](const rd_kafka_metadata_t& told) {
    const auto* found = topic_in(told, topic);
    if (found == nullptr || found->partition_cnt == 0) return 0;
    int fewest = found->partitions[0].isr_cnt;
    for (int i = 1; i < found->partition_cnt; ++i) {
      fewest = std::min(fewest, found->partitions[i].isr_cnt);
    }
    return fewest;
  });
}

std::string KafkaServer::query(const std::string&, const std::string&) const { return {}; }

std::string KafkaServer::new_topic(
    int partitions, const std::vector<std::pair<std::string, std::string>>& settings) const {
  static std::atomic<int> count{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count() / 1'000'000;
  const std::string name = fmt::format("test_{}_{}_{}", ::getpid(), now, count++);
  make_topic(name, partitions, settings);
  return name;
}

void KafkaServer::make_topic(
    const std::string& name, int partitions,
    const std::vector<std::pair<std::string, std::string>>& settings) const {
  const auto handle = client(RD_KAFKA_CONSUMER, brokers(), {});
  std::array<char, 512> why{};
  const Owned<rd_kafka_NewTopic_t> topic(
      rd_kafka_NewTopic_new(name.c_str(), partitions, options_.replicas, why.data(), why.size()));
  for (const auto& [setting, value] : settings) {
    check(rd_kafka_NewTopic_set_config(topic.get(), setting.c_str(), value.c_str()), setting);
  }
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  // A broker may answer this after it stalled for longer than its session, for a short time; or if
  // a topic of that name is being deleted.
  comes_true(
      [&] {
        code = create_topic(handle.get(), topic.get());
        return code != RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR &&
               code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS;
      },
      milliseconds(kBrokerPatience));
  check(code, kNoTopic);
}

void KafkaServer::add_partitions(const std::string& topic, int partitions) const {
  const auto handle = client(RD_KAFKA_PRODUCER, brokers(), {});
  std::array<char, 512> why{};
  const std::unique_ptr<rd_kafka_NewPartitions_t, decltype(&rd_kafka_NewPartitions_destroy)> wish(
      rd_kafka_NewPartitions_new(topic.c_str(), static_cast<std::size_t>(partitions), why.data(),
                                 why.size()),
      &rd_kafka_NewPartitions_destroy);
  rd_kafka_NewPartitions_t* one = wish.get();
  const Owned<rd_kafka_queue_t> queue(rd_kafka_queue_new(handle.get()));
  rd_kafka_CreatePartitions(handle.get(), &one, 1, nullptr, queue.get());
  const Owned<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kBrokerPatience));
  if (!event) throw std::runtime_error("no partitions are added");
  check(rd_kafka_event_error(event.get()), "no partitions are added");
  const bool led = comes_true([&] {
    return number_told(brokers(), kBrokerPatience, [&](const rd_kafka_metadata_t& told) {
             const auto* found = topic_in(told, topic);
             int leaders = 0;
             for (int i = 0; found != nullptr && i < found->partition_cnt; ++i) {
               if (found->partitions[i].leader >= 0) ++leaders;
             }
             return leaders;
           }) == partitions;
  });
  if (!led) throw std::runtime_error("the partitions have no leaders: " + topic);
}

void KafkaServer::delete_topic(const std::string& name) const {
  const auto handle = client(RD_KAFKA_CONSUMER, brokers(), {});
  const Owned<rd_kafka_DeleteTopic_t> topic(rd_kafka_DeleteTopic_new(name.c_str()));
  rd_kafka_DeleteTopic_t* one = topic.get();
  const Owned<rd_kafka_queue_t> queue(rd_kafka_queue_new(handle.get()));
  rd_kafka_DeleteTopics(handle.get(), &one, 1, nullptr, queue.get());
  const Owned<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kBrokerPatience));
  if (!event) throw std::runtime_error("no topic is deleted");
  check(rd_kafka_event_error(event.get()), "no topic is deleted");
  const bool gone = comes_true([&] {
    return number_told(brokers(), kBrokerPatience, [&](const rd_kafka_metadata_t& told) {
             return topic_in(told, name) == nullptr ? 1 : 0;
           }) == 1;
  });
  if (!gone) throw std::runtime_error("the topic is not deleted: " + name);
}

void KafkaServer::let_read(const std::string& user, const std::string& topic,
                           const std::string& group) const {
  const auto handle = client(RD_KAFKA_CONSUMER, brokers(), {});
  std::array<char, 512> why{};
  const std::string principal = "User:" + user;
  const auto to_read = [&](rd_kafka_ResourceType_t type, const std::string& name) {
    return Owned<rd_kafka_AclBinding_t>(rd_kafka_AclBinding_new(
        type, name.c_str(), RD_KAFKA_RESOURCE_PATTERN_LITERAL, principal.c_str(), "*",
        RD_KAFKA_ACL_OPERATION_READ, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, why.data(), why.size()));
  };
  const auto on_topic = to_read(RD_KAFKA_RESOURCE_TOPIC, topic);
  const auto on_group = to_read(RD_KAFKA_RESOURCE_GROUP, group);
  std::array<rd_kafka_AclBinding_t*, 2> acls = {on_topic.get(), on_group.get()};
  const Owned<rd_kafka_queue_t> queue(rd_kafka_queue_new(handle.get()));
  rd_kafka_CreateAcls(handle.get(), acls.data(), acls.size(), nullptr, queue.get());
  const Owned<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kBrokerPatience));
  if (!event) throw std::runtime_error("no right is given");
  check(rd_kafka_event_error(event.get()), "no right is given");
}

void KafkaServer::produce(const std::string& topic, const std::vector<Record>& records) const {
  std::string failed;
  const auto handle = client(RD_KAFKA_PRODUCER, brokers(), {}, &failed);
  wait_for_leaders(handle.get(), topic);
  for (const Record& record : records) {
    rd_kafka_headers_t* headers = rd_kafka_headers_new(record.headers.size());
    for (const auto& [name, value] : record.headers) {
      rd_kafka_header_add(headers, name.c_str(), -1, value.data(),
                          static_cast<ssize_t>(value.size()));
    }
    const char* key = record.key ? record.key->data() : nullptr;
    const std::size_t key_size = record.key ? record.key->size() : 0;
    for (;;) {
      const auto code = rd_kafka_producev(
          handle.get(), RD_KAFKA_V_TOPIC(topic.c_str()),
          RD_KAFKA_V_PARTITION(record.partition < 0 ? RD_KAFKA_PARTITION_UA : record.partition),
          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, key_size),
          RD_KAFKA_V_VALUE(const_cast<char*>(record.value.data()), record.value.size()),
          RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR) break;
      if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) check(code, "produce");
      rd_kafka_poll(handle.get(), 50);
    }
  }
  check(rd_kafka_flush(handle.get(), 3 * kBrokerPatience), "flush");
  if (!failed.empty()) throw std::runtime_error("produce: " + failed);
}

void KafkaServer::produce_values(const std::string& topic,
                                 const std::vector<std::string>& values) const {
  std::vector<Record> records;
  records.reserve(values.size());
  for (const std::string& value : values) records.push_back({.value = value});
  produce(topic, records);
}

void KafkaServer::produce_in_transaction(const std::string& topic,
                                         const std::vector<std::string>& values,
                                         bool commit) const {
  std::string failed;
  const auto handle = client(RD_KAFKA_PRODUCER, brokers(), {}, &failed, topic + "-transactions");
  const auto need = [](rd_kafka_error_t* error) {
    if (error == nullptr) return;
    const std::string said = rd_kafka_error_string(error);
    rd_kafka_error_destroy(error);
    throw std::runtime_error("transaction: " + said);
  };
  need(rd_kafka_init_transactions(handle.get(), kBrokerPatience));
  need(rd_kafka_begin_transaction(handle.get()));
  for (const std::string& value : values) {
    check(rd_kafka_producev(handle.get(), RD_KAFKA_V_TOPIC(topic.c_str()),
                            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                            RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()),
                            RD_KAFKA_V_END),
          "produce");
  }
  check(rd_kafka_flush(handle.get(), 3 * kBrokerPatience), "flush");
  need(commit ? rd_kafka_commit_transaction(handle.get(), kBrokerPatience)
              : rd_kafka_abort_transaction(handle.get(), kBrokerPatience));
}

std::int64_t KafkaServer::committed(const std::string& group, const std::string& topic,
                                    int partition) const {
  const auto handle = client(RD_KAFKA_CONSUMER, brokers(), group);
  const Owned<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  // A group's coordinator may not know yet that it is one.
  (void)comes_true(
      [&] {
        code = rd_kafka_committed(handle.get(), list.get(), kBrokerPatience);
        return code != RD_KAFKA_RESP_ERR_NOT_COORDINATOR &&
               code != RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS &&
               code != RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE;
      },
      milliseconds(kBrokerPatience));
  check(code, "committed");
  return list->elems[0].offset < 0 ? -1 : list->elems[0].offset;
}

std::int64_t KafkaServer::end_of(const std::string& topic, int partition) const {
  const auto handle = client(RD_KAFKA_CONSUMER, brokers(), {});
  std::int64_t low = 0;
  std::int64_t high = 0;
  check(rd_kafka_query_watermark_offsets(handle.get(), topic.c_str(), partition, &low, &high,
                                         kBrokerPatience),
        "watermarks");
  return high;
}

int KafkaServer::members(const std::string& group) const {
  const auto handle = client(RD_KAFKA_CONSUMER, brokers(), {});
  const struct rd_kafka_group_list* told = nullptr;
  check(rd_kafka_list_groups(handle.get(), group.c_str(), &told, kBrokerPatience), "groups");
  const int count = told->group_cnt == 0 ? 0 : told->groups[0].member_cnt;
  rd_kafka_group_list_destroy(told);
  return count;
}

void KafkaServer::delete_records(const std::string& topic, int partition,
                                 std::int64_t offset) const {
  const auto handle = client(RD_KAFKA_PRODUCER, brokers(), {});
  const Owned<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = offset;
  const std::unique_ptr<rd_kafka_DeleteRecords_t, decltype(&rd_kafka_DeleteRecords_destroy)> wish(
      rd_kafka_DeleteRecords_new(list.get()), &rd_kafka_DeleteRecords_destroy);
  const Owned<rd_kafka_queue_t> queue(rd_kafka_queue_new(handle.get()));
  rd_kafka_DeleteRecords_t* one = wish.get();
  rd_kafka_DeleteRecords(handle.get(), &one, 1, nullptr, queue.get());
  const Owned<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kBrokerPatience));
  if (!event) throw std::runtime_error("no broker says that records were deleted");
  check(rd_kafka_event_error(event.get()), "delete records");
  const auto* const told =
      rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event.get()));
  check(told->elems[0].err, "delete records");
}

void KafkaServer::reset_offsets(const std::string& group, const std::string& topic,
                                int partitions) const {
  const auto handle = client(RD_KAFKA_CONSUMER, brokers(), group);
  const Owned<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(partitions));
  for (int i = 0; i < partitions; ++i) {
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), i)->offset = 0;
  }
  // The members of a moment ago may still be on their way out.
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  comes_true([&] {
    code = rd_kafka_commit(handle.get(), list.get(), 0);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR;
  });
  check(code, "reset");
}

}  // namespace semel::test
