#include "benchmarks/kafka_by_hand.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>

#include "benchmarks/measure.h"

namespace semel::bench {
namespace {

constexpr int kPatience = 20'000;
constexpr std::size_t kCommitEvery = 100;

// A member of a group of its own, subscribed.
class GroupMember {
 public:
  explicit GroupMember(const Topic& topic) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    std::array<char, 512> why{};
    const auto set = [&](const char* name, const std::string& value) {
      if (rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size()) !=
          RD_KAFKA_CONF_OK) {
        give_up(why.data());
      }
    };
    set("bootstrap.servers", topic.brokers);
    set("group.id", new_group());
    set("auto.offset.reset", "earliest");
    set("enable.auto.commit", "false");
    set("isolation.level", "read_committed");
    handle_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why.data(), why.size());
    if (handle_ == nullptr) give_up(why.data());
    rd_kafka_poll_set_consumer(handle_);
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic.name.c_str(), RD_KAFKA_PARTITION_UA);
    const auto code = rd_kafka_subscribe(handle_, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) give_up(rd_kafka_err2str(code));
  }
  ~GroupMember() {
    rd_kafka_consumer_close(handle_);
    rd_kafka_destroy(handle_);
  }
  GroupMember(const GroupMember&) = delete;
  GroupMember& operator=(const GroupMember&) = delete;

  struct Freed {
    void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  };
  using Message = std::unique_ptr<rd_kafka_message_t, Freed>;

  Message next() {
    Message message(rd_kafka_consumer_poll(handle_, kPatience));
    if (!message) give_up("the topic brings nothing");
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) give_up(rd_kafka_message_errstr(message.get()));
    return message;
  }
  void commit_all() { check(rd_kafka_commit(handle_, nullptr, 1)); }
  void commit(const Message& message) { check(rd_kafka_commit_message(handle_, message.get(), 0)); }

 private:
  static void check(rd_kafka_resp_err_t code) {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR__NO_OFFSET) {
      give_up(rd_kafka_err2str(code));
    }
  }
  rd_kafka_t* handle_ = nullptr;
};

}  // namespace

std::string new_group() {
  static std::atomic<int> count{0};
  return fmt::format("bench-{}-{}", ::getpid(), ++count);
}

double poll_by_hand(const Topic& topic) {
  GroupMember member(topic);
  std::size_t bytes = member.next()->len;
  const Stopwatch watch;
  for (std::size_t i = 1; i < topic.messages; ++i) {
    bytes += member.next()->len;
    if (i % kCommitEvery == 0) member.commit_all();
  }
  member.commit_all();
  const double seconds = watch.seconds();
  if (bytes == 0) give_up("the messages are empty");
  return static_cast<double>(topic.messages) / seconds;
}

double poll_naively(const Topic& topic, std::size_t count,
                    const std::function<void(const std::string&)>& handle) {
  GroupMember member(topic);
  std::optional<Stopwatch> watch;
  for (std::size_t i = 0; i < count; ++i) {
    const auto message = member.next();
    if (!watch) watch.emplace();
    handle(std::string(static_cast<const char*>(message->payload), message->len));
    member.commit(message);
  }
  return static_cast<double>(count) / watch.value().seconds();
}

}  // namespace semel::bench
