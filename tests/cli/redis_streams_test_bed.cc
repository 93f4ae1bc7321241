#include "tests/cli/redis_streams_test_bed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

namespace semel::test {
namespace {

std::string consumer_of_stream(const std::string& url, const std::string& stream,
                               const RedisStreamsTestBed::Options& options) {
  std::string more;
  if (!options.more_of_source.empty()) more += ", " + options.more_of_source;
  if (!options.consumer.empty()) more += ", consumer: " + options.consumer;
  return fmt::format(
      "    source:\n"
      "      redis_streams: {{ url: \"{}\", stream: \"{}\", group: {}, claim_after: 1s{} }}\n"
      "    key: {}\n{}{}",
      url, stream, RedisStream::group(), more, options.key, options.more, options.handler);
}

int amount_in(std::size_t number) { return static_cast<int>(number % 97) + 1; }

}  // namespace

RedisStreamsTestBed::RedisStreamsTestBed(const RedisServer& server, const Options& options)
    : copied_(options.copied),
      stream_([&server](const auto& words) { return server.run(words); },
              server.new_database() + ":payments"),
      ground_(options.database_kind, consumer_of_stream(server.url(), stream_.name(), options)) {
  stream_.make_group();
}

void RedisStreamsTestBed::finish(Program& runner) const {
  EXPECT_TRUE(comes_true([&] { return all_done(); }, std::chrono::seconds(60)))
      << sum() << " of " << sum_ << '\n'
      << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait();
  // One that has only just begun ends by the signal.
  EXPECT_TRUE(ran.code == 0 || ran.signal == SIGTERM) << ran.err;
  const Ran rest = run_once();
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(json_at(rest.out, "/effects"), "0") << rest.out;
  EXPECT_TRUE(stream_.all_done()) << stream_.pending() << " pending, " << stream_.unread();
  expect_each_once();
}

Ran RedisStreamsTestBed::run_with(const std::string& set) const {
  return semel({"run", "--once", "-q", "--set", "consumers[0].source.redis_streams." + set});
}

std::vector<std::string> RedisStreamsTestBed::payloads(std::size_t first, std::size_t last) const {
  std::vector<std::string> made;
  for (std::size_t i = first; i < last; ++i) {
    made.push_back(payment(fmt::format("p-{}", i), static_cast<int>(i % 100) + 1, amount_in(i)));
    if (i % copied_ == 0) made.push_back(made.back());
  }
  return made;
}

void RedisStreamsTestBed::publish(std::size_t payments) {
  const auto fresh = payloads(next_, next_ + payments);
  stream_.add(fresh);
  deliveries_ += fresh.size();
  for (std::size_t i = 0; i < payments; ++i, ++next_) sum_ += amount_in(next_);
}

void RedisStreamsTestBed::expect_nothing_happens_again() const {
  stream_.add(payloads(0, next_));
  const Ran again = run_once();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/deliveries"), std::to_string(deliveries_)) << again.out;
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  expect_each_once();
}

}  // namespace semel::test
