// Two customers want the same thing, and one of the two is sent once more.
#include <semel/semel.h>

#include <cstdio>
#include <vector>

int main() {
  try {
    semel::Producer producer(
        semel::ConsumerQueue{.config_file = "semel.yaml", .consumer = "orders"},
        {.time_limit = std::chrono::seconds(10)});
    std::vector<semel::OutgoingMessage> orders(2);
    for (semel::OutgoingMessage& order : orders) order.payload = R"({"item":"pizza"})";
    std::vector<semel::SendResult> results = producer.send(orders);
    for (const semel::SendResult& sent : results) {
      if (!sent) throw semel::SemelError(sent.error());
    }
    std::puts(results[0]->key < results[1]->key ? "two keys, in order" : "no order");

    // As after an answer that was lost: nobody knows, so it is sent again, under the key it had.
    orders[0].key = results[0]->key;
    const semel::SendResult again = producer.send(orders[0]);
    std::puts(again ? "sent once more" : again.error().message.c_str());
    return 0;
  } catch (const semel::SemelError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
