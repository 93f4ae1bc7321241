// Commands with --url: they show and do what those on the store do, with the same exit codes.
#include <sys/stat.h>

#include "tests/cli/remote_test_bed.h"
#include "tests/support/http_server.h"
#include "tests/support/server_address.h"
#include "tests/support/waiting.h"

namespace semel::test {
namespace {

class RemoteTest : public RemoteTestBed {};

TEST_F(RemoteTest, ShowsWhatTheStoreShows) {
  const std::string id = id_of(0);
  const std::vector<Words> commands = {{"status"},
                                       {"consumers", "list"},
                                       {"records", "show", "p-done"},
                                       {"records", "show", "p-1"},
                                       {"dlq", "list"},
                                       {"dlq", "list", "--limit", "2"},
                                       {"dlq", "list", "--where", "key=p-3"},
                                       {"dlq", "groups"},
                                       {"dlq", "show", id}};
  for (const Words& command : commands) {
    for (const char* format : {"text", "json", "jsonl"}) {
      for (const char* time : {"iso", "raw"}) {
        Words words = command;
        words.insert(words.end(), {"-o", format, "--time", time});
        // A run that is busy may not say in time that it is there.
        Ran opened, asked;
        (void)test::comes_true([&] {
          opened = bed_.semel(words);
          asked = ask(words);
          return asked.out == opened.out;
        });
        const std::string what = fmt::format("{}", fmt::join(words, " "));
        EXPECT_EQ(asked.code, opened.code) << what << asked.err;
        EXPECT_EQ(asked.out, opened.out) << what;
      }
    }
  }
}

TEST_F(RemoteTest, TheDoctorSaysWhatItSaysOfTheStore) {
  const Ran asked = ask({"doctor"});
  EXPECT_EQ(asked.code, bed_.semel({"doctor"}).code);
  EXPECT_NE(asked.out.find("D101"), std::string::npos) << asked.out << asked.err;
  EXPECT_NE(asked.out.find("payments: transactional; effect"), std::string::npos) << asked.out;
  EXPECT_EQ(json_at(ask({"doctor", "-o", "json"}).out, "/schema"), "semel.v1.doctor");
}

TEST_F(RemoteTest, PausesAndResumes) {
  const Ran again = ask({"consumers", "pause", "payments", "--reason", "another"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "payments was paused already, and keeps its first reason: a test\n");
  EXPECT_EQ(ask({"consumers", "resume", "payments"}).out, "payments is resumed\n");
  EXPECT_EQ(ask({"consumers", "resume", "payments"}).code, 4);
  EXPECT_EQ(ask({"consumers", "pause", "payments"}).out, "payments is paused\n");
  const Ran unknown = ask({"consumers", "pause", "paymnts"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean \"payments\"?"), std::string::npos) << unknown.err;
}

TEST_F(RemoteTest, UnlocksAndForgetsRecordsByTheirKeys) {
  EXPECT_EQ(ask({"records", "unlock", "p-1"}).code, 2) << "it asks, and there is no terminal";
  const Ran unlocked = ask({"records", "unlock", "p-1", "p-none", "--yes"});
  EXPECT_EQ(unlocked.code, 3) << unlocked.err;
  EXPECT_EQ(unlocked.out, "1 unlocked of 2\n");
  EXPECT_EQ(ask({"records", "unlock", "p-done", "--yes"}).code, 4) << "neither parked nor dead";
  EXPECT_EQ(ask({"records", "forget", "p-done", "--dry-run"}).out, "1 would be forgotten\n");
  EXPECT_EQ(ask({"records", "show", "p-done"}).code, 0);
  EXPECT_EQ(ask({"records", "forget", "p-done", "--yes", "--why", "ticket 8"}).out,
            "1 forgotten\n");
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_audit WHERE reason = 'ticket 8'"), 1);
  EXPECT_EQ(ask({"records", "show", "p-done"}).code, 4);
  EXPECT_EQ(ask({"records", "forget", "--where", "state=dead", "--yes"}).code, 2);
}

// The record that was shown is the one that is agreed to, and not one that moved on meanwhile.
TEST_F(RemoteTest, SaysWhichRecordWasSeen) {
  const std::string seen = run_->get("/api/v1/consumers/payments/records/p-1",
                                     {"Authorization: Bearer a token with the role read"})
                               .body;
  HttpServer server;
  const char* const json = "Content-Type: application/json\r\n";
  const std::string record = "/api/v1/consumers/payments/records/p-1";
  server.on(
      "/api/v1/consumers",
      reply(200, R"({"schema":"semel.v1.consumers","consumers":[{"name":"payments"}]})", json));
  server.on(record, reply(200, seen, json));
  server.on(record + "/forget", reply(200, R"({"schema":"semel.v1.forget"})", json));
  const Ran ran = test::run({"records", "forget", "p-1", "--yes", "--url", server.url("/")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string body = server.requests().back().body;
  EXPECT_EQ(json_at(body, "/state"), "dead") << body;
  ASSERT_NE(json_at(seen, "/records/0/token"), "(absent)") << seen;
  EXPECT_EQ(json_at(body, "/token"), json_at(seen, "/records/0/token")) << body;
}

TEST_F(RemoteTest, ReplaysAndDiscardsByIds) {
  const std::string first = id_of(0), second = id_of(1);
  const Ran replayed = ask({"dlq", "replay", first, "99999", "--yes"});
  EXPECT_EQ(replayed.code, 3) << replayed.err;
  EXPECT_EQ(replayed.out, "1 replayed: due now, 1 not there\n");
  EXPECT_EQ(letters("replayed = 1"), 1);
  const Ran discarded = ask({"dlq", "discard", second, "--yes", "-o", "json", "--why", "ticket 7"});
  EXPECT_EQ(discarded.code, 0) << discarded.err;
  EXPECT_EQ(json_at(discarded.out, "/discarded"), "1");
  EXPECT_EQ(letters("1"), kRemoteLetters - 1);
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_audit WHERE who = 'admin' AND action = "
                        "'dead_letters.discard' AND reason = 'ticket 7'"),
            1);
  EXPECT_EQ(bed_.semel({"dlq", "discard", first, "--yes", "--why", "ticket 7"}).code, 2);
  EXPECT_EQ(ask({"dlq", "show", second}).code, 4);
  EXPECT_EQ(ask({"dlq", "discard", second, "--yes"}).code, 4);
}

TEST_F(RemoteTest, EditsALetter) {
  const std::string id = id_of(0);
  const std::string key = json_at(ask({"dlq", "show", id, "-o", "json"}).out, "/dead_letter/key");
  const std::string mended =
      fmt::format(R"({{"id":"{}","account":1,"amount":2,"mended":true}})", key);
  const auto edit = [&](Words more, const std::string& payload, const std::string& role = "admin") {
    Words words = {"dlq", "edit", id, "--payload", bed_.file("payload")};
    write_file(bed_.file("payload"), payload);
    words.insert(words.end(), more.begin(), more.end());
    return ask(words, role);
  };
  EXPECT_EQ(edit({"--yes"}, mended).code, 2) << "the log wants to know why";
  EXPECT_EQ(edit({"--yes", "--why", "t"}, mended, "operator").code, 77);
  const Ran dry = edit({"--dry-run", "--why", "t"}, mended);
  EXPECT_EQ(dry.out, fmt::format("dead letter {}: would be edited\n", id)) << dry.err;
  const Ran other = edit({"--yes", "--why", "t"}, R"({"id":"another"})");
  EXPECT_EQ(other.code, 1) << other.out;
  EXPECT_NE(other.err.find("error[R349]"), std::string::npos) << other.err;
  EXPECT_NE(json_at(ask({"dlq", "show", id, "-o", "json"}).out, "/dead_letter/payload"), mended);
  const Ran ran = edit({"--yes", "--why", "ticket 9", "-o", "json"}, mended);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/edited"), "true");
  EXPECT_EQ(json_at(ask({"dlq", "show", id, "-o", "json"}).out, "/dead_letter/payload"), mended);
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_audit WHERE action = 'dead_letters.edit' AND "
                        "reason = 'ticket 9' AND outcome = 'edited'"),
            1);
}

TEST_F(RemoteTest, ARoleThatIsTooSmallIsNotPermitted) {
  EXPECT_EQ(ask({"status"}, "read").code, 0);
  for (const Words& words :
       {Words{"doctor"}, Words{"consumers", "resume", "payments"},
        Words{"records", "unlock", "p-1", "--yes"}, Words{"dlq", "replay", id_of(0), "--yes"},
        Words{"dlq", "replay", "--all", "--yes"}}) {
    const Ran ran = ask(words, "read");
    EXPECT_EQ(ran.code, 77) << fmt::format("{}", fmt::join(words, " ")) << ran.err;
    EXPECT_NE(ran.err.find("error[R342]"), std::string::npos) << ran.err;
  }
  EXPECT_EQ(ask({"dlq", "discard", id_of(0), "--yes"}, "operator").code, 77);
  const Ran shown = ask({"dlq", "show", id_of(0)}, "read");
  EXPECT_NE(shown.out.find("(12 bytes, which need the role operator)"), std::string::npos)
      << shown.out;
  const Ran nobody = test::run({"status", "--url", url()});
  EXPECT_EQ(nobody.code, 77);
  EXPECT_NE(nobody.err.find("error[R341]"), std::string::npos) << nobody.err;
}

TEST_F(RemoteTest, TheFlagsSayWhomToAsk) {
  const std::string away = fmt::format("http://127.0.0.1:{}", free_port());
  const Ran nobody = test::run({"status", "--url", away});
  EXPECT_EQ(nobody.code, 69);
  EXPECT_NE(nobody.err.find("error[R360]"), std::string::npos) << nobody.err;
  EXPECT_EQ(test::run({"status", "--url", "localhost"}).code, 2);
  EXPECT_EQ(test::run({"status", "--url", url(), "-c", bed_.config()}).code, 2);
  EXPECT_EQ(test::run({"status", "--token-file", token_file("read")}).code, 2);
  EXPECT_EQ(test::run({"status", "--url", url(), "--token-file", bed_.file("none")}).code, 2);
  write_file(bed_.file("two.token"), "one\ntwo\n");
  EXPECT_EQ(test::run({"status", "--url", url(), "--token-file", bed_.file("two.token")}).code, 2);
  EXPECT_EQ(test::run({"status", "--url", url() + "/prefix"}).code, 69) << "no API is there";
}

TEST_F(RemoteTest, TheEnvironmentSaysItToo) {
  const Words environment = {"SEMEL_URL=" + url(), "SEMEL_TOKEN_FILE=" + token_file("read")};
  const Ran asked = test::run({"consumers", "list", "-o", "json"}, {.environment = environment});
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_EQ(json_at(asked.out, "/consumers/0/gate"), "paused");
  const Words other = {"SEMEL_URL=http://127.0.0.1:1"};
  EXPECT_EQ(bed_.semel({"consumers", "list"}, {.environment = other}).code, 0) << "-c outranks it";
  for (const Words& here :
       {Words{"records", "list"}, Words{"dlq", "export"}, Words{"tap", "payments"},
        Words{"store", "migrate"}, Words{"send", "payments", "{}"}}) {
    const Ran refused = test::run(here, {.environment = other, .folder = bed_.file("")});
    EXPECT_EQ(refused.code, 2) << "it would look at this machine, and not ask: " << here.front();
    EXPECT_NE(refused.err.find("SEMEL_URL"), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace semel::test
