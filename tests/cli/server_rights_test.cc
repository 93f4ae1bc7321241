// Wrong addresses, logins and rights, each with its code and its words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/cli/server_test_bed.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

struct Refusal {
  int code;
  const char* page;
};

void expect_refusal(const Ran& ran, const Refusal& refusal) {
  EXPECT_EQ(ran.code, refusal.code) << ran.err;
  EXPECT_NE(ran.err.find(fmt::format("error[{}]", refusal.page)), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << ran.err;
}

std::string source(const std::string& path) {
  std::ifstream file(input(path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Users belong to the server, which others use too.
class ServerRights : public ::testing::TestWithParam<ServerKind> {
 protected:
  ServerRights() : bed_(GetParam(), payments(kQueue)), user_("u_" + bed_.database()) {
    if (postgres()) {
      bed_.sql(fmt::format("CREATE USER {0}; GRANT ALL ON account TO {0}", user_));
    } else {
      bed_.sql(
          fmt::format("CREATE USER '{0}'@'%' IDENTIFIED BY 'right'; "
                      "GRANT SELECT, UPDATE ON account TO '{0}'@'%'",
                      user_));
    }
  }
  ~ServerRights() override {
    if (postgres()) {
      bed_.sql(fmt::format("DROP OWNED BY {0}; DROP USER {0}", user_));
    } else {
      bed_.sql(fmt::format("DROP USER '{}'@'%'", user_));
    }
  }
  static bool postgres() { return GetParam().page == kPostgres.page; }
  std::string url() const { return bed_.url_of(postgres() ? user_ : user_ + ":right"); }
  Ran semel(const Words& words) const { return bed_.semel_at(url(), words); }
  void grant_what_the_page_says() const {
    std::string grants = source(fmt::format("tests/cli/{}/grants.sql", GetParam().page));
    for (auto at = grants.find("worker"); at != std::string::npos; at = grants.find("worker", at)) {
      grants.replace(at, std::string("worker").size(), user_);
      at += user_.size();
    }
    bed_.sql(grants);
  }
  // GRANT or REVOKE.
  void change_rights(std::string_view rights, std::string_view to_or_from) const {
    bed_.sql(postgres() ? fmt::format("{} {} {}", rights, to_or_from, user_)
                        : fmt::format("{} {} '{}'@'%'", rights, to_or_from, user_));
  }
  // The page of MariaDB and MySQL grants it on the whole database: then it is granted table by
  // table.
  void take_the_right_to_update_accounts() const {
    change_rights("REVOKE UPDATE ON account", "FROM");
    if (postgres()) return;
    change_rights("REVOKE UPDATE ON *", "FROM");
    std::istringstream tables(bed_.server().query(
        bed_.database(),
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND "
        "table_name LIKE 'semel%'"));
    for (std::string table; std::getline(tables, table);) {
      change_rights("GRANT UPDATE ON " + table, "TO");
    }
  }

  ServerTestBed bed_;
  const std::string user_;
};

TEST_P(ServerRights, AWrongAddressIsToldAtTheStart) {
  const std::string scheme = url().substr(0, url().find(':'));
  for (const char* command : {"run", "status"}) {
    const auto at = [&](const std::string& address) { return bed_.semel_at(address, {command}); };
    expect_refusal(at(bed_.server().url("no_such_database")), {78, "R252"});
    expect_refusal(at(scheme + "://ann:hunter2@127.0.0.1:1/bank"), {69, "R250"});
    expect_refusal(at(bed_.url_of("nobody_at_all")), {78, "R251"});
    if (!postgres()) expect_refusal(at(bed_.url_of(user_ + ":hunter2")), {78, "R251"});
    expect_refusal(at(scheme + "://ann:hunter2%zz@127.0.0.1/bank"), {78, "R259"});
    expect_refusal(at(scheme + "://127.0.0.1/bank?sslmod=x"), {78, "R259"});
  }
}

TEST_P(ServerRights, WithoutTheRightToMakeTablesItSaysWhatToGrant) {
  const Ran ran = semel({"store", "init"});
  expect_refusal(ran, {77, "R253"});
  EXPECT_NE(ran.err.find("GRANT CREATE"), std::string::npos) << ran.err;
  expect_refusal(semel({"run", "--once"}), {77, "R253"});
}

TEST_P(ServerRights, AUserWhoOwnsNothingWorksWithTheGrantsOfThePage) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  expect_refusal(semel({"run", "--once"}), {77, "R253"});
  grant_what_the_page_says();
  const Ran sent = semel({"send", "payments", payment("p-1", 1, 5)});
  EXPECT_EQ(sent.code, 0) << sent.err;
  const Ran ran = semel({"run", "--once", "-v"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("p-1  done"), std::string::npos) << ran.out << ran.err;
  EXPECT_EQ(bed_.sum(), 5);
  const Ran verified = semel({"store", "verify"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  // The owner's work for it, from time to time.
  EXPECT_EQ(bed_.semel({"store", "sweep"}).code, 0);
}

TEST_P(ServerRights, DoctorNamesARightThatAStatementLacks) {
  ASSERT_EQ(bed_.semel({"store", "init"}).code, 0);
  grant_what_the_page_says();
  const Ran fine = semel({"doctor"});
  EXPECT_EQ(fine.out.find("D135"), std::string::npos) << fine.out << fine.err;
  EXPECT_NE(fine.out.find("[ok  ] D101"), std::string::npos) << fine.out << fine.err;
  EXPECT_NE(fine.out.find("[ok  ] D133"), std::string::npos) << fine.out << fine.err;
  take_the_right_to_update_accounts();
  const Ran told = semel({"doctor"});
  EXPECT_EQ(told.code, 1) << told.out << told.err;
  EXPECT_NE(told.out.find("[fail] D135  payments: handler.sql.statements[0] may not run: the "),
            std::string::npos)
      << told.out;
  EXPECT_NE(told.out.find("account"), std::string::npos) << told.out;
  // A right on one column, and not on the one that is written.
  change_rights("GRANT UPDATE (id) ON account", "TO");
  EXPECT_NE(semel({"doctor"}).out.find("[fail] D135"), std::string::npos);
  change_rights("GRANT UPDATE (balance) ON account", "TO");
  EXPECT_EQ(semel({"doctor"}).out.find("D135"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerRights, ::testing::ValuesIn(server_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

}  // namespace
}  // namespace semel::test
