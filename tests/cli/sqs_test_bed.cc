#include "tests/cli/sqs_test_bed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

namespace semel::test {
namespace {

// A poll that is given up when a run ends may take messages along; a short one is waited for.
std::string consumer_of_sqs(const std::string& url, const SqsTestBed::Options& options) {
  return fmt::format(
      "    source:\n"
      "      sqs: {{ queue_url: \"{}\", region: local, visibility_timeout: 5s, wait: 1s,\n"
      "             credentials: {{ access_key_id: AKID, secret_access_key: hunter2 }}, {} }}\n"
      "    key: {}\n{}{}",
      url, options.more_of_source, options.key, options.more, kPaymentHandler);
}

int account_of_payment(std::size_t number) { return static_cast<int>(number % 100) + 1; }
int amount_of_payment(std::size_t number) { return static_cast<int>(number % 97) + 1; }

std::string queue_for(const ElasticmqServer& server, const SqsTestBed::Options& options) {
  if (!options.queue.empty()) return options.queue;
  return options.fifo ? server.new_fifo_queue() : server.new_queue();
}

}  // namespace

SqsTestBed::SqsTestBed(const ElasticmqServer& server, const Options& options)
    : server_(server),
      fifo_(options.fifo),
      copied_(options.copied),
      queue_(queue_for(server, options)),
      ground_(options.database_kind, consumer_of_sqs(server.url(queue_), options)) {}

std::unique_ptr<Program> SqsTestBed::start_through(int port) const {
  const std::string url = fmt::format("http://127.0.0.1:{}/000000000000/{}", port, queue_);
  return std::make_unique<Program>(
      Words{"run", config(), "--set", "consumers[0].source.sqs.queue_url=" + url});
}

void SqsTestBed::finish(Program& runner) const {
  EXPECT_TRUE(comes_true([&] { return all_done() && is_empty(); }, std::chrono::seconds(60)))
      << sum() << " of " << sum_ << '\n'
      << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran rest = semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(json_at(rest.out, "/effects"), "0") << rest.out;
  expect_each_once();
}

Ran SqsTestBed::run_with(const std::string& set) const {
  return semel({"run", "--once", "-q", "--set", "consumers[0].source.sqs." + set});
}

// A deduplication id that the server knows is dropped there: each sending has its own.
std::size_t SqsTestBed::send(std::size_t first, std::size_t last, const std::string& round) const {
  std::vector<ElasticmqServer::Post> posts;
  for (std::size_t i = first; i < last; ++i) {
    const int account = account_of_payment(i);
    const std::size_t copies = i % copied_ == 0 ? 2 : 1;
    for (std::size_t copy = 0; copy < copies; ++copy) {
      posts.push_back({.body = payment(fmt::format("p-{}", i), account, amount_of_payment(i))});
      if (!fifo_) continue;
      posts.back().group = std::to_string(account);
      posts.back().deduplication = fmt::format("{}-{}-{}", round, i, copy);
    }
  }
  server_.send(queue_, posts);
  return posts.size();
}

void SqsTestBed::publish(std::size_t payments) {
  deliveries_ += send(next_, next_ + payments, "first");
  for (std::size_t i = 0; i < payments; ++i, ++next_) sum_ += amount_of_payment(next_);
}

void SqsTestBed::expect_nothing_happens_again() const {
  const std::size_t sent = send(0, next_, "again");
  // Nothing dies here: a message that a slow machine holds for long does not come twice.
  const Ran again = semel({"run", "--once", "-o", "json", "-q", "--set",
                           "consumers[0].source.sqs.visibility_timeout=10m"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/deliveries"), std::to_string(sent)) << again.out;
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  expect_each_once();
}

}  // namespace semel::test
