#include "tests/cli/nats_test_bed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace semel::test {
namespace {

constexpr std::size_t kPublishedAtOnce = 4'000;

// All that a killed process had in hand comes again soon.
std::string nats_consumer(const std::string& url, const std::string& stream,
                          const NatsTestBed::Options& options) {
  return fmt::format(
      "    source:\n"
      "      nats: {{ url: \"{}\", stream: {}, durable: {}, declare: true, ack_wait: 2s, {} }}\n"
      "    key: {}\n{}{}",
      url, stream, NatsTestBed::kDurable, options.more_of_source, options.key, options.more,
      kPaymentHandler);
}

int amount_in_nats(std::size_t number) { return static_cast<int>(number % 97) + 1; }

}  // namespace

NatsTestBed::NatsTestBed(const NatsServer& server, const Options& options)
    : server_(server),
      copied_(options.copied),
      stream_(server.new_stream(options.stream)),
      ground_(options.database_kind,
              nats_consumer(options.url.empty() ? server.url() : options.url, stream_, options)) {}

void NatsTestBed::finish(Program& runner) const {
  EXPECT_TRUE(comes_true([&] { return all_done(); }, std::chrono::seconds(60)))
      << sum() << " of " << sum_ << '\n'
      << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran rest = semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(json_at(rest.out, "/effects"), "0") << rest.out;
  EXPECT_TRUE(counts().all_done()) << counts().pending << " and " << counts().ack_pending;
  expect_each_once();
}

Ran NatsTestBed::run_with(const std::string& set) const {
  return semel({"run", "--once", "-q", "--set", "consumers[0].source.nats." + set});
}

std::vector<std::string> NatsTestBed::bodies(std::size_t first, std::size_t last) const {
  std::vector<std::string> made;
  for (std::size_t i = first; i < last; ++i) {
    made.push_back(
        payment(fmt::format("p-{}", i), static_cast<int>(i % 100) + 1, amount_in_nats(i)));
    if (i % copied_ == 0) made.push_back(made.back());
  }
  return made;
}

// cnats takes only so many before their confirms.
void NatsTestBed::send(const std::vector<std::string>& bodies) const {
  for (std::size_t done = 0; done < bodies.size(); done += kPublishedAtOnce) {
    const auto first = bodies.begin() + static_cast<std::ptrdiff_t>(done);
    const auto count = std::min(kPublishedAtOnce, bodies.size() - done);
    server_.publish_bodies(stream_, {first, first + static_cast<std::ptrdiff_t>(count)});
  }
}

void NatsTestBed::publish(std::size_t payments) {
  const auto fresh = bodies(next_, next_ + payments);
  send(fresh);
  deliveries_ += fresh.size();
  for (std::size_t i = 0; i < payments; ++i, ++next_) sum_ += amount_in_nats(next_);
}

void NatsTestBed::expect_nothing_happens_again() const {
  send(bodies(0, next_));
  const Ran again = semel({"run", "--once", "-o", "json", "-q"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/deliveries"), std::to_string(deliveries_)) << again.out;
  EXPECT_EQ(json_at(again.out, "/effects"), "0") << again.out;
  expect_each_once();
}

}  // namespace semel::test
