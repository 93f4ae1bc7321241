#include "tests/cli/rabbitmq_scene.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace semel::test {
namespace {

std::string consumer_at(const std::string& url, const std::string& queue,
                        const RabbitmqScene::Options& options) {
  std::string text = fmt::format(
      "    source:\n"
      "      rabbitmq: {{ url: \"{}\", queue: {}, {} }}\n"
      "    key: {}\n{}",
      url, queue, options.more_of_source, options.key, options.more);
  if (options.slow) {
    return text + "    handler: { exec: { command: [sleep, '1'], timeout: 60s } }\n";
  }
  return text +
         "    handler:\n"
         "      sql:\n"
         "        params: { id: json:/id, account: json:/account, amount: json:/amount }\n"
         "        statements:\n"
         "          - sql: UPDATE account SET balance = balance + :amount WHERE id = :account\n"
         "            expect_rows: 1\n"
         "          - INSERT INTO effect (id) VALUES (:id)\n";
}

}  // namespace

RabbitmqScene::RabbitmqScene(const RabbitmqServer& server, const Options& options)
    : server_(server), queue_(server.new_queue(options.type)) {
  scene_.emplace(consumer_at(server.url(), queue_, options));
  scene_->sql("CREATE TABLE effect (id VARCHAR(40) NOT NULL)");
}

Ran RabbitmqScene::run_with(const std::string& set) const {
  return semel({"run", "--once", "-q", "--set", "consumers[0].source.rabbitmq." + set});
}

void RabbitmqScene::publish(std::size_t payments) {
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < payments; ++i, ++next_) {
    const int amount = static_cast<int>(next_ % 97) + 1;
    sum_ += amount;
    const int copies = next_ % 3 == 0 ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      bodies.push_back(
          payment(fmt::format("p-{}", next_), static_cast<int>(next_ % 100) + 1, amount));
    }
  }
  server_.publish_bodies(queue_, bodies);
  deliveries_ += bodies.size();
}

void RabbitmqScene::expect_each_once() const {
  EXPECT_EQ(number("SELECT count(*) FROM effect"), static_cast<std::int64_t>(next_)) << "effects";
  EXPECT_EQ(number("SELECT count(DISTINCT id) FROM effect"), static_cast<std::int64_t>(next_))
      << "keys";
  EXPECT_EQ(sum(), sum_);
}

}  // namespace semel::test
