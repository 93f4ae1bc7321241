// Several calls in one message, by the real program, on each store that keeps a journal: each made
// once, and undone when given up.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/steps_test_bed.h"

namespace semel::test {
namespace {

class StepsEverywhere : public testing::TestWithParam<StepsDatabase> {
 protected:
  using Calls = std::vector<std::string>;

  static std::unique_ptr<StepsTestBed> make(std::string_view consumer) {
    return GetParam().make(consumer);
  }

  static void expect_sound(const StepsTestBed& bed) {
    const Ran verified = bed.semel({"store", "verify", "--full"});
    EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  }

  StepsService service_;
};

TEST_P(StepsEverywhere, AKillInASecondStepDoesNotRepeatTheFirst) {
  service_.hang_first_charge();
  const auto bed = make(service_.consumer());
  bed->send();
  const auto runner = bed->start();
  EXPECT_TRUE(service_.server().wait_requests(2)) << runner->err();
  runner->signal(SIGKILL);
  EXPECT_EQ(runner->wait().signal, SIGKILL) << "the fault must have fired";
  EXPECT_EQ(bed->record("steps/0/name"), "lock_stock");
  EXPECT_EQ(bed->record("steps/0/state"), "done");
  EXPECT_EQ(bed->run_once().code, 0);
  EXPECT_EQ(service_.calls(),
            (Calls{"/lock o-1/lock_stock", "/charge o-1/charge", "/charge o-1/charge"}));
  EXPECT_EQ(bed->record("state"), "completed");
  EXPECT_EQ(bed->record("result"), "charged") << "what the last step answered";
  EXPECT_EQ(bed->record("steps/0"), "(absent)") << "the journal ends with the message";
  expect_sound(*bed);
}

TEST_P(StepsEverywhere, GivenUpItsStepsAreUndoneInReverse) {
  service_.server().on("/charge", reply(422, "no such card"));
  const auto bed = make(service_.consumer("state_machine"));
  bed->send();
  const Ran ran = bed->run_once();
  EXPECT_EQ(service_.calls(),
            (Calls{"/lock o-1/lock_stock", "/charge o-1/charge", "/unlock o-1/lock_stock/undo"}))
      << ran.err;
  EXPECT_EQ(bed->record("state"), "dead");
  EXPECT_EQ(bed->record("steps/0/state"), "undone");
  const Ran letters = bed->semel({"dlq", "list", "-o", "json"});
  EXPECT_EQ(json_at(letters.out, "/dead_letters/0/reason"), "handler.http.422") << letters.out;
  EXPECT_EQ(json_at(letters.out, "/dead_letters/0/attempts"), "1");
  EXPECT_NE(json_at(letters.out, "/dead_letters/0/error").find("step charge: "), std::string::npos)
      << letters.out;
}

TEST_P(StepsEverywhere, AKillInAnUndoGoesOnWithIt) {
  service_.server().on("/charge", reply(422, "no such card"));
  service_.server().on("/unlock", [](const HttpRequest&, std::size_t times) {
    return times == 0 ? raw("", HttpReply::Then::kHang) : reply(200);
  });
  const auto bed = make(service_.consumer());
  bed->send();
  const auto runner = bed->start();
  EXPECT_TRUE(service_.server().wait_requests(3)) << runner->err();
  runner->signal(SIGKILL);
  EXPECT_EQ(runner->wait().signal, SIGKILL) << "the fault must have fired";
  EXPECT_EQ(bed->run_once().code, 0);
  EXPECT_EQ(service_.calls(),
            (Calls{"/lock o-1/lock_stock", "/charge o-1/charge", "/unlock o-1/lock_stock/undo",
                   "/unlock o-1/lock_stock/undo"}));
  EXPECT_EQ(bed->record("state"), "dead");
}

TEST_P(StepsEverywhere, AnUndoThatIsGivenUpParksAndAPersonLetsItGoOn) {
  service_.server().on("/charge", reply(422, "no such card"));
  service_.server().on("/unlock", [](const HttpRequest&, std::size_t times) {
    return reply(times < 3 ? 500 : 200);
  });
  const auto bed = make(service_.consumer());
  bed->send();
  bed->run_once();
  EXPECT_EQ(bed->record("state"), "parked");
  EXPECT_EQ(bed->record("reason"), "steps.undo");
  EXPECT_NE(bed->record("error").find("still done: lock_stock"), std::string::npos);
  EXPECT_EQ(bed->record("giving_up"), "true") << "noted with the first finish";
  expect_sound(*bed);
  EXPECT_EQ(service_.calls().size(), 5U) << "three tries of the undo";
  const Ran text = bed->semel({"records", "show", "o-1"});
  EXPECT_NE(text.out.find("lock_stock: done"), std::string::npos) << text.out;
  EXPECT_EQ(bed->semel({"records", "unlock", "o-1", "--yes"}).code, 0);
  bed->run_once();
  EXPECT_EQ(bed->record("state"), "dead");
  EXPECT_EQ(bed->record("reason"), "handler.http.422");
  EXPECT_EQ(bed->record("giving_up"), "(absent)");
  EXPECT_EQ(service_.calls().size(), 6U);
  expect_sound(*bed);
  EXPECT_EQ(bed->semel({"records", "forget", "o-1", "--yes"}).code, 0);
  EXPECT_EQ(bed->record("state"), "(absent)");
}

TEST_P(StepsEverywhere, AnOperatorHasADeadLetterCompensated) {
  service_.server().on("/charge", reply(422, "no such card"));
  const auto bed = make(without_undos(service_.consumer()));
  bed->send();
  bed->run_once();
  EXPECT_EQ(bed->record("state"), "dead");
  EXPECT_EQ(bed->record("steps/0/state"), "done");
  bed->rewrite("        - name: charge", "          undo: { http: \"" +
                                             service_.server().url("/unlock") +
                                             "\" }\n        - name: charge");
  const Ran plan = bed->semel({"dlq", "compensate", "--all", "--dry-run", "-o", "json"});
  EXPECT_EQ(json_at(plan.out, "/asked"), "1") << plan.out;
  EXPECT_EQ(bed->record("state"), "dead") << "only looked";
  const Ran asked = bed->semel({"dlq", "compensate", "--all", "--yes", "-o", "json"});
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_EQ(json_at(asked.out, "/asked"), "1") << asked.out;
  bed->run_once();
  EXPECT_EQ(service_.calls().back(), "/unlock o-1/lock_stock/undo");
  EXPECT_EQ(bed->record("state"), "dead");
  EXPECT_EQ(bed->record("steps/0/state"), "undone");
  const Ran again = bed->semel({"dlq", "compensate", "--all", "--yes", "-o", "json"});
  EXPECT_EQ(json_at(again.out, "/skipped_nothing_done"), "1") << again.out;
  EXPECT_EQ(again.code, 3);
  // Replayed, it begins anew, under keys of its own.
  service_.server().on("/charge", reply(200));
  EXPECT_EQ(bed->semel({"dlq", "replay", "--all", "--yes"}).code, 0);
  bed->run_once();
  EXPECT_EQ(bed->record("state"), "completed");
  const Calls all = service_.calls();
  EXPECT_EQ(std::ranges::count(all, "/lock o-1/lock_stock/2"), 1);
  expect_sound(*bed);
}

INSTANTIATE_TEST_SUITE_P(Stores, StepsEverywhere, testing::ValuesIn(steps_grounds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
