// store init --functions and store migrate --functions, and a consumer that is psql alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/cli/server_test_bed.h"
#include "tests/support/child_process.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

std::string example(const std::string& name, const std::string& server = "postgres") {
  return input(fmt::format("tests/cli/{}/{}", server, name));
}

// The grants of a page, for another user than the one that stands there.
std::string grants_of(const std::string& server, const std::string& user) {
  std::ifstream file(example("any_language_grants.sql", server));
  std::stringstream text;
  text << file.rdbuf();
  std::string grants = text.str();
  for (auto at = grants.find("worker"); at != std::string::npos; at = grants.find("worker", at)) {
    grants.replace(at, std::string("worker").size(), user);
    at += user.size();
  }
  return grants;
}

class ServerFunctions : public ::testing::Test {
 protected:
  // The last line that psql prints when it runs the file.
  std::string psql(const std::string& file, const std::string& user = {}) const {
    const std::string url = user.empty() ? bed_.url() : bed_.url_of(user);
    ChildProcess client =
        ChildProcess::run({"psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-f", file, url});
    std::string last;
    while (const auto line = client.line()) last = *line;
    return last;
  }
  std::int64_t functions() const {
    return bed_.number("SELECT count(*) FROM pg_proc WHERE pronamespace = 'semel'::regnamespace");
  }

  const ServerTestBed bed_{kPostgres, payments(kQueue)};
};

TEST_F(ServerFunctions, PsqlIsAConsumer) {
  const Ran made =
      bed_.semel({"store", "init", "--functions", "--consumer", "mails=7d", "-o", "json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(json_at(made.out, "/functions"), "made");
  EXPECT_EQ(json_at(made.out, "/consumers/1"), "mails");
  EXPECT_EQ(psql(example("any_language.sql")), "new");
  EXPECT_EQ(psql(example("any_language.sql")), "duplicate");
  EXPECT_EQ(bed_.sum(), 5);
  EXPECT_EQ(psql(example("any_language_leases.sql")), "done");
  EXPECT_EQ(psql(example("any_language_leases.sql")), "duplicate");
  const Ran verified = bed_.semel({"store", "verify", "--full"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST_F(ServerFunctions, AConfigOfTheStoreAloneMakesThem) {
  write_file(bed_.config(), fmt::format("store: {{ postgres: {{ url: \"{}\" }} }}\n", bed_.url()));
  const Ran made =
      bed_.semel({"store", "init", "--functions", "--consumer", "mails=7d", "-o", "json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(json_at(made.out, "/functions"), "made");
  EXPECT_EQ(json_at(made.out, "/consumers/0"), "mails");
  EXPECT_EQ(json_at(made.out, "/consumers/1"), "(absent)");
  EXPECT_EQ(psql(example("any_language.sql")), "new");
  EXPECT_EQ(psql(example("any_language.sql")), "duplicate");
  EXPECT_EQ(bed_.semel({"store", "sweep"}).code, 0);
}

// The command stands in scripts that run at each start.
TEST_F(ServerFunctions, AConsumerKeepsItsTtlWhereNoneIsNamed) {
  const auto init = [&](const char* consumer) {
    return bed_.semel({"store", "init", "--functions", "--consumer", consumer}).code;
  };
  const auto ttl = [&] {
    return bed_.server().query(bed_.database(),
                               "SELECT coalesce(ttl::text, 'kept') FROM semel.semel_consumer WHERE "
                               "name = 'mails'");
  };
  EXPECT_EQ(init("mails=keep"), 0);
  EXPECT_EQ(init("mails"), 0);
  EXPECT_EQ(ttl(), "kept");
  EXPECT_EQ(init("mails=2d"), 0);
  EXPECT_EQ(init("mails"), 0);
  EXPECT_EQ(ttl(), "172800000");
  EXPECT_EQ(init("mails=4000d"), 2);
}

TEST_F(ServerFunctions, ARoleWithTheGrantsOfThePageClaims) {
  ASSERT_EQ(bed_.semel({"store", "init", "--functions", "--consumer", "mails"}).code, 0);
  const std::string user = "f_" + bed_.database();
  bed_.sql(fmt::format("CREATE USER {0}; GRANT ALL ON account TO {0}", user));
  bed_.sql(grants_of("postgres", user));
  EXPECT_EQ(psql(example("any_language.sql"), user), "new");
  EXPECT_EQ(psql(example("any_language_leases.sql"), user), "done");
  bed_.sql(fmt::format("DROP OWNED BY {0}; DROP USER {0}", user));
}

TEST_F(ServerFunctions, AConsumerOfTheConfigSharesItsRecords) {
  ASSERT_EQ(bed_.semel({"store", "init", "--functions"}).code, 0);
  ASSERT_EQ(bed_.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  EXPECT_EQ(bed_.semel({"run", "--once"}).code, 0);
  const auto answered = [&](const std::string& key, const std::string& payload) {
    return bed_.server().query(
        bed_.database(),
        fmt::format("SELECT outcome FROM semel.claim('payments', '{}', '{}')", key, payload));
  };
  EXPECT_EQ(answered("p-1", payment("p-1", 1, 5)), "duplicate");
  EXPECT_EQ(answered("p-1", "{}"), "conflict");
  EXPECT_EQ(answered("p-2", "{}"), "new");
  const Ran shown = bed_.semel({"records", "show", "p-2", "-o", "json"});
  EXPECT_EQ(json_at(shown.out, "/records/0/state"), "completed") << shown.out << shown.err;
}

TEST_F(ServerFunctions, ARunConsumesWhatAClientPublishes) {
  ASSERT_EQ(bed_.semel({"store", "init", "--functions", "--consumer", "mails"}).code, 0);
  EXPECT_EQ(psql(example("any_language_queue.sql")), "1");
  EXPECT_EQ(psql(example("any_language_queue.sql")), "1") << "the second is a duplicate";
  const auto publish = [&](const std::string& arguments) {
    bed_.sql(fmt::format("SELECT semel.publish('payments', {})", arguments));
  };
  publish(fmt::format("'{}', 'given'", payment("found", 1, 20)));
  publish(fmt::format("'{}', 'given'", payment("found", 1, 20)));
  const Ran ran = bed_.semel({"run", "--once", "-v"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("bonus-18  done"), std::string::npos) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("given  done"), std::string::npos) << "the given key goes first";
  EXPECT_EQ(bed_.sum(), 27);
  EXPECT_EQ(bed_.number("SELECT count(*) FROM semel.semel_held"), 0);
  const Ran verified = bed_.semel({"store", "verify", "--full"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST_F(ServerFunctions, AMigrationMakesAndDropsThem) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  EXPECT_EQ(functions(), 0);
  const Ran plan = bed_.semel({"store", "migrate", "--functions", "--dry-run"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("FUNCTION \"semel\".claim"), std::string::npos) << plan.out;
  EXPECT_EQ(functions(), 0) << "a dry run makes nothing";
  const Ran made = bed_.semel({"store", "migrate", "--functions"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("functions made"), std::string::npos) << made.out;
  const std::int64_t all = functions();
  EXPECT_GT(all, 9);
  const Ran dropped = bed_.semel({"store", "migrate", "--drop-functions", "-o", "json"});
  EXPECT_EQ(json_at(dropped.out, "/functions"), "dropped") << dropped.err;
  EXPECT_EQ(functions(), 0);
  // An operator applies the plan by hand, and again.
  write_file(bed_.file("plan.sql"), plan.out);
  for (int times = 0; times < 2; ++times) {
    psql(bed_.file("plan.sql"));
    EXPECT_EQ(functions(), all);
  }
}

TEST_F(ServerFunctions, WrongWordsAreRefused) {
  const auto refused = [&](const Words& words) {
    const Ran ran = bed_.semel(words);
    EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
    return ran.code;
  };
  EXPECT_EQ(refused({"store", "init", "--consumer", "mails"}), 2);
  EXPECT_EQ(refused({"store", "init", "--functions", "--drop-functions"}), 2);
  EXPECT_EQ(refused({"store", "init", "--functions", "--consumer", "No name"}), 2);
  EXPECT_EQ(refused({"store", "init", "--functions", "--consumer", "mails=soon"}), 2);
  EXPECT_EQ(refused({"store", "init", "--functions", "--consumer", "payments=7d"}), 2);
}

class ServerProcedures : public ::testing::TestWithParam<ServerKind> {
 protected:
  // The last line that the servers' client prints when it runs the file.
  std::string client(const std::string& file, const std::string& user = "root") const {
    ChildProcess client =
        ChildProcess::run({"mariadb", "--no-defaults", "--host=127.0.0.1",
                           fmt::format("--port={}", bed_.server().port()), "--user=" + user,
                           "--batch", "--skip-column-names", "--default-character-set=utf8mb4",
                           bed_.database(), "-e", "source " + file});
    std::string last;
    while (const auto line = client.line()) last = *line;
    return last;
  }
  std::string page_example(const std::string& name) const { return example(name, "mysql"); }
  std::int64_t procedures() const {
    return bed_.number(
        "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE()");
  }

  const ServerTestBed bed_{GetParam(), payments(kQueue)};
};

TEST_P(ServerProcedures, TheServersClientIsAConsumer) {
  const Ran made =
      bed_.semel({"store", "init", "--functions", "--consumer", "mails=7d", "-o", "json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(json_at(made.out, "/functions"), "made");
  EXPECT_EQ(client(page_example("any_language.sql")), "new");
  EXPECT_EQ(client(page_example("any_language.sql")), "duplicate");
  EXPECT_EQ(bed_.sum(), 5);
  EXPECT_EQ(client(page_example("any_language_leases.sql")), "done");
  EXPECT_EQ(client(page_example("any_language_leases.sql")), "lease_lost") << "it was done";
  bed_.sql("CALL semel_claim('payments', 'p-2', '{}', NULL)");
  const Ran shown = bed_.semel({"records", "show", "p-2", "-o", "json"});
  EXPECT_EQ(json_at(shown.out, "/records/0/state"), "completed") << shown.out << shown.err;
  const Ran verified = bed_.semel({"store", "verify", "--full"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST_P(ServerProcedures, AUserWithTheGrantsOfThePageClaims) {
  ASSERT_EQ(bed_.semel({"store", "init", "--functions", "--consumer", "mails"}).code, 0);
  const std::string user = "f_" + bed_.database();
  bed_.sql(fmt::format("CREATE USER {0}; GRANT SELECT, UPDATE ON account TO {0}", user));
  bed_.sql(grants_of("mysql", user));
  EXPECT_EQ(client(page_example("any_language.sql"), user), "new");
  EXPECT_EQ(client(page_example("any_language_leases.sql"), user), "done");
  bed_.sql("DROP USER " + user);
}

TEST_P(ServerProcedures, ARunConsumesWhatAClientPublishes) {
  ASSERT_EQ(bed_.semel({"store", "init", "--functions"}).code, 0);
  client(page_example("any_language_queue.sql"));
  client(page_example("any_language_queue.sql"));
  const Ran ran = bed_.semel({"run", "--once", "-v"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("bonus-18  done"), std::string::npos) << ran.out << ran.err;
  EXPECT_EQ(bed_.sum(), 9) << "twice one, and once the message";
  EXPECT_EQ(bed_.number("SELECT COUNT(*) FROM semel_held"), 0);
}

TEST_P(ServerProcedures, AMigrationMakesAndDropsThem) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  EXPECT_EQ(procedures(), 0);
  const Ran plan = bed_.semel({"store", "migrate", "--functions", "--dry-run"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(procedures(), 0) << "a dry run makes nothing";
  const Ran made = bed_.semel({"store", "migrate", "--functions"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("functions made"), std::string::npos) << made.out;
  const std::int64_t all = procedures();
  EXPECT_GT(all, 9);
  const Ran dropped = bed_.semel({"store", "migrate", "--drop-functions", "-o", "json"});
  EXPECT_EQ(json_at(dropped.out, "/functions"), "dropped") << dropped.err;
  EXPECT_EQ(procedures(), 0);
  // An operator applies the plan by hand, and again.
  write_file(bed_.file("plan.sql"), plan.out);
  for (int times = 0; times < 2; ++times) {
    client(bed_.file("plan.sql"));
    EXPECT_EQ(procedures(), all);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ServerProcedures, ::testing::ValuesIn([] {
                           std::vector<ServerKind> kinds = server_kinds();
                           std::erase_if(kinds, [](const ServerKind& kind) {
                             return kind.page == kPostgres.page;
                           });
                           return kinds;
                         }()),
                         [](const auto& kind) { return name_of_kind(kind.param); });

TEST(ServerWithoutFunctions, SaysWhoHasThem) {
  const TestBed bed(payments(kQueue));
  for (const char* const command : {"init", "migrate"}) {
    const Ran ran = bed.semel({"store", command, "--functions"});
    EXPECT_EQ(ran.code, 78) << ran.err;
    EXPECT_NE(ran.err.find("error[R274]"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace semel::test
