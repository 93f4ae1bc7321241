// semel reload, and consumers drain and resume of a run that is asked.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/reload_test_bed.h"

namespace semel::test {
namespace {

class ReloadCommands : public ReloadTestBed {
 protected:
  Ran ask(const AdminRun& run, Words words) const {
    words.insert(words.end(), {"--url", fmt::format("http://127.0.0.1:{}", run.port()),
                               "--token-file", bed_.file("token")});
    return test::run(words);
  }
};

TEST_F(ReloadCommands, AReloadIsShownAndTakenUp) {
  const AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  EXPECT_EQ(ask(run, {"reload"}).out, "nothing has changed in the config\n");
  rewrite("timeout: 20s", "timeout: 30s");
  const Ran shown = ask(run, {"reload", "--dry-run"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.out,
            "a reload would take up: payments changed\n  payments timeout: 20s to 30s\n");
  EXPECT_EQ(json_at(get(run, "/api/v1/reload").body, "/taken"), "1") << "the first one alone";
  const Ran taken = ask(run, {"reload", "--reason", "ticket 7"});
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_EQ(taken.out,
            "the config is taken up: payments changed\n  payments timeout: 20s to 30s\n");
  ASSERT_TRUE(in_effect(run, 2));
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel_audit WHERE action = 'reload' AND reason = "
                        "'ticket 7'"),
            1);
  rewrite("timeout: 30s", "timeout: 20s");
  const Ran json = ask(run, {"reload", "-o", "json"});
  EXPECT_EQ(json_at(json.out, "/schema"), "semel.v1.reload") << json.out;
  EXPECT_EQ(json_at(json.out, "/consumers/0/name"), "payments");
}

TEST_F(ReloadCommands, ARefusedReloadSaysWhyAndWhere) {
  const AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  rewrite("path: semel.db", "path: other.db");
  const Ran fixed = ask(run, {"reload"});
  EXPECT_EQ(fixed.code, 78) << fixed.err;
  EXPECT_NE(fixed.err.find("error[R356]"), std::string::npos) << fixed.err;
  EXPECT_NE(fixed.err.find("store.sqlite.path"), std::string::npos) << fixed.err;
  EXPECT_NE(fixed.err.find("semel.yaml:"), std::string::npos) << "where it is written";
  EXPECT_NE(fixed.err.find("fix: restart the run"), std::string::npos) << fixed.err;
  rewrite("path: other.db", "paths: other.db");
  const Ran wrong = ask(run, {"reload"});
  EXPECT_EQ(wrong.code, 78) << wrong.err;
  EXPECT_NE(wrong.err.find("error[R355]"), std::string::npos) << wrong.err;
  const Ran nobody = test::run({"reload"});
  EXPECT_EQ(nobody.code, 2) << nobody.err;
  EXPECT_NE(nobody.err.find("SEMEL_URL"), std::string::npos) << nobody.err;
}

TEST_F(ReloadCommands, AConsumerIsDrainedAndResumed) {
  const AdminRun run(bed_, kReloadable);
  hold(run);
  const Ran drains = ask(run, {"consumers", "drain", "slow", "--reason", "a new disk"});
  EXPECT_EQ(drains.code, 0) << drains.err;
  EXPECT_EQ(drains.out, "slow is draining, 1 in flight\n");
  write_file(bed_.file("go"), "");
  ASSERT_TRUE(comes_to_state(run, "slow", "drained"));
  EXPECT_EQ(ask(run, {"consumers", "drain", "slow"}).out, "slow was drained already: drained\n");
  send("slow", "{\"id\":\"second\"}\n");
  const Ran resumed = ask(run, {"consumers", "resume", "slow"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, "slow is resumed\n");
  EXPECT_TRUE(comes_true([&] { return contents_of(bed_.file("done")) == "first\nsecond\n"; }));
  const Ran nobody = ask(run, {"consumers", "drain", "slo"});
  EXPECT_EQ(nobody.code, 2);
  EXPECT_NE(nobody.err.find("did you mean \"slow\"?"), std::string::npos) << nobody.err;
}

// Masking follows the config of the moment.
TEST_F(ReloadCommands, WhatIsMaskedIsThatOfTheNewestConfig) {
  const AdminRun run(bed_, kReloadable);
  ASSERT_TRUE(comes_to_state(run, "payments", "running"));
  send("payments", "{\"id\":\"p-1\",\"card\":\"4111 1111\"}\n");
  ASSERT_TRUE(
      comes_true([&] { return bed_.number("SELECT count(*) FROM semel_dead_letter") == 1; }));
  const auto letter = [&] { return get(run, "/api/v1/dead-letters/1").body; };
  EXPECT_NE(letter().find("4111 1111"), std::string::npos) << letter();
  rewrite("admin: { ", "admin: { mask: ['json:/card'], ");
  EXPECT_EQ(ask(run, {"reload"}).out, "the config is taken up: what the listener shows\n");
  EXPECT_EQ(letter().find("4111 1111"), std::string::npos) << letter();
  rewrite("mask: ['json:/card'], ", "");
  EXPECT_EQ(ask(run, {"reload"}).code, 0);
  EXPECT_NE(letter().find("4111 1111"), std::string::npos) << letter();
}

}  // namespace
}  // namespace semel::test
