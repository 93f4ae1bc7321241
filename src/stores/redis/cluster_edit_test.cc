// An edit of a dead letter on a Cluster, whose record and letter are on two nodes: stopped between
// them, and met there by another one.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <semel/spi/held_messages.h>

#include "core/failpoints.h"
#include "stores/redis/test_cluster_place.h"
#include "stores/redis/test_end.h"
#include "tests/support/child_process.h"
#include "tests/support/test_environment.h"

namespace semel::redis {
namespace {

class ClusterEdit : public ClusterTest {
 protected:
  Message old() const { return test::make_message(consumer_, "k", "old"); }
  Message mended() const { return test::make_message(consumer_, "k", "mended"); }
  static Claim claim(Store& store, const Message& message) {
    const Message* one = &message;
    return store.claim({&one, 1}, {60s, {}, false}).value().front();
  }
  void write_dead_letter(Store& store) {
    const Message message = old();
    const Finish dead = test::dead(std::get<Acquired>(claim(store, message)).lease, &message);
    ASSERT_EQ(store.finish({&dead, 1})->front(), Applied::kYes);
  }
  static DeadLetter letter(Store& store) {
    const std::int64_t id = store.facets().dead_letters->list({}).value().at(0).id;
    return store.facets().dead_letters->show(id).value().value();
  }
  Result<Edited> edit(Store& store) const {
    const DeadLetter seen = letter(store);
    LetterEdit edit;
    edit.id = seen.id;
    edit.before = old().fingerprint();
    edit.payload_before = "old";
    edit.payload = "mended";
    edit.fingerprint = mended().fingerprint();
    return store.facets().dead_letters->edit(edit);
  }
  // It is replayed once, as it was edited.
  void expect_edited(Store& store) const {
    EXPECT_EQ(letter(store).payload, "mended");
    const std::int64_t id = letter(store).id;
    EXPECT_TRUE(store.facets()
                    .dead_letters
                    ->replaces(old().key().id, "k", mended().fingerprint(), old().fingerprint())
                    .value());
    EXPECT_TRUE(std::holds_alternative<Conflict>(claim(store, old())));
    ASSERT_EQ(store.facets().dead_letters->replay({&id, 1})->replayed, 1U);
    const auto taken = store.facets().held->take(consumer_, 10, 1 << 20, 60s).value();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].payload, "mended");
    EXPECT_TRUE(std::holds_alternative<Acquired>(claim(store, mended())));
  }
};

TEST_F(ClusterEdit, OneThatWasKilledBetweenItsStepsGoesOnWhenItIsSaidAgain) {
  {
    auto store = open(system_environment());
    write_dead_letter(*store);
  }
  auto child = test::ChildProcess::fork([&](test::ChildProcess::Voice&) {
    test::HookedFailpoints end;
    end_at(end, failpoint::kRecorded);
    Environment environment = system_environment();
    environment.failpoints = &end;
    (void)edit(*open(environment));
    return 0;
  });
  ASSERT_EQ(child.wait()->code, kEnded) << "it was not stopped";
  auto store = open(system_environment());
  EXPECT_EQ(letter(*store).payload, "old");
  EXPECT_TRUE(std::holds_alternative<Conflict>(claim(*store, old()))) << "it is not handled";
  EXPECT_EQ(edit(*store).value(), Edited::kYes);
  expect_edited(*store);
}

TEST_F(ClusterEdit, OneThatMeetsItsTwinLeavesWhatThatHasDone) {
  test::HookedFailpoints points;
  Environment environment = system_environment();
  environment.failpoints = &points;
  auto first = open(environment);
  auto second = open(system_environment());
  write_dead_letter(*second);
  points.on(failpoint::kRecorded, [&] { EXPECT_EQ(edit(*second).value(), Edited::kYes); });
  EXPECT_EQ(edit(*first).value(), Edited::kMoved);
  EXPECT_EQ(points.hits(failpoint::kRecorded), 1U);
  expect_edited(*second);
}

}  // namespace
}  // namespace semel::redis
