// Claims over HTTP, of clients that outlive the runs that answer them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cli/admin_run.h"
#include "tests/support/rounds.h"
#include "tests/support/server_address.h"

namespace semel::test {
namespace {

constexpr std::string_view kWorkersSecret = "the secret of workers";
constexpr std::string_view kClaimed = "    source: { claims: {} }\n";
constexpr std::string_view kPath = "/api/v1/consumers/payments/claims";

std::string admin_at(int port) {
  return fmt::format(
      "admin: {{ listen: 127.0.0.1:{}, auth: {{ tokens: [{{ name: worker, secret: {}, claims: "
      "[payments] }}] }} }}\n",
      port, kWorkersSecret);
}

std::string key_body(std::string_view key, std::string_view more = {}) {
  return fmt::format(R"({{{}"claims":[{{"key":"{}"}}]}})", more, key);
}
std::string done_body(std::string_view key, std::string_view nonce) {
  return fmt::format(R"({{"claims":[{{"key":"{}","nonce":"{}","as":"done"}}]}})", key, nonce);
}
std::string answered(const std::string& body, int index, std::string_view member) {
  return json_at(body, fmt::format("/claims/{}/{}", index, member));
}

TEST(Claims, AClaimOutlivesTheRunThatGaveIt) {
  const TestBed bed(kClaimed);
  std::string nonce;
  {
    AdminRun run(bed, admin_at(0));
    ASSERT_TRUE(run.is_ready(200));
    const auto given = run.post(kPath, key_body("p-1"), kWorkersSecret);
    ASSERT_EQ(answered(given.body, 0, "outcome"), "new") << given.body;
    nonce = answered(given.body, 0, "nonce");
    const auto other = run.post(kPath, key_body("p-2", R"("lease":"1h",)"), kWorkersSecret);
    ASSERT_EQ(answered(other.body, 0, "outcome"), "new") << other.body;
    run.program().signal(SIGKILL);
    EXPECT_EQ(run.program().wait().signal, SIGKILL);
  }
  AdminRun run(bed, "");
  ASSERT_TRUE(run.is_ready(200));
  const auto done =
      run.post(std::string(kPath) + "/finish", done_body("p-1", nonce), kWorkersSecret);
  EXPECT_EQ(answered(done.body, 0, "outcome"), "done") << done.body;
  EXPECT_EQ(answered(run.post(kPath, key_body("p-1"), kWorkersSecret).body, 0, "outcome"),
            "duplicate");
  // Nobody knows whether the other client lives, and the end of the run does not say so.
  EXPECT_EQ(answered(run.post(kPath, key_body("p-2"), kWorkersSecret).body, 0, "outcome"), "busy");
  EXPECT_NE(bed.semel({"records", "show", "p-1"}).out.find("completed"), std::string::npos);
  run.program().signal(SIGTERM);
  EXPECT_EQ(run.program().wait().code, 0) << run.program().err();
}

TEST(Claims, ThoseThatNobodyEndedAreCountedAndSoAreTheirTakeovers) {
  const TestBed bed(kClaimed);
  AdminRun run(bed, admin_at(0));
  ASSERT_TRUE(run.is_ready(200));
  const auto metric = [&](const char* name) {
    const std::string token = fmt::format("Authorization: Bearer {}", kWorkersSecret);
    return series_in(run.get("/metrics", {token}).body,
                     fmt::format("{}{{consumer=\"payments\"}}", name));
  };
  const auto claimed = [&](std::string_view key) {
    const auto given = run.post(kPath, key_body(key, R"("lease":"100ms",)"), kWorkersSecret);
    EXPECT_EQ(answered(given.body, 0, "outcome"), "new") << given.body;
    return answered(given.body, 0, "nonce");
  };
  claimed("p-1");
  claimed("p-2");
  ASSERT_TRUE(comes_true([&] { return metric("semel_leases_stuck") == "2"; }));
  EXPECT_EQ(metric("semel_lease_takeovers_total"), "0");
  const std::string nonce = claimed("p-1");
  EXPECT_EQ(metric("semel_lease_takeovers_total"), "1");
  const auto done =
      run.post(std::string(kPath) + "/finish", done_body("p-1", nonce), kWorkersSecret);
  EXPECT_EQ(answered(done.body, 0, "outcome"), "done") << done.body;
  ASSERT_TRUE(comes_true([&] { return metric("semel_leases_stuck") == "1"; })) << "p-2";
  EXPECT_EQ(metric("semel_lease_takeovers_total"), "1");
}

// The work of the claim may be done by now; it must not be done again under the new name's record.
TEST(Claims, AReloadThatRenamesTheConsumerLeavesItsClaimsToTheirHolders) {
  const TestBed bed(kClaimed);
  AdminRun run(bed, admin_at(0));
  ASSERT_TRUE(run.is_ready(200));
  const std::string nonce =
      answered(run.post(kPath, key_body("p-1"), kWorkersSecret).body, 0, "nonce");
  std::string config = contents_of(bed.config());
  for (auto at = config.find("payments"); at != std::string::npos; at = config.find("payments")) {
    config.replace(at, std::string_view("payments").size(), "receipts");
  }
  write_file(bed.config(), config);
  run.program().signal(SIGHUP);
  ASSERT_TRUE(comes_true([&] {
    return run.post("/api/v1/consumers/receipts/claims", key_body("p-2"), kWorkersSecret).status ==
           200;
  })) << run.program().err();
  EXPECT_EQ(run.post(kPath, key_body("p-3"), kWorkersSecret).status, 404);
  const auto renewed = run.post(
      std::string(kPath) + "/renew",
      fmt::format(R"({{"claims":[{{"key":"p-1","nonce":"{}"}}]}})", nonce), kWorkersSecret);
  EXPECT_EQ(answered(renewed.body, 0, "outcome"), "renewed") << renewed.body;
  const auto done =
      run.post(std::string(kPath) + "/finish", done_body("p-1", nonce), kWorkersSecret);
  EXPECT_EQ(answered(done.body, 0, "outcome"), "done") << done.body;
}

TEST(Claims, CheckSaysWhoDoesTheWork) {
  const TestBed bed(kClaimed);
  const Ran refused = bed.semel({"check"});
  EXPECT_NE((refused.out + refused.err).find("E057"), std::string::npos) << refused.err;
  write_file(bed.config(), admin_at(0) + contents_of(bed.config()));
  const Ran checked = bed.semel({"check"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_NE(checked.out.find("its clients"), std::string::npos) << checked.out;
}

// Clients that ask each call again until it is answered, while the run is killed and started again.
class ClaimsStorm {
 public:
  ClaimsStorm(int port, int keys) : port_(static_cast<std::uint16_t>(port)), keys_(keys) {}

  void work(int worker) {
    for (int round = 0; !all_done(); ++round) {
      const std::string request = fmt::format(R"("request":"{}-{}","lease":"5s",)", worker, round);
      std::string claims;
      for (int i = 0; i < kBatch; ++i) {
        const int key = (worker * 31 + round * kBatch + i) % keys_;
        claims += fmt::format(R"({}{{"key":"k{}"}})", i == 0 ? "" : ",", key);
      }
      const std::string given = ask("", "{" + request + R"("claims":[)" + claims + "]}");
      std::string ends;
      for (int i = 0; i < kBatch; ++i) {
        const std::string outcome = answered(given, i, "outcome");
        if (outcome == "duplicate") note(done_, answered(given, i, "key"));
        if (outcome != "new") continue;
        note(effects_, answered(given, i, "key"));
        ends += fmt::format(R"({}{{"key":"{}","nonce":"{}","as":"done"}})", ends.empty() ? "" : ",",
                            answered(given, i, "key"), answered(given, i, "nonce"));
      }
      if (ends.empty()) continue;
      const std::string ended = ask("/finish", R"({"claims":[)" + ends + "]}");
      for (int i = 0; answered(ended, i, "key") != "(absent)"; ++i) {
        if (answered(ended, i, "outcome") == "done") note(won_, answered(ended, i, "key"));
      }
    }
  }
  bool all_done() {
    const std::lock_guard lock(mutex_);
    return stopped_ || done_.size() == static_cast<std::size_t>(keys_);
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  std::size_t count_done() {
    const std::lock_guard lock(mutex_);
    return done_.size();
  }
  // Counts for each key, once nobody works.
  const std::map<std::string, int>& effects() const { return effects_; }
  const std::map<std::string, int>& won() const { return won_; }

 private:
  static constexpr int kBatch = 20;
  static constexpr std::chrono::milliseconds kBetweenTries{5};

  void note(std::map<std::string, int>& into, const std::string& key) {
    const std::lock_guard lock(mutex_);
    ++into[key];
  }
  // Again and again, until the run answers.
  std::string ask(std::string_view path, const std::string& body) {
    for (;;) {
      const auto answer = http_answer(http_raw(
          port_, fmt::format("POST {}{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                             "Authorization: Bearer {}\r\nContent-Type: application/json\r\n"
                             "Content-Length: {}\r\n\r\n{}",
                             kPath, path, kWorkersSecret, body.size(), body)));
      if (answer.status == 200 || all_done()) return answer.body;
      std::this_thread::sleep_for(kBetweenTries);
    }
  }

  const std::uint16_t port_;
  const int keys_;
  std::mutex mutex_;
  std::map<std::string, int> done_;     // answered as done before
  std::map<std::string, int> effects_;  // how often a client did the work
  std::map<std::string, int> won_;      // how often an end was taken
  bool stopped_ = false;
};

TEST(Claims, KilledRunsLoseNoKeyAndTakeOneEndOfEach) {
  constexpr int kWorkers = 3;
  const int kills = static_cast<int>(rounds(5, 2));
  constexpr int kKeys = 300;
  const TestBed bed(kClaimed);
  const int port = free_port();
  write_file(bed.config(), admin_at(port) + contents_of(bed.config()));
  ClaimsStorm storm(port, kKeys);
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) workers.emplace_back([&storm, i] { storm.work(i); });
  int killed = 0;
  for (int kill = 0; kill < kills && !storm.all_done(); ++kill) {
    Program run({"run", bed.config()});
    const std::size_t before = storm.count_done();
    EXPECT_TRUE(comes_true([&] { return storm.count_done() > before + 10 || storm.all_done(); }));
    if (storm.all_done()) break;
    run.signal(SIGKILL);
    EXPECT_EQ(run.wait().signal, SIGKILL);
    ++killed;
  }
  Program run({"run", bed.config()});
  EXPECT_TRUE(comes_true([&] { return storm.all_done(); })) << run.err();
  storm.stop();
  for (std::thread& worker : workers) worker.join();
  EXPECT_GE(killed, 1);
  EXPECT_EQ(storm.effects().size(), static_cast<std::size_t>(kKeys)) << "no key was lost";
  for (const auto& [key, times] : storm.won()) {
    EXPECT_EQ(times, 1) << key << ": two holders were told that they ended it";
  }
}

}  // namespace
}  // namespace semel::test
