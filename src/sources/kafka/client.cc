#include "sources/kafka/client.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <future>
#include <thread>

#include "clients/kafka/conf.h"
#include "clients/kafka/errors.h"
#include "sources/kafka/settings.h"

namespace semel::kafka {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds kStep{100};
constexpr milliseconds kDestroyPatience{2'000};
constexpr std::size_t kBytesPerKilobyte = 1024;
static_assert(kLogEnd == RD_KAFKA_OFFSET_END && kLogBegin == RD_KAFKA_OFFSET_BEGINNING);

std::vector<TopicPartition> partitions_of(const rd_kafka_topic_partition_list_t& list) {
  std::vector<TopicPartition> made;
  for (int i = 0; i < list.cnt; ++i) {
    made.push_back({list.elems[i].topic, list.elems[i].partition});
  }
  return made;
}

ListPtr list_of(const Offsets& offsets) {
  ListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
  for (const auto& [id, next] : offsets) {
    rd_kafka_topic_partition_list_add(list.get(), id.topic.c_str(), id.number)->offset = next;
  }
  return list;
}

std::size_t setting_of(const rd_kafka_conf_t* conf, const char* name) {
  std::array<char, 32> text{};
  std::size_t size = text.size();
  std::size_t number = 0;
  if (rd_kafka_conf_get(conf, name, text.data(), &size) == RD_KAFKA_CONF_OK) {
    std::from_chars(text.data(), text.data() + std::min(size, text.size()), number);
  }
  return number;
}

int left_until(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kStep.count()));
}

}  // namespace

struct Client::Callbacks {
  static void rebalance(rd_kafka_t*, rd_kafka_resp_err_t code,
                        rd_kafka_topic_partition_list_t* list, void* opaque) {
    static_cast<Client*>(opaque)->take_rebalance(code, list);
  }

  static void error(rd_kafka_t* handle, int code, const char* reason, void* opaque) {
    auto& client = *static_cast<Client*>(opaque);
    const std::string said = reason == nullptr ? "" : reason;
    if (code == RD_KAFKA_RESP_ERR__FATAL) {
      std::array<char, 512> why{};
      rd_kafka_fatal_error(handle, why.data(), why.size());
      client.watcher_.on_error(code, why.data());
    } else if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
      client.watcher_.on_all_brokers_down(client.last_said_);
    } else {
      client.last_said_ = said;
      if (code != RD_KAFKA_RESP_ERR__TRANSPORT && code != RD_KAFKA_RESP_ERR__RESOLVE &&
          code != RD_KAFKA_RESP_ERR__TIMED_OUT) {
        client.watcher_.on_error(code, said);
      }
    }
  }
};

Result<std::unique_ptr<Client>> Client::create(const core::KafkaSpec& spec, Watcher& watcher) {
  auto conf = settings_of(spec);
  if (!conf) return failure(std::move(conf.error()));
  std::unique_ptr<Client> client(new Client(spec, watcher));
  rd_kafka_conf_set_opaque(conf->get(), client.get());
  rd_kafka_conf_set_rebalance_cb(conf->get(), &Callbacks::rebalance);
  rd_kafka_conf_set_error_cb(conf->get(), &Callbacks::error);
  set_log(conf->get(), spec.properties.contains("debug"));
  client->connections_->watch(conf->get());
  std::array<char, 512> why{};
  client->handle_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf->get(), why.data(), why.size());
  // The handle owns the configuration now. If there is no handle, librdkafka has already freed the
  // connection watcher, and the rest cannot be freed without it.
  [[maybe_unused]] auto* const taken = conf->release();
  if (client->handle_ == nullptr) {
    return failure({ErrorKind::kRejected, "R308",
                    std::string("librdkafka cannot begin: ") + why.data(),
                    "mend what it names in kafka.properties"});
  }
  const rd_kafka_conf_t* const used = rd_kafka_conf(client->handle_);
  client->ahead_ = {setting_of(used, "queued.min.messages"),
                    setting_of(used, "queued.max.messages.kbytes") * kBytesPerKilobyte};
  rd_kafka_poll_set_consumer(client->handle_);
  client->commits_.reset(rd_kafka_queue_new(client->handle_));
  return client;
}

Client::~Client() {
  if (handle_ == nullptr) return;
  commits_.reset();
  // This librdkafka version waits for ever for a partition that it gave up while its topic was
  // deleted. So a thread of its own destroys the handle; if that thread never ends, it uses only
  // the connections.
  try {
    std::promise<void> done;
    const auto ended = done.get_future();
    std::thread([handle = handle_, connections = connections_, done = std::move(done)]() mutable {
      rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
      done.set_value();
    }).detach();
    ended.wait_for(kDestroyPatience);
  } catch (const std::exception&) {  // no thread could be started, so this one must wait
    rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }
}

int Client::cause_of(int code) const {
  if (code != RD_KAFKA_RESP_ERR__FATAL) return code;
  std::array<char, 512> why{};
  const auto cause = rd_kafka_fatal_error(handle_, why.data(), why.size());
  return is_final(error_of(cause, why.data(), true)) ? static_cast<int>(cause) : code;
}

std::optional<std::vector<std::pair<std::string, int>>> Client::look(milliseconds patience) {
  std::vector<rd_kafka_topic_t*> topics;
  for (const std::string& name : spec_.topics) {
    topics.push_back(rd_kafka_topic_new(handle_, name.c_str(), nullptr));
  }
  const struct rd_kafka_metadata* answer = nullptr;
  const auto code =
      rd_kafka_metadata(handle_, 0, nullptr, &answer, static_cast<int>(patience.count()));
  for (rd_kafka_topic_t* topic : topics) {
    if (topic != nullptr) rd_kafka_topic_destroy(topic);
  }
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  std::vector<std::pair<std::string, int>> wrong;
  for (int i = 0; i < answer->topic_cnt; ++i) {
    const auto& topic = answer->topics[i];
    if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR) wrong.emplace_back(topic.topic, topic.err);
  }
  rd_kafka_metadata_destroy(answer);
  return wrong;
}

std::vector<TopicPartition> Client::partitions(milliseconds patience) {
  std::vector<TopicPartition> all;
  for (const std::string& name : spec_.topics) {
    rd_kafka_topic_t* topic = rd_kafka_topic_new(handle_, name.c_str(), nullptr);
    if (topic == nullptr) return {};
    const struct rd_kafka_metadata* answer = nullptr;
    const auto code =
        rd_kafka_metadata(handle_, 0, topic, &answer, static_cast<int>(patience.count()));
    rd_kafka_topic_destroy(topic);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    for (int i = 0; i < answer->topic_cnt; ++i) {
      for (int k = 0; k < answer->topics[i].partition_cnt; ++k) {
        all.push_back({answer->topics[i].topic, answer->topics[i].partitions[k].id});
      }
    }
    rd_kafka_metadata_destroy(answer);
  }
  return all;
}

std::optional<std::int64_t> Client::ask_lag(milliseconds patience) {
  const auto all = partitions(patience);
  const Offsets offsets = committed(all, patience);
  if (offsets.empty() || offsets.size() != all.size()) return std::nullopt;
  const GroupBegins begins = begins_of(all, offsets);
  std::int64_t lag = 0;
  for (const auto& [partition, offset] : offsets) {
    std::int64_t low = 0, high = 0;
    if (rd_kafka_query_watermark_offsets(handle_, partition.topic.c_str(), partition.number, &low,
                                         &high, static_cast<int>(patience.count())) !=
        RD_KAFKA_RESP_ERR_NO_ERROR) {
      return std::nullopt;
    }
    const bool at_end =
        begins.new_topics.contains(partition.topic) && spec_.from == core::KafkaSpec::From::kLatest;
    if (!at_end) lag += std::max<std::int64_t>(high - std::max(offset, low), 0);
  }
  return lag;
}

Result<Client::Offsets> Client::ends(const std::vector<TopicPartition>& partitions,
                                     milliseconds patience) {
  Offsets ends;
  for (const TopicPartition& one : partitions) {
    std::int64_t low = 0, high = 0;
    const auto code = rd_kafka_query_watermark_offsets(handle_, one.topic.c_str(), one.number, &low,
                                                       &high, static_cast<int>(patience.count()));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return failure(
          {ErrorKind::kUnavailable,
           {},
           fmt::format("the end of {} is not known: {}", one.name(), rd_kafka_err2str(code)),
           {}});
    }
    ends.emplace_back(one, high);
  }
  return ends;
}

Client::Offsets Client::committed(const std::vector<TopicPartition>& partitions,
                                  milliseconds patience) {
  const ListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const TopicPartition& one : partitions) {
    rd_kafka_topic_partition_list_add(list.get(), one.topic.c_str(), one.number);
  }
  const auto code = rd_kafka_committed(handle_, list.get(), static_cast<int>(patience.count()));
  Offsets offsets;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return offsets;
  for (int i = 0; i < list->cnt; ++i) {
    const auto& one = list->elems[i];
    if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    offsets.emplace_back(TopicPartition{one.topic, one.partition},
                         std::max<std::int64_t>(one.offset, -1));
  }
  return offsets;
}

Client::Edges Client::edges(const TopicPartition& partition) const {
  Edges edges;
  if (rd_kafka_get_watermark_offsets(handle_, partition.topic.c_str(), partition.number, &edges.low,
                                     &edges.high) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {};
  }
  return {std::max<std::int64_t>(edges.low, -1), std::max<std::int64_t>(edges.high, -1)};
}

std::optional<int> Client::subscribe() {
  const ListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(spec_.topics.size())));
  for (const std::string& topic : spec_.topics) {
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  }
  const auto code = rd_kafka_subscribe(handle_, list.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return code;
  return std::nullopt;
}

void Client::serve(milliseconds patience) {
  const MessagePtr message(rd_kafka_consumer_poll(handle_, static_cast<int>(patience.count())));
  if (message != nullptr) {
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      // Every partition gets a queue of its own before anything of it is fetched. Ignoring this
      // message would lose it.
      watcher_.on_error(RD_KAFKA_RESP_ERR__FATAL,
                        "it delivered a message outside its partition's queue");
    } else if (message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      const char* said = rd_kafka_message_errstr(message.get());
      watcher_.on_error(message->err, said == nullptr ? "" : said);
    }
  }
  take_commits(milliseconds(0));
}

bool Client::is_cooperative() const {
  return std::string_view(rd_kafka_rebalance_protocol(handle_)) == "COOPERATIVE";
}

void Client::take_rebalance(int code, rd_kafka_topic_partition_list_s* list) {
  const auto partitions = partitions_of(*list);
  if (code != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    watcher_.on_revoked(partitions, rd_kafka_assignment_lost(handle_) != 0);
    return unassign(list);
  }
  watcher_.on_assigned(partitions);
  if (spec_.from != core::KafkaSpec::From::kLatest) return assign(list);
  if (!is_cooperative()) waiting_.clear();
  waiting_.insert(waiting_.end(), partitions.begin(), partitions.end());
  // librdkafka takes part in the group only after an answer, so it is given none of them.
  const ListPtr none(rd_kafka_topic_partition_list_new(0));
  assign(none.get());
}

void Client::begin(const Offsets& all) {
  const ListPtr list = list_of(all);
  waiting_.clear();
  assign(list.get());
}

// Without the cooperative protocol the list replaces all partitions, but then it is all of them.
void Client::assign(rd_kafka_topic_partition_list_s* list) {
  if (!is_cooperative()) {
    const auto code = rd_kafka_assign(handle_, list);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) watcher_.on_error(code, "partitions are not assigned");
    return;
  }
  const ErrorPtr error(rd_kafka_incremental_assign(handle_, list));
  if (error) {
    watcher_.on_error(rd_kafka_error_code(error.get()), rd_kafka_error_string(error.get()));
  }
}

void Client::unassign(rd_kafka_topic_partition_list_s* list) {
  if (!is_cooperative()) {
    waiting_.clear();
    rd_kafka_assign(handle_, nullptr);
    return;
  }
  // librdkafka refuses those that it was not given.
  std::erase_if(waiting_, [&](const TopicPartition& one) {
    return rd_kafka_topic_partition_list_del(list, one.topic.c_str(), one.number) == 1;
  });
  const ErrorPtr error(rd_kafka_incremental_unassign(handle_, list));
  if (error) {
    watcher_.on_error(rd_kafka_error_code(error.get()), rd_kafka_error_string(error.get()));
  }
}

QueuePtr Client::split(const TopicPartition& partition, int fd) {
  QueuePtr queue(rd_kafka_queue_get_partition(handle_, partition.topic.c_str(), partition.number));
  if (!queue) return queue;
  rd_kafka_queue_forward(queue.get(), nullptr);
  constexpr std::uint64_t kOne = 1;
  rd_kafka_queue_io_event_enable(queue.get(), fd, &kOne, sizeof kOne);
  return queue;
}

bool Client::show_room(const TopicPartition& partition, milliseconds patience) {
  std::int64_t low = 0, high = 0;
  return rd_kafka_query_watermark_offsets(handle_, partition.topic.c_str(), partition.number, &low,
                                          &high, static_cast<int>(patience.count())) ==
         RD_KAFKA_RESP_ERR_NO_ERROR;
}

bool Client::go_to_begin(const TopicPartition& partition, milliseconds patience) {
  const TopicPtr topic(rd_kafka_topic_new(handle_, partition.topic.c_str(), nullptr));
  // Seek to offset 0, not to "the beginning", which librdkafka would take for the old log's. If the
  // new log begins at a higher offset, the broker refuses, and `from` applies.
  return topic != nullptr &&
         rd_kafka_seek(topic.get(), partition.number, 0, static_cast<int>(patience.count())) ==
             RD_KAFKA_RESP_ERR_NO_ERROR;
}

void Client::commit(const Offsets& offsets) {
  if (offsets.empty()) return;
  const ListPtr list = list_of(offsets);
  const auto code = rd_kafka_commit_queue(handle_, list.get(), commits_.get(), nullptr, nullptr);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++open_commits_;
  } else {
    watcher_.on_committed(offsets, code);
  }
}

void Client::take_commits(milliseconds patience) {
  while (open_commits_ > 0) {
    const EventPtr event(rd_kafka_queue_poll(commits_.get(), static_cast<int>(patience.count())));
    if (!event) return;
    if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_OFFSET_COMMIT) continue;
    --open_commits_;
    Offsets offsets;
    auto code = rd_kafka_event_error(event.get());
    const auto* list = rd_kafka_event_topic_partition_list(event.get());
    for (int i = 0; list != nullptr && i < list->cnt; ++i) {
      const auto& one = list->elems[i];
      offsets.emplace_back(TopicPartition{one.topic, one.partition}, one.offset);
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR) code = one.err;
    }
    const bool good = code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__NO_OFFSET;
    watcher_.on_committed(offsets, good ? std::nullopt : std::optional<int>(code));
  }
}

void Client::wait_committed(Deadline deadline) {
  while (open_commits_ > 0 && steady_clock::now() < deadline) {
    take_commits(milliseconds(left_until(deadline)));
  }
}

bool Client::close(Deadline deadline) {
  const QueuePtr consumer(rd_kafka_queue_get_consumer(handle_));
  const ErrorPtr error(rd_kafka_consumer_close_queue(handle_, consumer.get()));
  if (error) return false;
  while (rd_kafka_consumer_closed(handle_) == 0) {
    if (steady_clock::now() >= deadline) return false;
    rd_kafka_queue_poll_callback(consumer.get(), left_until(deadline));
  }
  return true;
}

}  // namespace semel::kafka
