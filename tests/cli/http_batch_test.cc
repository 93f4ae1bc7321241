// Batches of CloudEvents, a reverse proxy's path and curl, against the real program: what is
// answered well is recorded, and a batch that is sent again has no second effect.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <string_view>

#include "tests/cli/http_run.h"
#include "tests/cli/program.h"
#include "tests/support/child_process.h"

namespace semel::test {
namespace {

constexpr std::string_view kBatch =
    "Content-Type: application/cloudevents-batch+json; charset=UTF-8\r\n";

// Its key is that of `key: auto`: source and id of each event.
std::string events_of(std::string_view more = "") {
  return fmt::format(
      "    source: {}\n    strategy: dedup_table\n"
      "    handler:\n"
      "      sql:\n"
      "        params: {{ account: json:/data/account, amount: json:/data/amount }}\n"
      "        statements:\n"
      "          - UPDATE account SET balance = balance + :amount WHERE id = :account\n",
      takes(more));
}

std::string event(std::string_view id, int amount, std::string_view source = "/shop") {
  return fmt::format(
      R"({{"specversion":"1.0","type":"paid","source":"{}","id":"{}","data":{{"account":1,"amount":{}}}}})",
      source, id, amount);
}

std::string status_at(const HttpAnswer& answer, int index) {
  return json_at(answer.body, fmt::format("/events/{}/status", index));
}
std::string replayed_at(const HttpAnswer& answer, int index) {
  return json_at(answer.body, fmt::format("/events/{}/replayed", index));
}

TEST(HttpBatch, EachEventHasItsEffectOnce) {
  const TestBed bed(events_of());
  const HttpRun run(bed);
  const std::string batch =
      fmt::format("[{}, {}, {}]", event("1", 5), event("2", 7), event("1", 11, "/other"));
  const HttpAnswer first = run.post(batch, kBatch);
  EXPECT_EQ(first.status, 200) << first.head << first.body;
  EXPECT_EQ(first.header("Content-Type"), "application/json");
  EXPECT_EQ(sum_of(bed), 23);
  const HttpAnswer again = run.post(batch, kBatch);
  EXPECT_EQ(again.status, 200) << again.body;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(status_at(again, i), "200");
    EXPECT_EQ(replayed_at(first, i), "(absent)") << i;
    EXPECT_EQ(replayed_at(again, i), "true") << i;
  }
  // An event is the same one wherever it stands.
  EXPECT_EQ(run.post(event("2", 7), "Content-Type: application/cloudevents+json\r\n")
                .header("Idempotent-Replayed"),
            "true");
  EXPECT_EQ(sum_of(bed), 23);
  EXPECT_EQ(run.post("[]", kBatch).status, 200);
}

TEST(HttpBatch, TwoEventsOfOneIdHaveOneEffect) {
  const TestBed bed(events_of());
  const HttpRun run(bed);
  const HttpAnswer twice =
      run.post(fmt::format("[{}, {}, {}]", event("1", 5), event("1", 5), event("2", 7)), kBatch);
  EXPECT_EQ(twice.status, 200) << twice.body;
  EXPECT_EQ(replayed_at(twice, 0), "(absent)");
  EXPECT_EQ(replayed_at(twice, 1), "true");
  EXPECT_EQ(sum_of(bed), 12);
  // One id with two payloads: the second is not executed, and its place is told.
  const HttpAnswer two = run.post(fmt::format("[{}, {}]", event("3", 1), event("3", 2)), kBatch);
  EXPECT_EQ(two.status, 422) << two.body;
  EXPECT_EQ(json_at(two.body, "/code"), "R328");
  EXPECT_EQ(status_at(two, 0), "200");
  EXPECT_EQ(status_at(two, 1), "422");
  EXPECT_EQ(sum_of(bed), 13);
}

// Its neighbours are done; it is told and kept.
TEST(HttpBatch, OneBadEventCostsItsNeighboursNothing) {
  const TestBed bed(events_of());
  const HttpRun run(bed);
  const std::string batch =
      fmt::format(R"([{}, {{"specversion":"1.0","type":"paid","source":"/shop"}}, 5, {}])",
                  event("1", 5), event("2", 7));
  const HttpAnswer first = run.post(batch, kBatch);
  EXPECT_EQ(first.status, 400) << first.body;
  EXPECT_NE(json_at(first.body, "/detail").find("2 of 4 events failed; that at index 1: "),
            std::string::npos)
      << first.body;
  EXPECT_EQ(status_at(first, 0), "200");
  EXPECT_EQ(json_at(first.body, "/events/1/code"), "R324");
  EXPECT_EQ(status_at(first, 2), "400");
  EXPECT_EQ(status_at(first, 3), "200");
  EXPECT_EQ(sum_of(bed), 12);
  const HttpAnswer again = run.post(batch, kBatch);
  EXPECT_EQ(again.status, 400);
  EXPECT_EQ(replayed_at(again, 0), "true");
  EXPECT_EQ(replayed_at(again, 3), "true");
  EXPECT_EQ(sum_of(bed), 12);
  const Ran dead = bed.semel({"dlq", "list", "--reason", "key.invalid", "-o", "json"});
  EXPECT_EQ(json_at(dead.out, "/count"), "4") << dead.out;
}

TEST(HttpBatch, ABodyThatIsNoBatchIsADeadLetter) {
  const TestBed bed(events_of());
  const HttpRun run(bed);
  const HttpAnswer refused = run.post("[" + event("1", 5), kBatch);
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_NE(refused.body.find("the batch of CloudEvents"), std::string::npos) << refused.body;
  const Ran dead = bed.semel({"dlq", "list", "--reason", "payload.invalid", "-o", "json"});
  EXPECT_EQ(json_at(dead.out, "/count"), "1") << dead.out;
  EXPECT_EQ(sum_of(bed), 0);
}

TEST(HttpBatch, MoreEventsThanItMayHaveAreRefusedWhole) {
  const TestBed bed(events_of(", max_batch: 2"));
  const HttpRun run(bed);
  const HttpAnswer refused =
      run.post(fmt::format("[{}, {}, {}]", event("1", 1), event("2", 1), event("3", 1)), kBatch);
  EXPECT_EQ(refused.status, 413) << refused.body;
  EXPECT_EQ(json_at(refused.body, "/code"), "R325");
  EXPECT_EQ(sum_of(bed), 0);
  EXPECT_EQ(json_at(bed.semel({"dlq", "list", "-o", "json"}).out, "/count"), "0");
}

TEST(HttpBatch, AcceptedIsSaidWhenAllOfItIsKept) {
  const TestBed bed(events_of(", mode: accepted"));
  const std::string batch = fmt::format("[{}, {}]", event("1", 5), event("2", 7));
  {
    // It only receives.
    HttpRun run(bed, {}, {"--set", "consumers[0].defer=elsewhere"});
    const HttpAnswer answer = run.post(batch, kBatch);
    EXPECT_EQ(answer.status, 202) << answer.body;
    EXPECT_EQ(status_at(answer, 1), "202");
    run.program().signal(SIGKILL);
    EXPECT_EQ(run.program().wait().signal, SIGKILL);
    EXPECT_EQ(sum_of(bed), 0);
  }
  const HttpRun run(bed);
  EXPECT_TRUE(comes_true([&] { return sum_of(bed) == 12; })) << "nobody sent it again";
  EXPECT_EQ(run.post(batch, kBatch).status, 202);
  EXPECT_EQ(run.post(fmt::format("[{}]", event("3", 1)), kBatch).status, 202);
  EXPECT_TRUE(comes_true([&] { return sum_of(bed) == 13; }));
}

// The process is killed with half of a batch done: the rest is done when it is sent again.
class HttpBatchKill : public testing::TestWithParam<const char*> {};

TEST_P(HttpBatchKill, ARetryOfTheWholeBatchHasOneEffect) {
  const TestBed bed(events_of() + "    batch: { max: 2 }\n");
  // A settlement may come when all of it is recorded.
  const bool in_midst = std::string_view(GetParam()) != "settle.before";
  std::string batch = "[";
  for (int i = 0; i < 10; ++i) batch += (i == 0 ? "" : ",") + event(fmt::format("e-{}", i), 1);
  batch += "]";
  {
    HttpRun run(bed, {.failpoint = fmt::format("{}:kill:3", GetParam())});
    EXPECT_EQ(run.post(batch, kBatch).status, 0) << "the connection is cut";
    EXPECT_EQ(run.program().wait().signal, SIGKILL);
    const auto done = sum_of(bed);
    EXPECT_GT(done, 0);
    if (in_midst) {
      EXPECT_LT(done, 10);
    }
  }
  const HttpRun run(bed);
  const HttpAnswer answer = run.post(batch, kBatch);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(replayed_at(answer, 0), "true");
  if (in_midst) {
    EXPECT_EQ(replayed_at(answer, 9), "(absent)");
  }
  EXPECT_EQ(sum_of(bed), 10);
}

INSTANTIATE_TEST_SUITE_P(Points, HttpBatchKill,
                         testing::Values("handler.after", "commit.after", "settle.before"),
                         [](const auto& point) {
                           std::string name = point.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

// As nginx passes a request on by default: HTTP/1.0, with its own headers, and with or without the
// prefix of its location.
TEST(HttpProxy, ARequestIsTakenWithItsPrefixAndWithout) {
  const TestBed bed(payments(takes(", path_prefix: /hooks")));
  const HttpRun run(bed);
  const auto proxied = [&](std::string_view path, std::string_view id) {
    const std::string body = payment(id, 1, 5);
    return http_answer(http_raw(
        run.port(),
        fmt::format("POST {} HTTP/1.0\r\nHost: 127.0.0.1:8081\r\nX-Real-IP: 203.0.113.7\r\n"
                    "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n"
                    "Connection: close\r\nContent-Length: {}\r\n"
                    "Content-Type: application/json\r\n\r\n{}",
                    path, body.size(), body)));
  };
  EXPECT_EQ(proxied("/hooks/pay", "p-1").status, 200);
  EXPECT_EQ(proxied("/pay?from=nginx", "p-2").status, 200);
  EXPECT_EQ(proxied("/pay", "p-1").header("Idempotent-Replayed"), "true") << "the same message";
  const HttpAnswer elsewhere = proxied("/hooks/other", "p-3");
  EXPECT_EQ(elsewhere.status, 404);
  EXPECT_NE(json_at(elsewhere.body, "/fix").find("/hooks/pay"), std::string::npos);
  EXPECT_EQ(sum_of(bed), 10);
}

// The example of docs/sources/http.md, sent with curl.
TEST(HttpCurl, TheSecondOfTwoIsAnsweredAgain) {
  const TestBed bed(payments(takes()));
  const HttpRun run(bed);
  const auto curl = [&] {
    ChildProcess child = ChildProcess::run({"curl", "-s", "-i", "--noproxy", "*", "--data",
                                            kPayment, fmt::format("127.0.0.1:{}/pay", run.port())});
    std::string said;
    while (const auto line = child.line()) said += *line + "\n";
    return said;
  };
  const std::string first = curl();
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200")) << first;
  EXPECT_EQ(first.find("Idempotent-Replayed"), std::string::npos) << first;
  const std::string second = curl();
  EXPECT_TRUE(second.starts_with("HTTP/1.1 200")) << second;
  EXPECT_NE(second.find("Idempotent-Replayed: true"), std::string::npos) << second;
  EXPECT_EQ(sum_of(bed), 5);
}

}  // namespace
}  // namespace semel::test
