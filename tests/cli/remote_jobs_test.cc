// Many dead letters with --url: a job of the run, looked at until it is over.
#include <csignal>

#include "tests/cli/remote_test_bed.h"

namespace semel::test {
namespace {

class RemoteJobs : public RemoteTestBed {
 protected:
  std::string job(std::string_view member) const {
    return json_at(
        run_->get("/api/v1/jobs", {"Authorization: Bearer a token with the role read"}).body,
        fmt::format("/jobs/0/{}", member));
  }
  std::int64_t letters_up_to() const {
    return bed_.number("SELECT max(id) FROM semel_dead_letter");
  }
};

TEST_F(RemoteJobs, APlanIsShownAndNothingIsDone) {
  EXPECT_EQ(ask({"dlq", "replay", "--all"}).code, 2) << "it asks, and there is no terminal";
  const Ran plan = ask({"dlq", "replay", "--all", "--dry-run", "-o", "json"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(json_at(plan.out, "/matched"), std::to_string(kRemoteLetters)) << plan.out;
  EXPECT_NE(json_at(plan.out, "/samples/2"), "(absent)") << plan.out;
  EXPECT_EQ(letters("replayed = 1"), 0);
  EXPECT_EQ(job("id"), "(absent)");
  EXPECT_EQ(ask({"dlq", "replay", "--where", "key=none", "--yes"}).code, 4);
  EXPECT_EQ(ask({"dlq", "replay", "--where", "kay=none", "--yes"}).code, 2);
  EXPECT_EQ(ask({"dlq", "replay", "--yes"}).code, 2) << "which?";
}

TEST_F(RemoteJobs, ReplaysAllThatMatch) {
  const Ran ran = ask(
      {"dlq", "replay", "--where", "consumer=payments and key!=p-0", "--rate", "1000/s", "--yes"},
      "operator");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "4 replayed: due now\n");
  EXPECT_EQ(letters("replayed = 1"), 4);
  EXPECT_EQ(job("selection"),
            fmt::format("consumer=payments and key!=p-0, up to letter {}", letters_up_to()));
  EXPECT_EQ(job("state"), "done");
  const Ran rest = ask({"dlq", "replay", "--all", "--yes", "-o", "json"}, "operator");
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(json_at(rest.out, "/replayed"), "1") << "the others are on their way";
}

TEST_F(RemoteJobs, DiscardsAsManyAsAreAskedFor) {
  const Ran ran = ask({"dlq", "discard", "--all", "--limit", "2", "--yes"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "2 discarded; their records stay closed\n");
  EXPECT_EQ(letters("1"), kRemoteLetters - 2);
}

TEST_F(RemoteJobs, AnInterruptCancelsTheJob) {
  Program program(asking({"dlq", "replay", "--all", "--rate", "1/h", "--yes"}));
  ASSERT_TRUE(comes_true([&] { return job("done") == "1"; })) << program.err();
  program.signal(SIGINT);
  const Ran ran = program.wait();
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(ran.out, "1 replayed: due now\n");
  EXPECT_EQ(job("state"), "cancelled");
  EXPECT_EQ(letters("replayed = 1"), 1);
}

// The run has the job before the command has the answer.
TEST_F(RemoteJobs, AnInterruptBeforeTheAnswerCancelsTheJob) {
  Program program(asking({"dlq", "replay", "--all", "--rate", "1/h", "--yes"}));
  ASSERT_TRUE(comes_true([&] { return job("id") != "(absent)"; })) << program.err();
  program.signal(SIGINT);
  const Ran ran = program.wait();
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find(" of the run: Ctrl-C cancels it"), std::string::npos) << ran.err;
  EXPECT_EQ(job("state"), "cancelled");
}

TEST_F(RemoteJobs, ARunThatHangsKeepsNobodyFromLeaving) {
  Program program(asking({"dlq", "replay", "--all", "--rate", "1/h", "--yes"}));
  ASSERT_TRUE(tells(program, " of the run: Ctrl-C cancels it")) << program.err();
  run_->program().signal(SIGSTOP);
  program.signal(SIGINT);
  program.signal(SIGTERM);
  const Ran ran = program.wait();
  run_->program().signal(SIGCONT);
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_NE(ran.err.find("is left to the run: GET /api/v1/jobs/"), std::string::npos) << ran.err;
}

TEST_F(RemoteJobs, AJobThatSomebodyElseEndsIsTold) {
  Program program(asking({"dlq", "replay", "--all", "--rate", "1/h", "--yes"}));
  ASSERT_TRUE(comes_true([&] { return job("done") == "1"; })) << program.err();
  run_->post("/api/v1/jobs/" + job("id") + "/cancel", R"({"reason":"ticket 7"})",
             "a token with the role operator");
  const Ran ran = program.wait();
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.err.find("was cancelled: by operator: ticket 7"), std::string::npos) << ran.err;
}

TEST_F(RemoteJobs, ARunThatEndsEndsTheCommand) {
  Program program(asking({"dlq", "replay", "--all", "--rate", "1/h", "--yes"}));
  ASSERT_TRUE(comes_true([&] { return job("done") == "1"; })) << program.err();
  run_->program().signal(SIGKILL);
  run_->program().wait();
  program.signal(SIGINT);
  program.signal(SIGTERM);
  const Ran ran = program.wait();
  EXPECT_EQ(ran.code, 130) << ran.err;
}

TEST_F(RemoteJobs, ARunThatIsStartedAgainHasDoneAPart) {
  Program program(asking({"dlq", "replay", "--all", "--rate", "1/h", "--yes"}));
  ASSERT_TRUE(comes_true([&] { return job("done") == "1"; })) << program.err();
  run_->program().signal(SIGKILL);
  run_->program().wait();
  const std::string free_port = "127.0.0.1:0";
  std::string config = contents_of(bed_.config());
  config.replace(config.find(free_port), free_port.size(),
                 fmt::format("127.0.0.1:{}", run_->port()));
  write_file(bed_.config(), config);
  const Program again({"run", bed_.config()});
  const Ran ran = program.wait();
  EXPECT_EQ(ran.code, 3) << ran.err << again.err();
  EXPECT_NE(ran.err.find("does not know job"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("GET /api/v1/audit"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace semel::test
