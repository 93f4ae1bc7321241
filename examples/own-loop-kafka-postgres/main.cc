// A consumer's own loop: librdkafka, libpq, and each batch in the loop's own transaction.
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <semel/semel.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Destroy {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
using Received = std::unique_ptr<rd_kafka_message_t, Destroy>;

constexpr int kMostTries = 5;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

const char* setting(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) give_up(std::string("set ") + name);
  return value;
}

void check(PGconn* db, PGresult* result) {
  const bool well = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  if (!well) give_up(PQerrorMessage(db));
}

void execute(PGconn* db, const char* sql) { check(db, PQexec(db, sql)); }

// By the same COMMIT as the records. A message without a key has none: its position tells copies.
void keep_dead_letter(PGconn* db, const rd_kafka_message_t& one, const semel::Outcome& outcome) {
  const std::string partition = std::to_string(one.partition);
  const std::string position = std::to_string(one.offset);
  const char* const values[] = {partition.c_str(),
                                position.c_str(),
                                static_cast<const char*>(one.key),
                                static_cast<const char*>(one.payload),
                                outcome.reason.c_str(),
                                outcome.error.c_str()};
  const int lengths[] = {0, 0, static_cast<int>(one.key_len), static_cast<int>(one.len), 0, 0};
  const int formats[] = {0, 0, 1, 1, 0, 0};
  check(db, PQexecParams(db,
                         "INSERT INTO dead_letters(partition, position, key, payload, reason, "
                         "error) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
                         6, nullptr, values, lengths, formats, 0));
}

rd_kafka_t* subscribe(const char* topic) {
  char error[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const std::map<std::string, std::string> settings{
      {"bootstrap.servers", setting("KAFKA_BROKERS")},
      {"group.id", topic},
      {"group.instance.id", "the-only-one"},  // after a crash it has its partitions at once
      {"auto.offset.reset", "earliest"},
      {"enable.auto.offset.store", "false"},  // what is stored below is committed, and nothing else
      {"enable.partition.eof", "true"}};
  for (const auto& [name, value] : settings) {
    rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error, sizeof error);
  }
  rd_kafka_t* kafka = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
  rd_kafka_poll_set_consumer(kafka);
  rd_kafka_topic_partition_list_t* topics = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
  rd_kafka_subscribe(kafka, topics);
  rd_kafka_topic_partition_list_destroy(topics);
  return kafka;
}

// A batch, or what there is of it at the end of the topic's only partition.
std::vector<Received> receive(rd_kafka_t* kafka, bool& at_end) {
  std::vector<Received> batch;
  while (batch.size() < 100 && !at_end) {
    Received one(rd_kafka_consumer_poll(kafka, batch.empty() ? 1000 : 10));
    if (!one && !batch.empty()) break;
    if (!one) continue;
    at_end = one->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (one->err && !at_end) give_up(rd_kafka_message_errstr(one.get()));
    if (!at_end) batch.push_back(std::move(one));
  }
  return batch;
}

void consume(PGconn* db, rd_kafka_t* kafka) {
  auto store = semel::borrow_postgres(db, {.create_tables = true}).value();
  semel::Guard guard(*store, {.consumer = "orders", .ttl = std::chrono::hours(14 * 24)});
  std::map<std::string, int> tries;  // by key; a process that ends forgets them
  std::size_t duplicates = 0;
  for (bool at_end = false; !at_end;) {
    const std::vector<Received> batch = receive(kafka, at_end);
    std::vector<semel::BatchMessage> messages;
    for (const Received& one : batch) {
      const semel::BytesView body(static_cast<const char*>(one->payload), one->len);
      messages.push_back(
          {{static_cast<const char*>(one->key), one->key_len}, semel::fingerprint_of(body)});
    }
    execute(db, "BEGIN");
    const auto work = [&](std::size_t i, semel::Transaction& tx) {
      const std::string& id = messages[i].key;
      if (tries[id] == kMostTries) return semel::dead("tried often enough");
      const std::string item(static_cast<const char*>(batch[i]->payload), batch[i]->len);
      tx.exec("UPDATE stock SET on_hand = on_hand - 1 WHERE item = ?", item)
          .expect_rows(1, semel::dead("no such item: " + item));
      tx.exec("INSERT INTO orders(id, item) VALUES (?, ?)", id, item);
      return semel::done();
    };
    const auto answers = guard.run_batch(messages, work);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!answers[i]) give_up(answers[i].error().message);
      if (answers[i]->given_up() && !answers[i]->closed_before) {
        keep_dead_letter(db, *batch[i], *answers[i]);
      }
    }
    execute(db, "COMMIT");
    std::set<std::int32_t> again;  // partitions: a message comes again, with those behind it
    std::chrono::milliseconds pause{0};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::string& id = messages[i].key;
      if (answers[i]->kind == semel::Outcome::Kind::kRetry) ++tries[id];
      if (again.contains(batch[i]->partition)) continue;
      if (answers[i]->try_again()) {
        rd_kafka_seek(batch[i]->rkt, batch[i]->partition, batch[i]->offset, 1000);
        again.insert(batch[i]->partition);
        pause = std::max(pause, answers[i]->delay);
        at_end = false;  // it is not, after a seek
        continue;
      }
      tries.erase(id);
      if (answers[i]->kind == semel::Outcome::Kind::kDuplicate) ++duplicates;
      rd_kafka_offset_store(batch[i]->rkt, batch[i]->partition, batch[i]->offset);
    }
    std::this_thread::sleep_for(pause);
  }
  std::printf("%zu duplicates\n", duplicates);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  PGconn* db = PQconnectdb(setting("DATABASE_URL"));
  if (PQstatus(db) != CONNECTION_OK) give_up(PQerrorMessage(db));
  rd_kafka_t* kafka = subscribe(argv[1]);
  consume(db, kafka);
  rd_kafka_consumer_close(kafka);
  rd_kafka_destroy(kafka);
  PQfinish(db);
}
