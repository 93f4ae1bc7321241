#include "tests/cli/rabbitmq_test_bed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace semel::test {
namespace {

constexpr std::size_t kSentAtOnce = 5'000;

std::string consumer_at(const std::string& url, const std::string& queue,
                        const RabbitmqTestBed::Options& options) {
  return fmt::format(
      "    source:\n"
      "      rabbitmq: {{ url: \"{}\", queue: {}, {} }}\n"
      "    key: {}\n{}{}{}",
      url, queue, options.more_of_source, options.key, options.more,
      options.slow ? "    handler: { exec: { command: [sleep, '1'], timeout: 60s } }\n"
                   : kPaymentHandler,
      options.others);
}

int amount_of(std::size_t number) { return static_cast<int>(number % 97) + 1; }

}  // namespace

RabbitmqTestBed::RabbitmqTestBed(const RabbitmqServer& server, const Options& options)
    : server_(server),
      copied_(options.copied),
      queue_(options.queue.empty() ? server.new_queue(options.type) : options.queue),
      ground_(options.database_kind,
              consumer_at(options.url.empty() ? server.url() : options.url, queue_, options)) {}

void RabbitmqTestBed::finish(Program& runner) const {
  EXPECT_TRUE(comes_true([&] { return all_done(); }, std::chrono::seconds(60)))
      << sum() << " of " << sum_ << '\n'
      << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait();
  // One that has only just begun ends by the signal.
  EXPECT_TRUE(ran.code == 0 || ran.signal == SIGTERM) << ran.err;
  const Ran rest = semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(json_at(rest.out, "/effects"), "0") << rest.out;
  EXPECT_EQ(server_.depth(queue_), 0);
  expect_each_once();
}

Ran RabbitmqTestBed::run_with(const std::string& set) const {
  return semel({"run", "--once", "-q", "--set", "consumers[0].source.rabbitmq." + set});
}

std::vector<std::string> RabbitmqTestBed::bodies(std::size_t first, std::size_t last) const {
  std::vector<std::string> made;
  for (std::size_t i = first; i < last; ++i) {
    made.push_back(payment(fmt::format("p-{}", i), static_cast<int>(i % 100) + 1, amount_of(i)));
    if (i % copied_ == 0) made.push_back(made.back());
  }
  return made;
}

// The broker's confirms are read between the parts.
void RabbitmqTestBed::send(const std::vector<std::string>& bodies) const {
  for (std::size_t done = 0; done < bodies.size(); done += kSentAtOnce) {
    const auto first = bodies.begin() + static_cast<std::ptrdiff_t>(done);
    const auto count = std::min(kSentAtOnce, bodies.size() - done);
    server_.publish_bodies(queue_, {first, first + static_cast<std::ptrdiff_t>(count)});
  }
}

void RabbitmqTestBed::publish(std::size_t payments) {
  const auto fresh = bodies(next_, next_ + payments);
  send(fresh);
  deliveries_ += fresh.size();
  for (std::size_t i = 0; i < payments; ++i, ++next_) sum_ += amount_of(next_);
}

void RabbitmqTestBed::expect_nothing_happens_again() const {
  send(bodies(0, next_));
  const Ran again = semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/deliveries"), std::to_string(deliveries_)) << again.out;
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  expect_each_once();
}

}  // namespace semel::test
