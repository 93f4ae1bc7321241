// A producer and the queue of a consumer.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <future>

#include <semel/producer.h>
#include <semel/sqlite.h>

#include "tests/producer/consumption.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ProducerToAQueue : public testing::Test {
 protected:
  ProducerToAQueue() {
    write_file(config_, config("{ queue: {} }"));
    write_file(folder_.file("other.yaml"), config("{ file: { path: f.jsonl } }"));
  }
  std::string config(const char* source) const {
    return fmt::format(
        "version: 1\nstore: {{ sqlite: {} }}\nconsumers:\n  - name: mails\n"
        "    source: {}\n    key: json:/id\n    strategy: state_machine\n"
        "    handler: {{ native: mails }}\n",
        database_, source);
  }
  static OutgoingMessage a_mail(Bytes payload) {
    OutgoingMessage mail;
    mail.payload = std::move(payload);
    return mail;
  }

  TempDir folder_;
  const std::string config_ = folder_.file("semel.yaml");
  const std::string database_ = folder_.file("semel.db");
  const ConsumerQueue to_{.config_file = config_, .consumer = "mails"};
};

TEST_F(ProducerToAQueue, WhatIsConfirmedHasItsEffectOnceUnderTheKeyThatItCarries) {
  Producer producer(to_);
  const SendResult first = producer.send(a_mail(R"({"id":"m-1"})"));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->key, "m-1") << "the consumer's recipe finds it";
  ASSERT_TRUE(producer.send(a_mail(R"({"id":"m-1"})"))) << "once more";
  OutgoingMessage given = a_mail(R"({"id":"m-2"})");
  given.key = "given";
  ASSERT_TRUE(producer.send(given));
  const SendResult named = producer.send(a_mail("{}"));
  ASSERT_TRUE(named) << named.error().message;
  const Consumption seen = consume_config(config_, "mails");
  EXPECT_EQ(seen.exit_code, 0) << seen.complaints;
  EXPECT_EQ(seen.effects, (std::map<std::string, int>{{"m-1", 1}, {"given", 1}, {named->key, 1}}));
  EXPECT_EQ(seen.duplicates, 1);
}

TEST_F(ProducerToAQueue, ABatchIsOneCommitAndABadMessageIsToldApart) {
  Producer producer(to_);
  std::vector<OutgoingMessage> mails;
  for (int i = 0; i < 2'500; ++i) mails.push_back(a_mail(fmt::format(R"({{"id":"m-{}"}})", i)));
  mails[7].payload = "no JSON";
  const auto results = producer.send(mails);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].has_value(), i != 7) << i;
  }
  EXPECT_EQ(results[7].error().kind, ErrorKind::kRejected);
  EXPECT_EQ(consume_config(config_, "mails").effects.size(), mails.size() - 1);
}

// On a store that is open already.
TEST_F(ProducerToAQueue, AStoreThatAnotherHasLockedIsWaitedForWithinTheLimit) {
  auto store = open_sqlite({.path = database_, .busy = milliseconds(50)});
  ASSERT_TRUE(store) << store.error().message;
  ConsumerQueue to = to_;
  to.store = store->get();
  Producer producer(to, {.time_limit = seconds(60)});
  Producer hasty(to, {.time_limit = milliseconds(300)});
  ASSERT_TRUE(producer.send(a_mail(R"({"id":"first"})")));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(database_.c_str(), &other), SQLITE_OK);
  const auto run = [&](const char* text) {
    return sqlite3_exec(other, text, nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  ASSERT_TRUE(run("BEGIN IMMEDIATE"));
  const SendResult missed = hasty.send(a_mail(R"({"id":"missed"})"));
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().kind, ErrorKind::kUnavailable) << missed.error().message;
  EXPECT_EQ(missed.error().key, "missed");
  auto waits =
      std::async(std::launch::async, [&] { return producer.send(a_mail(R"({"id":"patient"})")); });
  EXPECT_EQ(waits.wait_for(milliseconds(200)), std::future_status::timeout);
  ASSERT_TRUE(run("COMMIT"));
  EXPECT_TRUE(waits.get());
  sqlite3_close(other);
  store->reset();
  const Consumption seen = consume_config(config_, "mails");
  EXPECT_EQ(seen.effects, (std::map<std::string, int>{{"first", 1}, {"patient", 1}}));
}

TEST_F(ProducerToAQueue, WhatIsNoQueueIsSaid) {
  const auto said = [](const ConsumerQueue& to) -> std::string {
    try {
      Producer producer(to);
      return "nothing";
    } catch (const SemelError& error) {
      return error.error().code + " " + error.what();
    }
  };
  EXPECT_NE(said({.config_file = config_, .consumer = "males"}).find("no consumer \"males\""),
            std::string::npos);
  const std::string file = folder_.file("other.yaml");
  EXPECT_NE(said({.config_file = file, .consumer = "mails"}).find("does not read a queue"),
            std::string::npos);
  EXPECT_NE(said({.config_file = folder_.file("none.yaml"), .consumer = "mails"}), "nothing");
}

}  // namespace
}  // namespace semel::test
