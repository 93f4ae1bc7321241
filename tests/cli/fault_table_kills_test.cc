// The rows of the fault table whose fault is a kill, an answer, or a file that is read again.
#include <fstream>

#include "tests/cli/fault_table.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

// On the way of a message whose handler is outside of the store.
constexpr const char* kBeforeTheCall[] = {"received", "begun", "claimed", "handler.before"};
constexpr const char* kBehindIt[] = {"commit.after", "settle.before", "settle.after", "drained"};

class FaultTableKills : public FaultTable {
 protected:
  void killed_at(const std::string& key, const std::string& point) const {
    send(message(key));
    EXPECT_EQ(run_once(point + ":kill").signal, SIGKILL) << "the fault must have fired: " << point;
    ends_well();
  }
};

TEST_P(FaultTableKills, BeforeTheCall) {
  for (const std::string point : kBeforeTheCall) {
    SCOPED_TRACE(point);
    killed_at(point, point);
    const Cell cell = {1, 1, "completed"};
    // at_most_once cannot tell whether the call was made; its claim has just begun the last of
    // them.
    expect(point, cell, cell, point == "handler.before" ? Cell{0, 0, "parked"} : cell);
  }
}

TEST_P(FaultTableKills, BetweenTheCallAndItsRecord) {
  for (const std::string point : {"handler.after", "commit.before"}) {
    SCOPED_TRACE(point);
    killed_at(point, point);
    expect(point, {2, 1, "completed"}, {2, 2, "completed"}, {1, 1, "parked"});
  }
}

TEST_P(FaultTableKills, InTheCall) {
  send(message("p-1"));
  killed_in_mid_call();
  ends_well();
  expect("p-1", {2, 1, "completed"}, {2, 2, "completed"}, {1, 1, "parked"});
}

TEST_P(FaultTableKills, BehindTheRecord) {
  for (const std::string point : kBehindIt) {
    SCOPED_TRACE(point);
    killed_at(point, point);
    expect(point, {1, 1, "completed"});
  }
}

// Answers of the service that are no clear end: the next call is made under the same key, or by a
// person's word.
TEST_P(FaultTableKills, AnAnswerThatDoesNotCome) {
  for (const auto& [key, answer] :
       {std::pair("dropped", Answer::kDropped), std::pair("half", Answer::kHalf),
        std::pair("proxied", Answer::kProxied), std::pair("see-other", Answer::kSeeOther)}) {
    send(message(key));
    gateway_.next({answer});
    ends_well();
    expect(key, {2, 1, "completed"}, {2, 2, "completed"}, {1, 1, "parked"});
  }
}

TEST_P(FaultTableKills, AnAnswerThatSaysNothingHappened) {
  for (const auto& [key, answer] :
       {std::pair("busy", Answer::kBusy), std::pair("later", Answer::kLater),
        std::pair("moved", Answer::kMoved)}) {
    send(message(key));
    gateway_.next({answer, answer});
    ends_well();
    expect(key, {3, 1, "completed"});
  }
}

// The service did nothing, but the same answer may mean that it did.
TEST_P(FaultTableKills, AnAnswerThatMayMeanEither) {
  for (const auto& [key, answer] :
       {std::pair("broken", Answer::kBroken), std::pair("away", Answer::kAway)}) {
    send(message(key));
    gateway_.next({answer});
    ends_well();
    expect(key, {2, 1, "completed"}, {2, 1, "completed"}, {1, 0, "parked"});
  }
}

// Read from its start by each run, as a broker whose acknowledgements are lost would bring it.
class FaultTableFile : public FaultTable {
 protected:
  FaultTableFile() : FaultTable(fmt::format("file: {{ path: \"{}\", from: start }}", lines())) {
    std::ofstream(lines()) << message("p-1");
  }
  std::string lines() const { return folder_.file("lines"); }

 private:
  inline static const TempDir folder_;
};

TEST_P(FaultTableFile, ItIsDeliveredAgain) {
  for (int times = 0; times < 3; ++times) {
    const Ran ran = run_once();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("p-1"), std::string::npos) << "it was not delivered";
  }
  expect("p-1", {1, 1, "completed"});
}

SEMEL_FAULT_TABLE(FaultTableKills);
SEMEL_FAULT_TABLE(FaultTableFile);

}  // namespace
}  // namespace semel::test
