// The connection is cut while a commit is on its way: whoever claims again learns what became of
// it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stores/postgres/test_live_place.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/test_environment.h"

namespace semel::postgres {
namespace {

using test::TcpProxy;

// With its end: READ COMMITTED is another word.
const std::string kCommit("COMMIT\0", 7);

class CommitLive : public LiveTest {
 protected:
  CommitLive() { sql("CREATE TABLE effect (name TEXT)"); }

  std::unique_ptr<Store> open_behind(const TcpProxy& proxy) {
    PostgresOptions options;
    options.url = url();
    const std::string own = fmt::format(":{}/", server_.port());
    options.url.replace(options.url.find(own), own.size(), fmt::format(":{}/", proxy.port()));
    options.listens = false;
    auto store = open_store(std::move(options), {});
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  static StatementList effect(const std::string& name) {
    RecordedStatement statement;
    statement.statement = admit_statement("INSERT INTO effect VALUES (?)").value();
    statement.values = {Value(name)};
    return {statement};
  }
  // Up to its commit.
  static Held worked(Store& store, const Message& message) {
    Held held = claim_in_unit(store, message);
    if (!is<Acquired>(held.claim)) return held;
    held.unit->run(0, effect(message.key().text));
    EXPECT_TRUE(held.unit->flush().has_value());
    const Finish done = test::completed(std::get<Acquired>(held.claim).lease);
    EXPECT_TRUE(held.unit->finish({&done, 1}).has_value());
    return held;
  }
};

TEST_F(CommitLive, ItsEffectsHappenOnceAndTheNextClaimTellsWhether) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  test::SeededRandom random(seed);
  const char* const soak = std::getenv("SEMEL_SOAK");
  const int doubts = soak != nullptr && std::string_view(soak) == "1" ? 200 : 24;
  TcpProxy proxy(server_.port());
  const auto store = open_behind(proxy);
  const ConsumerNumber consumer = attach(*store);
  int round = 0, doubtful = 0, committed = 0;
  for (; doubtful < doubts; ++round) {
    const Message m = test::make_message(consumer, fmt::format("m{}", round));
    // Its words are only said at the first commit of a connection.
    proxy.cut_all();
    constexpr TcpProxy::Then kThens[] = {TcpProxy::Then::kWithhold, TcpProxy::Then::kLose,
                                         TcpProxy::Then::kCut};
    const TcpProxy::Then then = kThens[random.below(std::size(kThens))];
    TcpProxy::Fault fault{.text = kCommit, .then = then};
    if (then == TcpProxy::Then::kWithhold) fault.answer = kCommit;
    const auto id = proxy.inject(fault);
    Held held = worked(*store, m);
    ASSERT_TRUE(is<Acquired>(held.claim));
    const auto answer = held.unit->commit();
    held.unit.reset();
    ASSERT_EQ(proxy.fired(id), 1U) << "the fault did not fire";
    proxy.clear();
    if (answer) {
      ASSERT_EQ(then, TcpProxy::Then::kCut) << "the answer came through";
      continue;
    }
    EXPECT_EQ(answer.error().kind, ErrorKind::kInDoubt) << answer.error().message;
    ++doubtful;

    Held again = worked(*store, m);
    const bool done = is<Completed>(again.claim);
    EXPECT_EQ(sql(fmt::format("SELECT count(*) FROM effect WHERE name = 'm{}'", round)),
              done ? "1" : "0");
    if (then == TcpProxy::Then::kWithhold) {
      EXPECT_TRUE(done);
    }
    if (then == TcpProxy::Then::kLose) {
      EXPECT_FALSE(done);
    }
    committed += done ? 1 : 0;
    if (done) continue;
    ASSERT_TRUE(is<Acquired>(again.claim));
    ASSERT_TRUE(again.unit->commit().has_value());
  }
  fmt::print("of {} commits in doubt {} had happened\n", doubtful, committed);
  EXPECT_GT(committed, 0);
  EXPECT_LT(committed, doubtful);
  EXPECT_EQ(sql("SELECT count(*), count(DISTINCT name) FROM effect"),
            fmt::format("{}|{}", round, round));
}

}  // namespace
}  // namespace semel::postgres
