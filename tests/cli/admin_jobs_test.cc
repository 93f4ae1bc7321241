// Jobs of a run that is killed, and of one that ends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/cli/admin_run.h"

namespace semel::test {
namespace {

constexpr int kLetters = 5;
constexpr std::string_view kSecret = "a token of some length";
constexpr std::string_view kOperated =
    "admin: { listen: 127.0.0.1:0, auth: { tokens: [{ name: ops, role: operator, secret: "
    "'a token of some length' }] } }\n";

// Five dead letters with keys, of a consumer that is paused: what is replayed waits.
class AdminJobs : public ::testing::Test {
 protected:
  AdminJobs() : bed_(payments(kQueue)) {
    std::string lines;
    for (int i = 0; i < kLetters; ++i) lines += fmt::format("{{\"id\":\"p-{}\"}}\n", i);
    EXPECT_EQ(bed_.semel({"send", "payments", "-"}, {.input = lines}).code, 0);
    EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
    EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_dead_letter"), kLetters);
    EXPECT_EQ(bed_.semel({"consumers", "pause", "payments"}).code, 0);
  }
  // A job that replays them all, once it has replayed `done` of them.
  static std::string job_at(const AdminRun& run, std::string_view rate, int done) {
    EXPECT_TRUE(comes_true([&] { return run.get("/startupz").status == 200; }));
    const auto begun = run.post("/api/v1/dead-letters:replay?consumer=payments",
                                fmt::format("{{\"rate\":\"{}\"}}", rate), kSecret);
    EXPECT_EQ(begun.status, 202) << begun.body;
    const std::string id = json_at(begun.body, "/job/id");
    EXPECT_TRUE(comes_true([&] {
      return json_at(job(run, id), "/job/done") == std::to_string(done);
    })) << job(run, id);
    return id;
  }
  static std::string job(const AdminRun& run, const std::string& id) {
    return run.get("/api/v1/jobs/" + id, {fmt::format("Authorization: Bearer {}", kSecret)}).body;
  }
  std::int64_t entries(std::string_view outcome) const {
    return bed_.number(fmt::format(
        "SELECT count(*) FROM semel_audit WHERE action = 'dead_letters.replay job' AND {}",
        outcome));
  }

  const TestBed bed_;
};

TEST_F(AdminJobs, ReplaysAreCountedByWhatTheyCameTo) {
  AdminRun run(bed_, kOperated);
  const auto counted = [&](const char* result) {
    const auto metrics =
        run.get("/metrics", {fmt::format("Authorization: Bearer {}", kSecret)}).body;
    return series_in(
        metrics,
        fmt::format("semel_replayed_total{{consumer=\"payments\",result=\"{}\"}}", result));
  };
  EXPECT_EQ(counted("replayed"), "0");
  job_at(run, "1000/s", kLetters);
  EXPECT_TRUE(comes_true([&] { return counted("replayed") == std::to_string(kLetters); }));
  const std::string id = std::to_string(bed_.number("SELECT min(id) FROM semel_dead_letter"));
  EXPECT_EQ(run.post("/api/v1/dead-letters/" + id + "/replay", "{}", kSecret).status, 200);
  EXPECT_EQ(counted("replayed"), std::to_string(kLetters + 1));
  EXPECT_EQ(counted("skipped_completed"), "0");
  EXPECT_EQ(counted("gone"), "0");
}

TEST_F(AdminJobs, OneThatIsBegunAgainAfterACrashReplaysNoneTwice) {
  {
    AdminRun run(bed_, kOperated);
    job_at(run, "1/h", 1);
    run.program().signal(SIGKILL);
    EXPECT_EQ(run.program().wait().signal, SIGKILL);
  }
  EXPECT_EQ(entries("outcome IS NULL"), 1) << "nobody saw its end";
  AdminRun run(bed_, "");
  const std::string id = job_at(run, "100/s", kLetters - 1);
  EXPECT_TRUE(comes_true([&] { return json_at(job(run, id), "/job/state") == "done"; }));
  EXPECT_EQ(json_at(job(run, id), "/job/on_their_way"), "1") << job(run, id);
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_dead_letter WHERE replayed = 1"), kLetters);
}

TEST_F(AdminJobs, TheEndOfTheRunEndsThemAndTheAuditLogSaysSo) {
  AdminRun run(bed_, kOperated);
  job_at(run, "1/h", 1);
  run.program().signal(SIGTERM);
  EXPECT_EQ(run.program().wait().code, 0);
  EXPECT_EQ(entries("outcome = 'cancelled: the run ended; before it, 1 replayed of 5'"), 1);
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_dead_letter WHERE replayed = 1"), 1);
}

}  // namespace
}  // namespace semel::test
