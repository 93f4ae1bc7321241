// Several calls in one message, by the real program: what its config may say, and what becomes of a
// message whose config was changed. steps_everywhere_test.cc has what holds on every store.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/steps_test_bed.h"

namespace semel::test {
namespace {

class StepsProgramTest : public testing::Test {
 protected:
  using Calls = std::vector<std::string>;
  using OnSqlite = StepsTestBedOn<TestBed>;

  StepsService service_;
};

TEST_F(StepsProgramTest, AStepThatTheConfigNoLongerHasParksTheMessage) {
  service_.hang_first_charge();
  const OnSqlite bed(service_.consumer());
  bed.send();
  {
    const auto runner = bed.start();
    EXPECT_TRUE(service_.server().wait_requests(2)) << runner->err();
    runner->signal(SIGKILL);
    runner->wait();
  }
  bed.rewrite("name: lock_stock", "name: reserve");
  bed.run_once();
  EXPECT_EQ(service_.calls().size(), 2U) << "nothing was guessed";
  EXPECT_EQ(bed.record("state"), "parked");
  EXPECT_EQ(bed.record("error"),
            "steps that are done and no longer in the handler: lock_stock; the handler has: "
            "reserve, charge");
  bed.rewrite("name: reserve", "name: lock_stock");
  EXPECT_EQ(bed.semel({"records", "unlock", "o-1", "--yes"}).code, 0);
  bed.run_once();
  EXPECT_EQ(bed.record("state"), "completed");
  EXPECT_EQ(service_.calls().back(), "/charge o-1/charge");
  EXPECT_EQ(service_.calls().size(), 3U);
}

TEST_F(StepsProgramTest, ACommandMayBeAStepToo) {
  std::string text = service_.consumer();
  const auto from = text.find("          http:");
  text.replace(
      from, text.find('\n', from) - from,
      R"(          exec: [sh, -c, 'cat > /dev/null; printf %s "$SEMEL_KEY" >> "$0"', LEDGER])");
  const TempDir folder;
  const std::string ledger = folder.file("ledger");
  const OnSqlite bed(with_other(text, "LEDGER", ledger));
  bed.send();
  const Ran ran = bed.semel({"run", "--once", "-q"},
                            {.environment = {"no_proxy=127.0.0.1", "PATH=/usr/bin:/bin"}});
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::ifstream in(ledger);
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(in)), {}), "o-1/lock_stock");
  EXPECT_EQ(service_.calls(), (Calls{"/charge o-1/charge"}));
}

TEST_F(StepsProgramTest, ACallMayHaveWhatTheStepsBeforeItAnswered) {
  service_.server().on("/lock", reply(200, R"({"hold": "h-1"})"));
  service_.server().on("/charge", [](const HttpRequest&, std::size_t times) {
    return times == 0 ? raw("") : reply(422, "no such card");
  });
  std::string text = service_.consumer();
  text = with_other(text, "        - name: charge\n",
                    "        - name: charge\n          answers: true\n");
  text = with_other(text, "undo: { http: { url: \"" + service_.server().url("/unlock"),
                    "undo: { answers: true, http: { url: \"" + service_.server().url("/unlock"));
  const OnSqlite bed(text);
  bed.send();
  bed.run_once();
  EXPECT_EQ(service_.calls(), (Calls{"/lock o-1/lock_stock", "/charge o-1/charge",
                                     "/charge o-1/charge", "/unlock o-1/lock_stock/undo"}));
  const auto requests = service_.server().requests();
  EXPECT_EQ(requests.at(0).body, R"({"id":"o-1"})");
  for (const std::size_t with_answers : {1U, 2U, 3U}) {
    const HttpRequest& request = requests.at(with_answers);
    EXPECT_EQ(request.body, R"({"message":{"id":"o-1"},"answers":{"lock_stock":{"hold":"h-1"}}})")
        << request.target << ": the same at each try";
    EXPECT_EQ(request.header("content-type"), "application/json");
  }
}

TEST_F(StepsProgramTest, AnAnswerStandsInTheUrlOfWhatFollowsIt) {
  service_.server().on("/lock", reply(200, R"({"hold": "h/1"})"));
  service_.server().on("/charge/h%2F1?of=o-1", reply(422, "no such card"));
  std::string text = with_other(service_.consumer(), "/charge\"",
                                "/charge/{answer:lock_stock/hold}?of={json:/id}\"");
  text = with_other(text, "/unlock\"", "/unlock/{answer:lock_stock/hold}\"");
  const OnSqlite bed(text);
  bed.send();
  const Ran ran = bed.run_once();
  EXPECT_EQ(service_.calls(), (Calls{"/lock o-1/lock_stock", "/charge/h%2F1?of=o-1 o-1/charge",
                                     "/unlock/h%2F1 o-1/lock_stock/undo"}))
      << ran.err;
  EXPECT_EQ(bed.record("state"), "dead");
}

// Nobody is called at half an address: what was done is undone, and what cannot be is a person's.
TEST_F(StepsProgramTest, AnAnswerThatIsNotThereGivesTheMessageUp) {
  service_.server().on("/lock", reply(200, "{}"));
  const std::string text =
      with_other(service_.consumer(), "/charge\"", "/charge/{answer:lock_stock/hold}\"");
  const OnSqlite bed(text);
  bed.send();
  bed.run_once();
  EXPECT_EQ(service_.calls(), (Calls{"/lock o-1/lock_stock", "/unlock o-1/lock_stock/undo"}));
  EXPECT_EQ(bed.record("state"), "dead");
  EXPECT_EQ(bed.record("reason"), "payload.invalid");

  const OnSqlite stuck(with_other(text, "/unlock\"", "/unlock/{answer:lock_stock/hold}\""));
  stuck.send();
  stuck.run_once();
  EXPECT_EQ(stuck.record("state"), "parked");
  EXPECT_EQ(stuck.record("reason"), "steps.undo");
}

TEST_F(StepsProgramTest, CheckSaysWhatIsPromised) {
  const OnSqlite keyed(service_.consumer());
  const Ran well = keyed.semel({"check"});
  EXPECT_EQ(well.code, 0) << well.out << well.err;
  EXPECT_NE(well.out.find("keyed_retry"), std::string::npos) << well.out;
  EXPECT_NE(well.out.find("steps lock_stock, charge"), std::string::npos) << well.out;
  EXPECT_NE(well.out.find("a step that is done is kept"), std::string::npos) << well.out;

  const OnSqlite keyless(
      without_undos(with_other(service_.consumer(), "/charge\", honours_key: true", "/charge\"")));
  const Ran less = keyless.semel({"check"});
  EXPECT_NE(less.out.find("at_least_once"), std::string::npos) << less.out;
  EXPECT_NE(less.out.find("not declared to honour keys: charge"), std::string::npos) << less.out;
  EXPECT_NE(less.out.find("without an undo: lock_stock, charge"), std::string::npos) << less.out;
}

TEST_F(StepsProgramTest, WhatCannotBeKeptIsRefusedByTheConfig) {
  const Ran strategy = OnSqlite(service_.consumer("dedup_table")).semel({"check"});
  EXPECT_NE(strategy.code, 0);
  EXPECT_NE((strategy.out + strategy.err).find("strategy: fence"), std::string::npos)
      << strategy.out << strategy.err;
  const Ran twice = OnSqlite(with_other(service_.consumer(), "name: charge", "name: lock_stock"))
                        .semel({"check"});
  EXPECT_NE((twice.out + twice.err).find("E063"), std::string::npos) << twice.out << twice.err;
  const Ran later =
      OnSqlite(with_other(service_.consumer(), "/lock\"", "/lock/{answer:charge/id}\""))
          .semel({"check"});
  EXPECT_NE((later.out + later.err).find("E050"), std::string::npos) << later.out << later.err;
}

}  // namespace
}  // namespace semel::test
