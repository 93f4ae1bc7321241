// Errors that a server reports for a message's sake, whatever their codes are named after: the
// message is counted and given up, its neighbours are done, and the run ends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/cli/server_test_bed.h"

namespace semel::test {
namespace {

constexpr int kGood = 20;

// Its params are those that the statements use.
std::string consumer(std::string_view source, std::string_view statements,
                     std::string_view rules = "{}") {
  std::string params;
  for (const std::string_view name : {"id", "kind", "number"}) {
    if (statements.find(fmt::format(":{}", name)) == std::string_view::npos) continue;
    params += fmt::format("          {0}: json:/{0}\n", name);
  }
  return fmt::format(
      "    source: {}\n"
      "    key: {{ from: [json:/id] }}\n"
      "    strategy: dedup_table\n"
      "    retry: {{ attempts: 2, backoff: 20ms..40ms }}\n"
      "    handler:\n"
      "      sql:\n"
      "        params:\n{}"
      "        on_unique_violation: {}\n"
      "        statements:\n{}",
      source, params, rules, statements);
}

std::string line(std::string_view id, std::string_view kind, int number) {
  return fmt::format("{{\"id\":\"{}\",\"kind\":\"{}\",\"number\":{}}}\n", id, kind, number);
}

// `bad` stands in the middle of the good ones.
std::string lines_around(const std::string& bad) {
  std::string lines;
  for (int n = 0; n < kGood; ++n) {
    if (n == kGood / 2) lines += bad;
    lines += line(fmt::format("good-{}", n), "fine", 1 + n);
  }
  return lines;
}

class ServerErrors {
 public:
  ServerErrors(const ServerKind& kind, std::string_view statements, std::string_view rules = "{}")
      : bed(kind, consumer(kQueue, statements, rules)) {}
  ServerErrors(const ServerKind& kind, std::string_view statements, const DatabaseServer& server)
      : bed(kind, consumer("{ stdin: {} }", statements), server) {}

  void send(const std::string& lines) const {
    const Ran ran = bed.semel({"send", "payments", "-"}, {.input = lines});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  Ran run(const std::string& input = {}) const {
    return bed.semel({"run", "--once", "-v"}, {.input = input});
  }
  std::int64_t letters(std::string_view where = "1 = 1") const {
    const bool postgres = bed.kind().page == kPostgres.page;
    return bed.number(fmt::format("SELECT count(*) FROM {}semel_dead_letter WHERE {}",
                                  postgres ? "semel." : "", where));
  }

  ServerTestBed bed;
};

constexpr std::string_view kEntry = "          - INSERT INTO entry(id, kind) VALUES (:id, :kind)\n";

// The trigger: how a row of each `kind` fails its statement.
constexpr const char* kTroubled = R"sql(
  CREATE TABLE entry(id text PRIMARY KEY, kind text NOT NULL);
  CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.kind = 'inside' THEN PERFORM array_in('{1}'::cstring, 0, -1);
    ELSIF NEW.kind = 'slow' THEN PERFORM pg_sleep(30);
    ELSIF NEW.kind = 'killer' THEN PERFORM pg_terminate_backend(pg_backend_pid());
    ELSIF NEW.kind <> 'fine' THEN RAISE EXCEPTION 'no entry' USING ERRCODE = NEW.kind;
    END IF;
    RETURN NEW;
  END $$;
)sql";
constexpr const char* kAtOnce =
    "CREATE TRIGGER troubled BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION trouble()";
constexpr const char* kAtCommit =
    "CREATE CONSTRAINT TRIGGER troubled AFTER INSERT ON entry DEFERRABLE INITIALLY DEFERRED "
    "FOR EACH ROW EXECUTE FUNCTION trouble()";

struct Trouble {
  const char* kind;
  const char* trigger;
};
std::string trouble_name(const Trouble& trouble) {
  return std::string(trouble.trigger == kAtOnce ? "AtOnce_" : "AtCommit_") + trouble.kind;
}
void PrintTo(const Trouble& trouble, std::ostream* out) { *out << trouble_name(trouble); }

class PostgresTrouble : public ::testing::TestWithParam<Trouble> {};

TEST_P(PostgresTrouble, IsItsMessagesOwn) {
  const ServerErrors errors(kPostgres, kEntry);
  const ServerTestBed& bed = errors.bed;
  bed.sql(kTroubled);
  bed.sql(GetParam().trigger);
  errors.send(lines_around(line("bad", GetParam().kind, 0)));
  bed.sql(fmt::format("ALTER DATABASE {} SET statement_timeout = '300ms'", bed.database()));
  const Ran ran = errors.run();
  EXPECT_EQ(ran.err.find("error[R2"), std::string::npos) << ran.err;
  EXPECT_EQ(bed.number("SELECT count(*) FROM entry"), kGood) << ran.err;
  EXPECT_EQ(errors.letters(), 1) << ran.err;
  EXPECT_EQ(errors.letters("convert_from(error, 'UTF8') LIKE 'handler.sql.%'"), 1)
      << bed.server().query(bed.database(),
                            "SELECT convert_from(error, 'UTF8') FROM "
                            "semel.semel_dead_letter");
}

INSTANTIATE_TEST_SUITE_P(Kinds, PostgresTrouble,
                         ::testing::Values(Trouble{"53000", kAtOnce}, Trouble{"53100", kAtOnce},
                                           Trouble{"58000", kAtOnce}, Trouble{"57014", kAtOnce},
                                           Trouble{"40001", kAtOnce}, Trouble{"28000", kAtOnce},
                                           Trouble{"08006", kAtOnce}, Trouble{"XX000", kAtOnce},
                                           Trouble{"55P03", kAtOnce}, Trouble{"inside", kAtOnce},
                                           Trouble{"slow", kAtOnce}, Trouble{"killer", kAtOnce},
                                           Trouble{"23514", kAtCommit}, Trouble{"40001", kAtCommit},
                                           Trouble{"53000", kAtCommit},
                                           Trouble{"inside", kAtCommit},
                                           Trouble{"killer", kAtCommit}),
                         [](const auto& info) { return trouble_name(info.param); });

TEST(PostgresDeferred, AForeignKeyThatFailsAtTheCommitIsItsMessagesOwn) {
  const ServerErrors errors(kPostgres,
                            "          - INSERT INTO entry(id, account) VALUES (:id, :number)\n"
                            "          - UPDATE account SET balance = balance + 1 WHERE id = 1\n");
  errors.bed.sql(
      "CREATE TABLE entry(id text, account integer REFERENCES account(id) "
      "DEFERRABLE INITIALLY DEFERRED)");
  errors.send(lines_around(line("bad", "fine", 1000)));
  const Ran ran = errors.run();
  EXPECT_EQ(errors.bed.number("SELECT count(*) FROM entry"), kGood) << ran.err;
  EXPECT_EQ(errors.bed.sum(), kGood);
  EXPECT_EQ(errors.letters("convert_from(error, 'UTF8') LIKE 'handler.sql.constraint: %'"), 1)
      << ran.err;
}

TEST(PostgresDeferred, AUniqueViolationToldAtTheCommitFallsUnderItsRule) {
  const ServerErrors errors(kPostgres,
                            "          - INSERT INTO entry(id, number) VALUES (:id, :number)\n",
                            "{ entry(number): duplicate }");
  errors.bed.sql(
      "CREATE TABLE entry(id text, number integer UNIQUE DEFERRABLE INITIALLY DEFERRED);"
      "INSERT INTO entry VALUES ('old', 1000)");
  errors.send(lines_around(line("again", "fine", 1000)));
  const Ran ran = errors.run();
  EXPECT_NE(ran.out.find("again  duplicate"), std::string::npos) << ran.out << ran.err;
  EXPECT_EQ(errors.bed.number("SELECT count(*) FROM entry"), kGood + 1);
  EXPECT_EQ(errors.letters(), 0) << ran.err;
}

// A value that no time makes fit is dead at once; a column that is missing pauses the consumer
// before its queue has become dead letters.
class ServerRemedies : public ::testing::TestWithParam<ServerKind> {
 protected:
  static constexpr std::string_view kNumber =
      "          - INSERT INTO entry(id, number) VALUES (:id, :kind)\n";
  const ServerErrors errors_{GetParam(), kNumber};
};

TEST_P(ServerRemedies, AValueThatDoesNotFitIsDeadAtOnce) {
  errors_.bed.sql("CREATE TABLE entry(id varchar(99) PRIMARY KEY, number integer NOT NULL)");
  errors_.send(line("bad", "many", 0) + line("good", "7", 0) +
               "{\"id\":\"none\",\"kind\":null,\"number\":0}\n");
  const Ran ran = errors_.run();
  EXPECT_EQ(errors_.bed.number("SELECT count(*) FROM entry"), 1) << ran.err;
  EXPECT_EQ(errors_.letters("attempts = 1"), 2) << ran.out << ran.err;
}

TEST_P(ServerRemedies, AMissingColumnPausesTheConsumerAndKeepsItsQueue) {
  errors_.bed.sql("CREATE TABLE entry(id varchar(99) PRIMARY KEY, amount integer)");
  std::string lines;
  for (int n = 0; n < kGood; ++n) lines += line(fmt::format("k-{}", n), "7", 0);
  errors_.send(lines);
  const Ran ran = errors_.run();
  EXPECT_NE(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("consumers resume payments"), std::string::npos) << ran.err;
  const auto dead = errors_.letters("attempts = 1");
  EXPECT_GT(dead, 0);
  EXPECT_LE(dead, 3) << "of all workers together";
  errors_.bed.sql("ALTER TABLE entry ADD COLUMN number integer");
  EXPECT_EQ(errors_.bed.semel({"consumers", "resume", "payments"}).code, 0);
  EXPECT_EQ(errors_.run().code, 0);
  EXPECT_EQ(errors_.bed.number("SELECT count(*) FROM entry"), kGood - dead);
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerRemedies, ::testing::ValuesIn(server_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

std::vector<ServerKind> mysql_kinds() {
  std::vector<ServerKind> kinds = server_kinds();
  std::erase_if(kinds, [](const ServerKind& kind) { return kind.page == kPostgres.page; });
  return kinds;
}

// MySQL limits the time of no statement but a SELECT.
TEST(MariaDbTimeout, AStatementThatTakesTooLongIsItsMessagesOwn) {
  const auto server = kMariaDb.own();
  server->query("mysql", "SET GLOBAL max_statement_time = 0.3");
  const ServerErrors errors(kMariaDb,
                            "          - INSERT INTO entry(id, kind) SELECT :id, :kind FROM "
                            "(SELECT sleep(if(:kind = 'slow', 30, 0))) AS slept\n",
                            *server);
  errors.bed.sql("CREATE TABLE entry(id varchar(99) PRIMARY KEY, kind varchar(99) NOT NULL)");
  const Ran ran = errors.run(lines_around(line("bad", "slow", 0)));
  EXPECT_EQ(errors.bed.number("SELECT count(*) FROM entry"), kGood) << ran.err;
  EXPECT_EQ(errors.letters("error LIKE 'handler.sql.busy: %'"), 1) << ran.err;
}

class SmallPacket : public ::testing::TestWithParam<ServerKind> {
 protected:
  SmallPacket() { server_->query("mysql", "SET GLOBAL max_allowed_packet = 1048576"); }
  static std::string with_text(std::string_view id, std::size_t size) {
    return fmt::format("{{\"id\":\"{}\",\"kind\":\"{}\",\"number\":1}}\n", id,
                       std::string(size, 'x'));
  }
  const std::unique_ptr<DatabaseServer> server_ = GetParam().own();
};

TEST_P(SmallPacket, AMessageThatItDoesNotTakeIsKeptByItsSizeAlone) {
  const ServerErrors errors(GetParam(), kEntry, *server_);
  errors.bed.sql("CREATE TABLE entry(id varchar(99) PRIMARY KEY, kind longtext NOT NULL)");
  const Ran ran = errors.run(lines_around(with_text("bad", 1'300'000)));
  EXPECT_EQ(errors.bed.number("SELECT count(*) FROM entry"), kGood) << ran.err;
  EXPECT_EQ(errors.letters("reason = 'too_large' AND length(payload) = 0"), 1) << ran.err;
  EXPECT_EQ(errors.letters("error LIKE '%payload of 1300033 bytes is not kept%'"), 1) << ran.err;
}

TEST_P(SmallPacket, AMessageWhoseStatementItDoesNotTakeIsDeadWithItsPayload) {
  const ServerErrors errors(
      GetParam(), "          - INSERT INTO entry(id, kind) VALUES (:id, concat(:kind, :kind))\n",
      *server_);
  errors.bed.sql("CREATE TABLE entry(id varchar(99) PRIMARY KEY, kind longtext NOT NULL)");
  const Ran ran = errors.run(lines_around(with_text("bad", 700'000)));
  EXPECT_EQ(errors.bed.number("SELECT count(*) FROM entry"), kGood) << ran.err;
  EXPECT_EQ(errors.letters("reason = 'handler.sql.other' AND length(payload) > 700000"), 1)
      << ran.err;
}

// A user's trigger that raises the server's own SQLSTATE.
TEST_P(SmallPacket, ADeadlockThatIsNoneIsItsMessagesOwn) {
  const ServerErrors errors(GetParam(), kEntry, *server_);
  errors.bed.sql("CREATE TABLE entry(id varchar(99) PRIMARY KEY, kind varchar(99) NOT NULL)");
  errors.bed.sql(
      "CREATE TRIGGER troubled BEFORE INSERT ON entry FOR EACH ROW IF NEW.kind <> 'fine' THEN "
      "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'no entry'; END IF");
  const Ran ran = errors.run(lines_around(line("bad", "foul", 0)));
  EXPECT_EQ(errors.bed.number("SELECT count(*) FROM entry"), kGood) << ran.err;
  EXPECT_EQ(errors.letters("error LIKE 'handler.sql.busy: %no entry%'"), 1) << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Servers, SmallPacket, ::testing::ValuesIn(mysql_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

}  // namespace
}  // namespace semel::test
