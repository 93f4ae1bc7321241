#include "tests/producer/relay_test_bed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "tests/cli/program.h"
#include "tests/support/test_environment.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

// Each run is killed at one of these answers, which is after at most so many are marked.
constexpr int kFirstAnswer = 2;
constexpr int kLastAnswer = 12;

std::size_t relay_kills() { return soaks() ? 200 : 12; }
std::size_t relay_messages() { return relay_kills() * kLastAnswer + 100; }

// Behind `- name: payments`: orders are moved, and each sends a mail through the outbox. One that
// is in hand at several kills is not to blame for them.
std::string orders_and_mails(const std::string& handler) {
  return fmt::format(R"yaml(    source: {{ file: {{ path: orders.jsonl }} }}
    key: json:/id
    handler:
      sql:
        params: {{ id: json:/id }}
        statements: [ "INSERT INTO moved VALUES (:id)" ]
    publish: [mails]
  - name: mails
    source: {{ queue: {{}} }}
    key: json:/id
    retry: {{ crashes: 1000 }}
    handler: {}
)yaml",
                     handler);
}

// A database with all orders done and all mails still to leave.
void fill_outbox(const TestBed& bed) {
  std::string orders;
  for (std::size_t i = 0; i < relay_messages(); ++i)
    orders += fmt::format("{{\"id\":\"o-{}\"}}\n", i);
  write_file(bed.file("orders.jsonl"), orders);
  bed.sql("CREATE TABLE moved (id TEXT)");
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const Ran paused = bed.semel({"consumers", "pause", "mails"});
  ASSERT_EQ(paused.code, 0) << paused.err;
  Program runs({"run", bed.config(), "-q"});
  const auto all = static_cast<std::int64_t>(relay_messages());
  EXPECT_TRUE(
      comes_true([&] { return bed.number("SELECT count(*) FROM moved") == all; }, seconds(120)))
      << runs.err();
  runs.signal(SIGTERM);
  EXPECT_EQ(runs.wait().code, 0);
  const Ran resumed = bed.semel({"consumers", "resume", "mails"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
}

void kill_between_publish_and_mark(const TestBed& bed) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < relay_kills(); ++i) {
    const auto answer = kFirstAnswer + random() % (kLastAnswer - kFirstAnswer + 1);
    const Ran ran = bed.semel({"run", "--once", "-q"},
                              {.failpoint = fmt::format("handler.after:kill:{}", answer)});
    ASSERT_EQ(ran.signal, SIGKILL) << "kill " << i << " did not fire: " << ran.code << ran.err;
  }
  // Messages that a killed process had in hand are counted, and handled first.
  Program last({"run", bed.config(), "--once", "-q"});
  const Ran rest = last.wait(soaks() ? seconds(1'200) : seconds(120));
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/dead_letters/0/id"),
            "(absent)");
}

}  // namespace

void kill_a_relay(const std::string& handler) {
  const TestBed bed(orders_and_mails(handler));
  fill_outbox(bed);
  if (!testing::Test::HasFatalFailure()) kill_between_publish_and_mark(bed);
}

void expect_each_mail_once(const Consumption& seen) {
  EXPECT_EQ(seen.exit_code, 0) << seen.complaints;
  EXPECT_EQ(seen.effects.size(), relay_messages()) << "none is lost";
  for (const auto& [key, times] : seen.effects) EXPECT_EQ(times, 1) << key;
  EXPECT_TRUE(seen.effects.contains("o-0"));
  EXPECT_EQ(seen.others, 0);
  EXPECT_GE(seen.duplicates, static_cast<int>(relay_kills()) / 2) << "kills that left no double";
}

}  // namespace semel::test
