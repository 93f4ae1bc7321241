#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <fmt/format.h>
#include <semel/admin/audit.h>

#include "admin/test_api.h"

namespace semel::admin {
namespace {

class LetterPageTest : public ApiTest {
 protected:
  void open_with(const std::string& admin) {
    config_ =
        config::load_text("admin: { " + admin + " }\n" + kApiConfig, "semel.yaml").config.value();
    open(true);
  }
  std::int64_t dead(const std::string& key, const std::string& reason = "handler.native") {
    finish(key, Finish::To::kDead, reason);
    return store_->facets().dead_letters->list({}).value().back().id;
  }
  std::string page(Role role, std::int64_t id) const {
    return get_as(role, fmt::format("/letter?id={}", id)).body;
  }
  static bool shows(const std::string& page, const std::string& part) {
    return page.find(part) != std::string::npos;
  }
};

TEST_F(LetterPageTest, ShowsWhyItDiedAndLeadsToItsRecord) {
  open(true);
  const std::string seen = page(Role::kOperator, dead("one"));
  EXPECT_TRUE(shows(seen, "<a href=\"record?consumer=payments&amp;key=one\">one</a>")) << seen;
  EXPECT_TRUE(shows(seen, "<dt>Reason</dt><dd>handler.native</dd>"));
  EXPECT_TRUE(shows(seen, "<dt>Error</dt><dd>it went wrong</dd>"));
  EXPECT_TRUE(shows(seen, "<code>{&quot;secret&quot;:1}</code>"));
  EXPECT_TRUE(shows(seen, "<dt>x-card</dt><dd>4111</dd>"));
  EXPECT_TRUE(shows(get_as(Role::kRead, "/letters?consumer=payments").body, "href=\"letter?id="));
}

TEST_F(LetterPageTest, ContentsAreForThoseWhoMaySeeThem) {
  open(true);
  const std::string seen = page(Role::kRead, dead("one"));
  EXPECT_FALSE(shows(seen, "secret")) << seen;
  EXPECT_FALSE(shows(seen, "4111"));
  EXPECT_TRUE(shows(seen, "Payloads are for the role <code>operator</code>."));
}

TEST_F(LetterPageTest, AMaskHidesItsPlaces) {
  open_with("mask: [json:/secret, 'header:X-Card']");
  const std::string seen = page(Role::kAdmin, dead("one"));
  EXPECT_TRUE(shows(seen, "<code>{&quot;secret&quot;:&quot;***&quot;}</code>")) << seen;
  EXPECT_FALSE(shows(seen, "4111"));
  EXPECT_TRUE(shows(seen, "The places of <code>admin.mask</code> are hidden."));
  EXPECT_FALSE(shows(seen, "it went wrong"));
  EXPECT_TRUE(shows(seen, "text not shown"));
}

TEST_F(LetterPageTest, NoneSaysWhy) {
  open_with("payloads: none");
  const std::string seen = page(Role::kAdmin, dead("one"));
  EXPECT_FALSE(shows(seen, "secret")) << seen;
  EXPECT_TRUE(shows(seen, "The config shows none: <code>admin.payloads</code>."));
}

TEST_F(LetterPageTest, OnlyWhatTheRoleMayDoIsOffered) {
  open(true);
  const std::int64_t id = dead("one");
  const std::string path = fmt::format("data-post=\"api/v1/dead-letters/{}/", id);
  EXPECT_FALSE(shows(page(Role::kRead, id), "data-post"));
  EXPECT_TRUE(shows(page(Role::kOperator, id), path + "replay\""));
  EXPECT_FALSE(shows(page(Role::kOperator, id), path + "discard\""));
  EXPECT_TRUE(shows(page(Role::kAdmin, id), path + "discard\""));
  EXPECT_EQ(post_as(Role::kAdmin, fmt::format("/api/v1/dead-letters/{}/discard", id)).status, 200);
  EXPECT_EQ(get_as(Role::kAdmin, fmt::format("/letter?id={}", id)).status, 404);
  EXPECT_TRUE(shows(page(Role::kAdmin, id), "there is no dead letter"));
}

TEST_F(LetterPageTest, AFormToEditIsForAdmins) {
  open(true);
  const std::int64_t id = dead("one");
  const std::string path = fmt::format("data-post=\"api/v1/dead-letters/{}/edit\"", id);
  const std::string seen = page(Role::kAdmin, id);
  EXPECT_TRUE(shows(seen, path)) << seen;
  EXPECT_TRUE(shows(seen, "data-replay=\"true\">Edit and replay</button>"));
  EXPECT_TRUE(shows(seen, ">\n{&quot;secret&quot;:1}</textarea>"));
  EXPECT_TRUE(shows(seen, "<option value=\"payload\" selected>"));
  EXPECT_FALSE(shows(seen, "<dt>Edited</dt>"));
  EXPECT_FALSE(shows(page(Role::kOperator, id), "<textarea"));
  EXPECT_TRUE(shows(page(Role::kOperator, id), "To edit it needs a token"));
  EXPECT_FALSE(shows(page(Role::kRead, id), "<textarea"));
}

TEST_F(LetterPageTest, AFormHasNothingOfWhatIsHidden) {
  open_with("mask: [json:/secret]");
  const std::string seen = page(Role::kAdmin, dead("one"));
  EXPECT_TRUE(shows(seen, ">\n</textarea>")) << seen;
  EXPECT_TRUE(shows(seen, "write the whole new payload"));
}

TEST_F(LetterPageTest, SaysWhoEditedItAndWhen) {
  open(true);
  const std::int64_t id = dead("one");
  const std::string path = fmt::format("/api/v1/dead-letters/{}/edit", id);
  EXPECT_EQ(post_as(Role::kAdmin, path, R"({"remove_headers":["semel-x"],"reason":"t"})").status,
            422);
  EXPECT_FALSE(shows(page(Role::kRead, id), "<dt>Edited</dt>"));
  const auto edited =
      post_as(Role::kAdmin, path, R"({"payload_base64":"eyJpZCI6Im9uZSJ9DQo=","reason":"t"})");
  ASSERT_EQ(edited.status, 200) << edited.body;
  const std::string seen = page(Role::kAdmin, id);
  EXPECT_TRUE(shows(seen, "<dt>Edited</dt><dd><time ")) << seen;
  EXPECT_TRUE(shows(seen, "</time> by admin</dd>"));
  const std::string read = page(Role::kRead, id);
  EXPECT_TRUE(shows(read, "<dt>Edited</dt>"));
  EXPECT_FALSE(shows(read, "by admin")) << "the audit log is the admin's";
  EXPECT_TRUE(shows(seen, ">\neyJpZCI6Im9uZSJ9DQo=</textarea>")) << "a form would lose the CR";
  EXPECT_TRUE(shows(seen, "<option value=\"payload_base64\" selected>"));
}

TEST_F(LetterPageTest, NothingFromOutsideBecomesMarkup) {
  open(true);
  error_ = "<script>alert(2)</script>";
  const std::string seen = page(Role::kAdmin, dead("\"><script>alert(1)</script>", "<i>\"'"));
  EXPECT_FALSE(shows(seen, "<script>alert")) << seen;
  EXPECT_FALSE(shows(seen, "<i>"));
  EXPECT_EQ(get_as(Role::kRead, "/letter?id=%3Cscript%3E").status, 400);
  EXPECT_EQ(get_as(Role::kRead, "/letter").status, 400);
  EXPECT_EQ(get("/letter?id=1").status, 401);
}

}  // namespace
}  // namespace semel::admin
