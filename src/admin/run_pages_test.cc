#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "admin/test_api.h"

namespace semel::admin {
namespace {

class RunPagesTest : public ApiTest {
 protected:
  void SetUp() override { open(true); }
  ApiSources sources() override {
    ApiSources made = ApiTest::sources();
    made.doctor = [this](Store&) -> Result<std::string> {
      ++examined_;
      return report_;
    };
    return made;
  }
  std::string page(Role role, const std::string& path) const { return get_as(role, path).body; }
  static bool shows(const std::string& page, const std::string& part) {
    return page.find(part) != std::string::npos;
  }

  Result<std::string> report_ = std::string(
      R"({"store":"sqlite x.db","ok":false,"checks":[)"
      R"({"code":"D101","grade":"ok","text":"it writes","fix":""},)"
      R"({"code":"D102","grade":"fail","text":"ttl <1h>","fix":"dedup.ttl: 8d"}],)"
      R"("consumers":[{"name":"payments","guarantee":"keyed_retry","reasons":["a","b"]}]})");
  std::atomic<int> examined_ = 0;
};

TEST_F(RunPagesTest, TheDoctorIsAskedByAPersonOnly) {
  EXPECT_TRUE(shows(page(Role::kOperator, "/doctor"), "Examine now"));
  EXPECT_EQ(examined_, 0);
  const std::string seen = page(Role::kOperator, "/doctor?run=true");
  EXPECT_EQ(examined_, 1);
  EXPECT_TRUE(shows(seen, "Asked sqlite x.db.")) << seen;
  EXPECT_TRUE(shows(seen, "<span class=\"state bad\">fail</span>"));
  EXPECT_TRUE(shows(seen, "ttl &lt;1h&gt;"));
  EXPECT_TRUE(shows(seen, "data-label=\"Fix\">dedup.ttl: 8d</td>"));
  EXPECT_TRUE(shows(seen, "<span class=\"badge\">keyed_retry</span>, because a; b</li>"));
  EXPECT_EQ(get_as(Role::kOperator, "/doctor?run=yes").status, 400);
  const std::string token = "Authorization: Bearer " + secret_of(Role::kOperator);
  EXPECT_EQ(
      get("/doctor?run=true", {token, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"})
          .status,
      403)
      << "a link of another site asks nobody";
  EXPECT_EQ(examined_, 1);
}

TEST_F(RunPagesTest, ADoctorThatCannotAskSaysWhy) {
  report_ = failure({ErrorKind::kUnavailable, "R345", "another doctor runs", "ask again later"});
  const auto answer = get_as(Role::kOperator, "/doctor?run=true");
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(shows(answer.body, "another doctor runs"));
}

TEST_F(RunPagesTest, TheAuditLogSaysWhoDidWhatAndWhy) {
  EXPECT_TRUE(shows(page(Role::kAdmin, "/audit"), "Nobody did anything"));
  finish("one", Finish::To::kDead, "handler.native");
  ASSERT_EQ(post_as(Role::kAdmin, "/api/v1/consumers/payments/records/one/forget",
                    "{\"reason\":\"<b>ticket</b>\"}")
                .status,
            200);
  const std::string seen = page(Role::kAdmin, "/audit");
  EXPECT_TRUE(shows(seen, "records.forget<span class=\"about\">payments one</span>")) << seen;
  EXPECT_TRUE(shows(seen, "&lt;b&gt;ticket&lt;/b&gt;"));
  EXPECT_TRUE(shows(seen, "data-label=\"Outcome\">forgotten</td>"));
  EXPECT_FALSE(shows(seen, "Older ones"));
}

TEST_F(RunPagesTest, AnEntryWithoutAnEndSaysSo) {
  AuditEntry entry;
  entry.who = "ops";
  entry.action = "records.forget";
  ASSERT_TRUE(store_->facets().audit->append({}, entry));
  EXPECT_TRUE(shows(page(Role::kAdmin, "/audit"), "nobody saw the end, or it goes on"));
}

TEST_F(RunPagesTest, TheLogIsReadPageByPage) {
  for (int i = 0; i < 60; ++i) {
    AuditEntry entry;
    entry.who = "ops";
    entry.action = fmt::format("act-{:02}", i);
    Nonce request;
    request.bytes[0] = static_cast<unsigned char>(i);
    ASSERT_TRUE(store_->facets().audit->append(request, entry));
  }
  const std::string first = page(Role::kAdmin, "/audit");
  EXPECT_TRUE(shows(first, "act-59"));
  EXPECT_FALSE(shows(first, "act-09"));
  const auto at = first.find("href=\"audit?before=");
  ASSERT_NE(at, std::string::npos);
  const std::string link = first.substr(at + 6, first.find('"', at + 6) - at - 6);
  const std::string second = page(Role::kAdmin, "/" + link);
  EXPECT_TRUE(shows(second, "act-09")) << second;
  EXPECT_TRUE(shows(second, "act-00"));
  EXPECT_FALSE(shows(second, "Older ones"));
}

TEST_F(RunPagesTest, ARoleThatIsTooSmallIsTold) {
  for (const auto& [path, role, word] :
       {std::tuple{"/doctor?run=true", Role::kRead, "needs the role operator"},
        std::tuple{"/audit", Role::kRead, "needs the role admin"},
        std::tuple{"/audit", Role::kOperator, "needs the role admin"}}) {
    const auto answer = get_as(role, path);
    EXPECT_EQ(answer.status, 403) << path;
    EXPECT_TRUE(shows(answer.body, word)) << answer.body;
  }
  EXPECT_EQ(examined_, 0);
  EXPECT_EQ(get("/doctor").status, 401);
  EXPECT_EQ(get("/audit").status, 401);
  EXPECT_EQ(get_as(Role::kAdmin, "/audit?before=x").status, 400);
}

TEST_F(RunPagesTest, EveryPageLeadsToTheOthersAndNoneLeavesItsPrefix) {
  for (const char* path : {"/", "/record", "/stuck", "/dead-letters", "/letters", "/live",
                           "/doctor", "/audit", "/consumer?name=payments"}) {
    const auto answer = get_as(Role::kAdmin, path);
    EXPECT_EQ(answer.status, 200) << path;
    for (const char* link : {"./", "record", "stuck", "dead-letters", "live", "doctor", "audit"}) {
      EXPECT_TRUE(shows(answer.body, fmt::format("<a href=\"{}\"", link))) << path << " " << link;
    }
    for (const char* absolute : {"href=\"/", "src=\"/", "action=\"/", "data-post=\"/"}) {
      EXPECT_FALSE(shows(answer.body, absolute)) << path << " " << absolute;
    }
    EXPECT_NE(answer.header("Content-Security-Policy").find("default-src 'none'"),
              std::string::npos)
        << path;
    EXPECT_FALSE(shows(answer.body, " style=")) << path << ": the policy takes no inline style";
    EXPECT_FALSE(shows(answer.body, " onclick=")) << path;
  }
  EXPECT_EQ(get("/keys.js").status, 200);
  const std::string stuck = get_as(Role::kRead, "/stuck").body;
  EXPECT_TRUE(shows(stuck, "<a href=\"stuck\" aria-current=\"true\">")) << "where a reader is";
  EXPECT_TRUE(shows(stuck, "<a href=\"audit\">"));
}

}  // namespace
}  // namespace semel::admin
