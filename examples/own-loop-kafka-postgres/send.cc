// send TOPIC COUNT: makes the topic, with one partition, and sends so many orders to it; every
// third one twice, under the same key. Then one for an item that there is not, one without a key,
// and one that the database refuses.
#include <librdkafka/rdkafka.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  char error[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", std::getenv("KAFKA_BROKERS"), error, sizeof error);
  rd_kafka_t* kafka = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);

  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(argv[1], 1, 1, error, sizeof error);
  rd_kafka_queue_t* answers = rd_kafka_queue_new(kafka);
  rd_kafka_CreateTopics(kafka, &topic, 1, nullptr, answers);
  rd_kafka_event_destroy(rd_kafka_queue_poll(answers, 30'000));
  rd_kafka_queue_destroy(answers);
  rd_kafka_NewTopic_destroy(topic);

  const auto send = [&](const std::string& id, const char* item) {
    while (rd_kafka_producev(kafka, RD_KAFKA_V_TOPIC(argv[1]), RD_KAFKA_V_PARTITION(0),
                             RD_KAFKA_V_KEY(id.empty() ? nullptr : id.data(), id.size()),
                             RD_KAFKA_V_VALUE(const_cast<char*>(item), std::string(item).size()),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                             RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      rd_kafka_poll(kafka, 100);
    }
  };
  const int count = std::atoi(argv[2]);
  for (int i = 0; i < count; ++i) {
    const std::string id = "o-" + std::to_string(i);
    send(id, "lamp");
    if (i % 3 == 0) send(id, "lamp");
  }
  send("o-last", "no such lamp");
  send("", "lamp");
  send("o-refused", "broken lamp");
  const bool sent = rd_kafka_flush(kafka, 60'000) == RD_KAFKA_RESP_ERR_NO_ERROR;
  rd_kafka_destroy(kafka);
  return sent ? 0 : 1;
}
