// Keys that standards name, from the command line to the effect; and where a value came from.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

std::string with_key(const std::string& key) {
  std::string consumer = payments(kQueue);
  const std::string usual = "    key: { from: [json:/id] }\n";
  const auto at = consumer.find(usual);
  EXPECT_NE(at, std::string::npos);
  return consumer.replace(at, usual.size(), key);
}

void send(const TestBed& bed, const Words& headers, const std::string& body) {
  Words words = {"send", "payments", body};
  for (const std::string& header : headers) words.insert(words.end(), {"--header", header});
  const Ran ran = bed.semel(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
}

std::int64_t sum_after_work(const TestBed& bed) {
  const Ran ran = bed.semel({"run", "--once", "-q"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  return bed.number("SELECT sum(balance) FROM account");
}

constexpr const char* kBody = "{\"account\":1,\"amount\":5}";

TEST(Keys, AutoKnowsAMessageByWhatItsStandardNames) {
  const TestBed bed(with_key("    key: auto\n"));
  for (int copies = 0; copies < 2; ++copies) {
    send(bed, {"ce-id=1", "ce-source=/shop", "ce-type=paid"}, kBody);
    send(bed, {"Idempotency-Key=\"1\""}, kBody);
    send(bed, {"webhook-id=msg_1"}, kBody);
    send(bed, {},
         "{\"specversion\":\"1.0\",\"source\":\"/bank\",\"id\":\"1\",\"account\":1,\"amount\":5}");
  }
  send(bed, {}, kBody);
  EXPECT_EQ(sum_after_work(bed), 20) << "four events, each of them twice";
  for (const char* key : {"/shop|1", "1", "msg_1", "/bank|1"}) {
    EXPECT_EQ(bed.semel({"records", "show", key}).code, 0) << key;
  }
  const Ran letters = bed.semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(json_at(letters.out, "/count"), "1") << letters.out;
  EXPECT_EQ(json_at(letters.out, "/dead_letters/0/reason"), "key.missing");
}

TEST(Keys, WithoutAKeyInTheConfigAutoIsMeantAndItsChangeIsNone) {
  const TestBed bed(with_key(""));
  send(bed, {"webhook-id=w"}, kBody);
  EXPECT_EQ(sum_after_work(bed), 5);
  const Ran named = bed.semel({"run", "--once", "--set", "consumers[0].key=auto"});
  EXPECT_EQ(named.code, 0) << "the same recipe: " << named.err;
  EXPECT_EQ(named.err.find("W034"), std::string::npos) << named.err;
  const Ran other = bed.semel({"run", "--once", "--set", "consumers[0].key=webhook-id"});
  EXPECT_EQ(other.code, 78);
  EXPECT_NE(other.err.find("R220"), std::string::npos) << other.err;
}

TEST(Keys, ABodyMayBeTheKeyKnowinglyAndCheckSaysWhatThatCosts) {
  const TestBed bed(with_key("    key: { from: webhook-id, missing: hash_body }\n"));
  for (int copies = 0; copies < 3; ++copies) send(bed, {}, kBody);
  send(bed, {"webhook-id=w"}, kBody);
  EXPECT_EQ(sum_after_work(bed), 10);
  const Ran checked = bed.semel({"check"});
  EXPECT_NE(checked.out.find("known by its body"), std::string::npos) << checked.out;
  const Ran show = bed.semel({"run", "--once", "--set", "consumers[0].key.missing=dead_letter"});
  EXPECT_EQ(show.code, 0) << "no key that was found is new: " << show.err;
}

TEST(Keys, ConfigShowSaysWhereEachValueCameFrom) {
  const TestBed bed(payments(kQueue));
  write_file(bed.file("origin.yaml"),
             "version: 1\n"
             "defaults: { timeout: 7s }\n"
             "consumers:\n"
             "  - name: payments\n"
             "    source: { file: \"${INPUT}\" }\n"
             "    key: json:/id\n"
             "    strategy: state_machine\n"
             "    limits: { key: 1KiB }\n"
             "    handler: { native: \"${file:name.txt}\" }\n");
  write_file(bed.file("name.txt"), "hidden\n");
  const Ran ran = run({"config", "show", "--origin", bed.file("origin.yaml"), "--set",
                       "consumers.payments.batch.max=3"},
                      {.environment = {"INPUT=in.jsonl", "STATE_DIRECTORY=/var/lib/x"}});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string file = bed.file("origin.yaml");
  for (const std::string& line :
       {"consumers[0].source.file.path = in.jsonl   # " + file + ":5:21, env INPUT",
        "consumers[0].timeout = 7s   # " + file + ":2:22",
        "consumers[0].limits.key = 1KiB   # " + file + ":8:20",
        std::string("consumers[0].batch.max = 3   # --set"),
        std::string("consumers[0].key.missing = dead_letter   # default"),
        std::string("store.sqlite.path = /var/lib/x/semel.db   # env STATE_DIRECTORY")}) {
    EXPECT_NE(ran.out.find(line + "\n"), std::string::npos) << line << "\n" << ran.out;
  }
  EXPECT_NE(ran.out.find("consumers[0].handler.native = ***"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("hidden"), std::string::npos) << "a secret's file is not shown";
}

}  // namespace
}  // namespace semel::test
