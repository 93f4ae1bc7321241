// Requests to the real program: their answers, duplicates, kills and crowds.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/text_encoding.h"
#include "tests/cli/http_run.h"
#include "tests/cli/program.h"
#include "tests/cli/write_lock.h"
#include "tests/support/http_get.h"
#include "tests/support/inputs.h"
#include "tests/support/tls.h"

namespace semel::test {
namespace {

// Its handler is the script handler.sh beside the config.
std::string with_command(std::string_view more = "") {
  return fmt::format(
      "    source: {}\n    handler: {{ exec: {{ command: [./handler.sh], timeout: 60s }} }}\n",
      takes(more));
}

void write_script(const TestBed& bed, std::string_view text) {
  const std::string script = bed.file("handler.sh");
  write_file(script, fmt::format("#!/bin/sh\ncd '{}'\n{}", bed.file(""), text));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
}

TEST(HttpSourceProgram, ADuplicateIsAnsweredAndDoesNothing) {
  const TestBed bed(payments(takes()));
  const HttpRun run(bed);
  const HttpAnswer first = run.post(kPayment);
  EXPECT_EQ(first.status, 200) << first.head << first.body;
  EXPECT_EQ(first.header("Idempotent-Replayed"), "(none)");
  const HttpAnswer second = run.post(kPayment);
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(sum_of(bed), 5);
  const HttpAnswer other = run.post(R"({"id":"p-1","account":1,"amount":6})");
  EXPECT_EQ(other.status, 422) << other.body;
  EXPECT_EQ(json_at(other.body, "/code"), "R328");
  EXPECT_EQ(sum_of(bed), 5);
}

TEST(HttpSourceProgram, TheStoredAnswerIsReplayed) {
  const TestBed bed(with_command());
  write_script(bed, "echo x >>ran; echo '{\"charge\":\"ch_1\"}'\n");
  const HttpRun run(bed);
  constexpr std::string_view kKey = "Idempotency-Key: \"k-1\"\r\n";
  const HttpAnswer first = run.post("pay", kKey);
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(json_at(first.body, "/charge"), "ch_1");
  EXPECT_EQ(first.header("Content-Type"), "application/json");
  const HttpAnswer again = run.post("pay", "Idempotency-Key: k-1\r\n");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.header("Content-Type"), "application/json");
  EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(run.post("pay", "webhook-id: k-2\r\n").status, 200) << "another key";
}

TEST(HttpSourceProgram, WithoutAKeyARequestIsRefusedAndKeptForAPerson) {
  const TestBed bed(payments(takes()));
  const HttpRun run(bed);
  const HttpAnswer refused = run.post(R"({"account":1,"amount":5})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json_at(refused.body, "/code"), "R324");
  const Ran dead = bed.semel({"dlq", "list", "--reason", "key.missing", "-o", "json"});
  EXPECT_EQ(json_at(dead.out, "/count"), "1") << dead.out;
  EXPECT_EQ(run.post("no json").status, 400);
  EXPECT_EQ(sum_of(bed), 0);
}

TEST(HttpSourceProgram, WhatIsNotSignedIsNotStored) {
  const TestBed bed(payments(takes(", signature: { github: s3cret }")));
  const HttpRun run(bed);
  EXPECT_EQ(run.post(kPayment).status, 403);
  EXPECT_EQ(run.post(kPayment, "X-Hub-Signature-256: sha256=00ff\r\n").status, 403);
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
  const std::string good = digest::hex(digest::view(digest::hmac_sha256("s3cret", kPayment)));
  EXPECT_EQ(run.post(kPayment, fmt::format("X-Hub-Signature-256: sha256={}\r\n", good)).status,
            200);
  EXPECT_EQ(sum_of(bed), 5);
}

// Where the process is killed in the midst of a request, its sender sends it again.
class HttpSourceKill : public testing::TestWithParam<const char*> {};

TEST_P(HttpSourceKill, ARetryAfterAKillHasOneEffect) {
  const TestBed bed(payments(takes()));
  const bool recorded = std::string_view(GetParam()) != "handler.after";
  {
    HttpRun run(bed, {.failpoint = fmt::format("{}:kill:1", GetParam())});
    EXPECT_EQ(run.post(kPayment).status, 0) << "the connection is cut";
    EXPECT_EQ(run.program().wait().signal, SIGKILL);
  }
  const HttpRun run(bed);
  const HttpAnswer answer = run.post(kPayment);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("Idempotent-Replayed"), recorded ? "true" : "(none)");
  EXPECT_EQ(run.post(kPayment).header("Idempotent-Replayed"), "true");
  EXPECT_EQ(sum_of(bed), 5);
}

INSTANTIATE_TEST_SUITE_P(Points, HttpSourceKill,
                         testing::Values("handler.after", "commit.after", "settle.before"),
                         [](const auto& point) {
                           std::string name = point.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

TEST(HttpSourceProgram, ManyConnectionsAreAnsweredTogether) {
  constexpr int kConnections = 512;
  const TestBed bed(payments(takes()));
  const HttpRun run(bed);
  std::vector<system::Descriptor> sockets;
  for (int copy = 0; copy < 2; ++copy) {
    for (int i = 0; i < kConnections / 2; ++i) {
      sockets.push_back(
          http_sent(run.port(), HttpRun::request(payment(fmt::format("p-{}", i), 1, 1), "")));
      ASSERT_TRUE(sockets.back().valid()) << i;
    }
  }
  int replayed = 0;
  for (const auto& socket : sockets) {
    const HttpAnswer answer = http_answer(http_rest(socket));
    ASSERT_EQ(answer.status, 200) << answer.body;
    if (answer.header("Idempotent-Replayed") == "true") ++replayed;
  }
  EXPECT_EQ(replayed, kConnections / 2);
  EXPECT_EQ(sum_of(bed), kConnections / 2);
}

TEST(HttpSourceProgram, IdleConnectionsKeepNobodyWaiting) {
  constexpr int kIdle = 5'000;
  const TestBed bed(payments(takes()));
  HttpRun run(bed);
  std::vector<system::Descriptor> idle;
  for (int i = 0; i < kIdle; ++i) {
    idle.push_back(http_sent(run.port(), ""));
    ASSERT_TRUE(idle.back().valid()) << i;
  }
  EXPECT_EQ(run.post(kPayment).status, 200);
  // One that has waited for all others is served too.
  const std::string bytes = HttpRun::request(kPayment, "");
  ASSERT_EQ(::send(idle.front().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(http_answer(http_rest(idle.front())).header("Idempotent-Replayed"), "true");
  run.program().signal(SIGTERM);
  EXPECT_EQ(run.program().wait().code, 0);
}

TEST(HttpSourceProgram, ADrainAnswersWhatIsInHand) {
  const TestBed bed(with_command());
  write_script(bed, "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo done\n");
  HttpRun run(bed);
  auto answer = run.post_aside("pay", "Idempotency-Key: k-1\r\n");
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(bed.file("begun")); }));
  run.program().signal(SIGTERM);
  write_file(bed.file("go"), "");
  const HttpAnswer got = answer.get();
  EXPECT_EQ(got.status, 200) << got.body;
  EXPECT_EQ(got.body, "done\n");
  EXPECT_EQ(run.program().wait().code, 0);
}

TEST(HttpSourceProgram, AcceptedIsKeptAndHandledFromTheStore) {
  const TestBed bed(payments(takes(", mode: accepted")));
  {
    // It only receives.
    HttpRun run(bed, {}, {"--set", "consumers[0].defer=elsewhere"});
    EXPECT_EQ(run.post(kPayment).status, 202);
    run.program().signal(SIGKILL);
    EXPECT_EQ(run.program().wait().signal, SIGKILL);
    EXPECT_EQ(sum_of(bed), 0);
  }
  const HttpRun run(bed);
  EXPECT_TRUE(comes_true([&] { return sum_of(bed) == 5; })) << "nobody sent it again";
  EXPECT_EQ(run.post(kPayment).status, 202);
  EXPECT_EQ(run.post(payment("p-2", 2, 1)).status, 202);
  EXPECT_TRUE(comes_true([&] { return sum_of(bed) == 6; }));
}

TEST(HttpSourceProgram, WithoutItsStoreItSaysWhenToComeAgain) {
  const TestBed bed(payments(takes(), "dedup_table"));
  const HttpRun run(bed, {.environment = {}});
  EXPECT_EQ(run.post(kPayment).status, 200);
  {
    const WriteLock lock(bed.database());
    const HttpAnswer away = run.post(payment("p-2", 2, 1));
    EXPECT_TRUE(away.status == 503 || away.status == 409) << away.status << away.body;
    EXPECT_NE(away.header("Retry-After"), "(none)");
  }
  EXPECT_TRUE(comes_true([&] { return run.post(payment("p-2", 2, 1)).status == 200; }));
  EXPECT_EQ(sum_of(bed), 6);
}

// The config of the page, and a request as Standard Webhooks signs it.
TEST(HttpSourceProgram, ThePagesConfigTakesASignedRequest) {
  const TestBed bed(payments(kQueue));
  std::filesystem::copy_file(input("tests/cli/http/semel.yaml"), bed.config(),
                             std::filesystem::copy_options::overwrite_existing);
  const HttpRun run(bed);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string time =
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count());
  const auto signature = digest::hmac_sha256("secret", "msg-1." + time + "." + kPayment);
  const std::string lines =
      fmt::format("webhook-id: msg-1\r\nwebhook-timestamp: {}\r\nwebhook-signature: v1,{}\r\n",
                  time, text::base64(digest::view(signature)));
  EXPECT_EQ(run.post(kPayment, lines).status, 200);
  EXPECT_EQ(run.post(kPayment, lines).header("Idempotent-Replayed"), "true");
  EXPECT_EQ(run.post(kPayment + " ", lines).status, 403) << "another body";
  EXPECT_EQ(sum_of(bed), 5);
}

TEST(HttpSourceProgram, ItHasNoEndAndNoDryRun) {
  const TestBed bed(payments(takes()));
  for (const char* flag : {"--once", "--dry-run"}) {
    const Ran ran = bed.semel({"run", flag});
    EXPECT_EQ(ran.code, 78) << ran.err;
    EXPECT_NE(ran.err.find("R322"), std::string::npos) << ran.err;
  }
}

// One run calls the other, over TLS.
TEST(HttpSourceProgram, AnotherRunIsItsSender) {
  const TlsFiles files;
  const TlsIdentity identity;
  files.add("server", identity);
  const TestBed receiver(payments(
      takes(fmt::format(", tls: {{ certificate: {}, key: {} }}, signature: {{ standard_webhooks: "
                        "whsec_c2VjcmV0 }}",
                        files.file("server.pem"), files.file("server.key")))));
  const HttpRun run(receiver);
  const TestBed sender(fmt::format(
      "    source: {{ queue: {{}} }}\n    key: json:/id\n"
      "    handler: {{ http: {{ url: \"https://127.0.0.1:{}/pay\", ca_file: {}, signing: "
      "whsec_c2VjcmV0 }} }}\n",
      run.port(), files.file("server.pem")));
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += payment(fmt::format("p-{}", i), 1, 1);
  ASSERT_EQ(sender.semel({"send", "payments", "-"}, {.input = lines}).code, 0);
  const Ran sent =
      sender.semel({"run", "--once", "-o", "json"}, {.environment = {"no_proxy=127.0.0.1"}});
  EXPECT_EQ(json_at(sent.out, "/effects"), "20") << sent.out << sent.err;
  EXPECT_EQ(sum_of(receiver), 20);
}

}  // namespace
}  // namespace semel::test
