// Who may not: wrong addresses, logins and rights, each with its code and its words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/cli/postgres_scene.h"

namespace semel::test {
namespace {

struct Refusal {
  int code;
  const char* page;
};

void expect_refused(const Ran& ran, const Refusal& refusal) {
  EXPECT_EQ(ran.code, refusal.code) << ran.err;
  EXPECT_NE(ran.err.find(fmt::format("error[{}]", refusal.page)), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << ran.err;
}

std::string source(const std::string& path) {
  std::ifstream file(std::string(SEMEL_SOURCE) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Users belong to the server, which others use too.
class PostgresRightsTest : public ::testing::Test {
 protected:
  PostgresRightsTest() : scene_(payments(kQueue)), user_("u_" + scene_.database()) {
    scene_.sql(fmt::format("CREATE USER {0}; GRANT ALL ON account TO {0}", user_));
  }
  ~PostgresRightsTest() override {
    scene_.sql(fmt::format("DROP OWNED BY {0}; DROP USER {0}", user_));
  }
  std::string url(const std::string& user) const {
    return fmt::format("postgresql://{}@127.0.0.1:{}/{}", user, scene_.server().port(),
                       scene_.database());
  }
  Ran semel(const Words& words) const { return scene_.semel_at(url(user_), words); }

  PostgresScene scene_;
  const std::string user_;
};

TEST_F(PostgresRightsTest, AWrongAddressIsToldAtTheStart) {
  for (const char* command : {"run", "status"}) {
    const auto at = [&](const std::string& address) { return scene_.semel_at(address, {command}); };
    expect_refused(at(scene_.server().url("no_such_database")), {78, "R252"});
    expect_refused(at("postgresql://ann:hunter2@127.0.0.1:1/bank"), {69, "R250"});
    expect_refused(at(url("nobody_at_all")), {78, "R251"});
    expect_refused(at("postgresql://ann:hunter2%zz@127.0.0.1/bank"), {78, "R259"});
    expect_refused(at("postgresql://127.0.0.1/bank?sslmod=x"), {78, "R259"});
  }
}

TEST_F(PostgresRightsTest, WithoutTheRightToMakeTablesItSaysWhatToGrant) {
  const Ran ran = semel({"store", "init"});
  expect_refused(ran, {77, "R253"});
  EXPECT_NE(ran.err.find("GRANT CREATE ON DATABASE"), std::string::npos) << ran.err;
  expect_refused(semel({"run", "--once"}), {77, "R253"});
}

TEST_F(PostgresRightsTest, AUserWhoOwnsNothingWorksWithTheGrantsOfThePage) {
  ASSERT_EQ(scene_.semel({"store", "init"}).code, 0);
  expect_refused(semel({"run", "--once"}), {77, "R253"});
  std::string grants = source("tests/cli/postgres/grants.sql");
  for (auto at = grants.find("worker"); at != std::string::npos; at = grants.find("worker", at)) {
    grants.replace(at, std::string("worker").size(), user_);
    at += user_.size();
  }
  scene_.sql(grants);
  const Ran sent = scene_.semel_at(url(user_), {"send", "payments", payment("p-1", 1, 5)});
  EXPECT_EQ(sent.code, 0) << sent.err;
  const Ran ran = semel({"run", "--once"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("p-1  done"), std::string::npos) << ran.out << ran.err;
  EXPECT_EQ(scene_.sum(), 5);
  const Ran verified = semel({"store", "verify"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  // What the owner does for it, now and then.
  EXPECT_EQ(scene_.semel({"store", "sweep"}).code, 0);
}

}  // namespace
}  // namespace semel::test
