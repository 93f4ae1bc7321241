#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <fmt/format.h>
#include <semel/guard.h>

#include "admin/html.h"
#include "admin/test_api.h"
#include "tests/support/waiting.h"

namespace semel::admin {
namespace {

class LetterPagesTest : public ApiTest {
 protected:
  void SetUp() override { open(true); }
  std::string page(Role role, const std::string& path) const { return get_as(role, path).body; }
  static bool shows(const std::string& page, const std::string& part) {
    return page.find(part) != std::string::npos;
  }
  std::int64_t begin_job(std::int64_t id) {
    operate::LetterWork work;
    work.query.limit = std::numeric_limits<std::size_t>::max();
    work.rate = operate::Rate{1, std::chrono::hours(1)};
    JobView about;
    about.id = id;
    about.selection = "reason=<b>";
    about.began_by = "ops";
    EXPECT_TRUE(jobs_.begin(work, about));
    EXPECT_TRUE(test::comes_true([&] { return jobs_.show(id)->progress.done == 1; }));
    return id;
  }
  // A dead letter beside the record of its key.
  void add_letter(const std::string& key, const Fingerprint& fingerprint) {
    ForeignLetter foreign;
    foreign.letter.consumer = "payments";
    foreign.letter.key = key;
    foreign.letter.fingerprint = fingerprint;
    foreign.letter.reason = "handler.native";
    foreign.record = message(key).key().id;
    ASSERT_EQ(store_->facets().dead_letters->add({&foreign, 1}).value().added, 1U);
  }
};

TEST_F(LetterPagesTest, GroupsLeadToTheirLetters) {
  finish("one", Finish::To::kDead, "handler.native");
  finish("two", Finish::To::kDead, "handler.native");
  const auto answer = get_as(Role::kRead, "/dead-letters");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.header("Content-Security-Policy").find("form-action 'none'"), std::string::npos);
  EXPECT_EQ(answer.header("Cache-Control"), "no-store");
  EXPECT_TRUE(shows(answer.body,
                    "href=\"letters?consumer=payments&amp;reason=handler.native&amp;"
                    "where=cause%3D%27%27\""))
      << answer.body;
  EXPECT_TRUE(shows(answer.body, "data-label=\"Letters\">2</td>"));
  const std::string letters =
      page(Role::kOperator, "/letters?consumer=payments&reason=handler.native");
  EXPECT_TRUE(shows(letters, "2 letters would be tried again")) << letters;
  EXPECT_TRUE(shows(letters, "<th scope=\"row\">one<"));
  EXPECT_FALSE(shows(letters, "secret")) << "no payloads";
}

TEST_F(LetterPagesTest, WithoutDeadLettersItSaysWhatTheyWouldBe) {
  EXPECT_TRUE(shows(page(Role::kRead, "/dead-letters"), "No dead letters: nothing was given up."));
  EXPECT_TRUE(shows(page(Role::kAdmin, "/letters?reason=none"), "None matches."));
}

TEST_F(LetterPagesTest, LettersThatAreDoneSinceAreNamedApart) {
  finish("one", Finish::To::kDead, "handler.native");
  const std::int64_t id = store_->facets().dead_letters->list({}).value().at(0).id;
  ASSERT_EQ(store_->facets().dead_letters->replay({&id, 1}).value().replayed, 1U);
  finish("one", Finish::To::kCompleted);
  const std::string none = page(Role::kRead, "/dead-letters");
  EXPECT_TRUE(shows(none, "No dead letters are left.")) << none;
  EXPECT_FALSE(shows(none, "nothing was given up"));
  EXPECT_TRUE(shows(none, "1 letter was replayed and is done since")) << none;
  EXPECT_TRUE(shows(none, "href=\"letters?replayed=true\""));
  finish("two", Finish::To::kDead, "handler.native");
  const std::string some = page(Role::kRead, "/dead-letters");
  EXPECT_TRUE(shows(some, "data-label=\"Letters\">1</td>")) << some;
  EXPECT_TRUE(shows(some, "1 letter was replayed and is done since"));
}

TEST_F(LetterPagesTest, OnlyWhatTheRoleMayDoIsOffered) {
  finish("one", Finish::To::kDead, "handler.native");
  const std::string path = "/letters?reason=handler.native&where=age%3C1d";
  const std::string replay =
      "data-post=\"api/v1/dead-letters:replay?reason=handler.native&amp;where=age%3C1d\"";
  EXPECT_FALSE(shows(page(Role::kRead, path), "data-post"));
  EXPECT_TRUE(shows(page(Role::kRead, path), "To replay needs a token"));
  EXPECT_TRUE(shows(page(Role::kOperator, path), replay)) << page(Role::kOperator, path);
  EXPECT_FALSE(shows(page(Role::kOperator, path), "dead-letters:discard"));
  EXPECT_TRUE(shows(page(Role::kAdmin, path), "dead-letters:discard"));
  EXPECT_TRUE(shows(page(Role::kOperator, path), "<input id=\"reason\" maxlength=\"1000\">"));
  EXPECT_FALSE(shows(page(Role::kRead, path), "id=\"reason\""));
}

TEST_F(LetterPagesTest, AParameterThatIsWrongOffersNothing) {
  finish("one", Finish::To::kDead, "handler.native");
  for (const char* path :
       {"/letters?resaon=x", "/letters?reason=handler.native&limit=1", "/letters?all=true",
        "/letters?consumer=", "/letters?reason=", "/letters?consumer=payments&consumer=payments",
        "/dead-letters?resaon=x", "/dead-letters?after=1", "/job?job=1"}) {
    const auto answer = get_as(Role::kAdmin, path);
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_FALSE(shows(answer.body, "data-post")) << answer.body;
  }
  EXPECT_TRUE(shows(page(Role::kAdmin, "/letters?resaon=x"),
                    "there is no parameter &quot;resaon&quot; here"));
}

TEST_F(LetterPagesTest, TheQuestionSaysWhatIsDoneToHowMany) {
  finish("one", Finish::To::kDead, "handler.native");
  finish("two", Finish::To::kDead, "payload.invalid");
  const std::string all = page(Role::kAdmin, "/letters");
  EXPECT_TRUE(shows(all, "data-question=\"Replay 2 letters: all?\"")) << all;
  EXPECT_TRUE(shows(all, "data-question=\"Discard 2 letters: all? ")) << all;
  EXPECT_TRUE(shows(all, "dead-letters:replay?all=true\"")) << all;
  const std::string one = page(Role::kAdmin, "/letters?consumer=payments&where=key%3Done");
  EXPECT_TRUE(shows(one, "Replay 1 letter: consumer=payments and key=one?")) << one;
}

// The user has not seen a letter that dies between the page and the click.
TEST_F(LetterPagesTest, AButtonTakesNoLetterThatCameAfterThePlan) {
  finish("one", Finish::To::kDead, "handler.native");
  finish("two", Finish::To::kDead, "handler.native");
  const std::int64_t last = store_->facets().dead_letters->list({}).value().back().id;
  const std::string plan = page(Role::kAdmin, "/letters?consumer=payments");
  const std::string up_to = fmt::format("data-up-to=\"{}\"", last);
  const std::string rest = plan.substr(plan.find(up_to) + up_to.size());
  EXPECT_TRUE(shows(rest, up_to)) << "one for each of both buttons: " << plan;
  EXPECT_NE(get("/act.js").body.find("body.up_to = Number(one.dataset.upTo)"), std::string::npos);
  finish("late", Finish::To::kDead, "handler.native");
  const auto begun = post_as(Role::kAdmin, "/api/v1/dead-letters:replay?consumer=payments",
                             fmt::format("{{\"up_to\":{}}}", last));
  ASSERT_EQ(begun.status, 202) << begun.body;
  const std::int64_t id = std::stoll(text_at(begun.body, "/job/id"));
  EXPECT_TRUE(test::comes_true([&] { return is_over(jobs_.show(id)->state); }));
  EXPECT_EQ(jobs_.show(id)->progress.done, 2U);
  EXPECT_TRUE(shows(page(Role::kAdmin, "/letters?consumer=payments"), "1 letter would be"));
}

// The same word is the reason of one group and the cause of another.
TEST_F(LetterPagesTest, AGroupLeadsToItsLettersAndNoOthers) {
  error_ = "handler.http.503: it is away";
  finish("one", Finish::To::kDead, "handler.http.503");
  finish("two", Finish::To::kDead, "attempts.exhausted");
  finish("three", Finish::To::kDead, "attempts.exhausted");
  error_ = "no word";
  finish("four", Finish::To::kDead, "attempts.exhausted");
  const std::string groups = page(Role::kRead, "/dead-letters?where=age%3C1d");
  struct Row {
    std::string link, letters;
  };
  const std::string filter = "&where=age%3C1d%20and%20cause%3D%27";
  for (const Row& row :
       {Row{"letters?consumer=payments&reason=handler.http.503" + filter + "%27", "1 letter:"},
        Row{"letters?consumer=payments&reason=attempts.exhausted" + filter + "handler.http.503%27",
            "2 letters:"},
        Row{"letters?consumer=payments&reason=attempts.exhausted" + filter + "%27", "1 letter:"}}) {
    EXPECT_TRUE(shows(groups, "href=\"" + html(row.link) + "\"")) << groups;
    const std::string letters = page(Role::kAdmin, "/" + row.link);
    EXPECT_TRUE(shows(letters, "Discard " + row.letters)) << letters;
    EXPECT_TRUE(shows(letters, "Replay " + row.letters)) << letters;
  }
}

TEST_F(LetterPagesTest, EachButtonSaysTheCountOfItsOwnAct) {
  for (const char* key : {"one", "two", "three"}) finish(key, Finish::To::kDead, "handler.native");
  DeadLetters& store = *store_->facets().dead_letters;
  const std::int64_t first = store.list({}).value().at(0).id;
  ASSERT_EQ(store.replay({&first, 1}).value().replayed, 1U);
  const std::string letters = page(Role::kAdmin, "/letters?consumer=payments");
  EXPECT_TRUE(shows(letters, "Replay 2 letters: consumer=payments?")) << letters;
  EXPECT_TRUE(shows(letters, "Discard 3 letters: consumer=payments?"));
  EXPECT_TRUE(shows(letters, "A discard would remove 3 letters: those on their way too."));
  const std::string one = page(Role::kAdmin, "/letters?where=key%3Done");
  EXPECT_FALSE(shows(one, "dead-letters:replay")) << one;
  EXPECT_TRUE(shows(one, "Discard 1 letter: key=one?"));
  const std::string done = page(Role::kAdmin, "/letters?replayed=true");
  EXPECT_FALSE(shows(done, "data-post")) << "none is done, and none that is on its way matches";
}

TEST_F(LetterPagesTest, APlanDoesNotCountWhatAReplaySkips) {
  finish("one", Finish::To::kDead, "handler.native");
  finish("done", Finish::To::kCompleted);
  add_letter("one", fingerprint_of("another payload"));
  add_letter("done", message("done").fingerprint());
  const std::string letters = page(Role::kAdmin, "/letters?consumer=payments");
  EXPECT_TRUE(shows(letters, "1 letter would be tried again")) << letters;
  EXPECT_TRUE(shows(letters, " 1 would be skipped: completed meanwhile."));
  EXPECT_TRUE(shows(letters, " 1 would be skipped: the key belongs to another payload."));
  EXPECT_TRUE(shows(letters, "Replay 1 letter: consumer=payments?"));
  EXPECT_TRUE(shows(letters, "Discard 3 letters: consumer=payments?"));
  const auto plan =
      post_as(Role::kAdmin, "/api/v1/dead-letters:replay?all=true", "{\"dry_run\":true}");
  EXPECT_EQ(text_at(plan.body, "/count"), "3") << plan.body;
  EXPECT_EQ(text_at(plan.body, "/skipped_completed"), "1");
  EXPECT_EQ(text_at(plan.body, "/skipped_conflict"), "1");
}

TEST_F(LetterPagesTest, LettersComePageByPage) {
  for (int i = 0; i < 60; ++i) {
    finish(fmt::format("key-{:02}", i), Finish::To::kDead, "handler.native");
  }
  const std::string first = page(Role::kRead, "/letters?consumer=payments");
  EXPECT_TRUE(shows(first, ">key-49<"));
  EXPECT_FALSE(shows(first, ">key-50<"));
  EXPECT_TRUE(shows(page(Role::kRead, "/letters"), "href=\"letters?after="));
  const auto at = first.find("letters?consumer=payments&amp;after=");
  ASSERT_NE(at, std::string::npos) << first;
  const auto number = first.substr(at + 36, first.find('"', at) - at - 36);
  const std::string second = page(Role::kRead, "/letters?consumer=payments&after=" + number);
  EXPECT_TRUE(shows(second, ">key-50<")) << second;
  EXPECT_FALSE(shows(second, "Next page"));
  EXPECT_TRUE(shows(second, "60 letters would be")) << "the plan is of all";
}

TEST_F(LetterPagesTest, AJobShowsHowFarItIs) {
  for (const char* key : {"one", "two", "three"}) finish(key, Finish::To::kDead, "handler.native");
  begin_job(17);
  const std::string seen = page(Role::kOperator, "/job?id=17");
  EXPECT_TRUE(shows(seen, "Job 17: replay reason=&lt;b&gt;")) << seen;
  EXPECT_TRUE(shows(seen, "<progress max=\"3\" value=\"1\">"));
  EXPECT_TRUE(shows(seen, "Begun by ops at "));
  EXPECT_TRUE(shows(seen, "data-post=\"api/v1/jobs/17/pause\""));
  EXPECT_TRUE(shows(seen, "data-post=\"api/v1/jobs/17/cancel\""));
  EXPECT_FALSE(shows(page(Role::kRead, "/job?id=17"), "data-post"));
  EXPECT_TRUE(shows(page(Role::kRead, "/dead-letters"), "href=\"job?id=17\""));
  jobs_.pause(17);
  EXPECT_TRUE(shows(page(Role::kOperator, "/job?id=17"), "data-post=\"api/v1/jobs/17/resume\""));
  jobs_.cancel(17, "by ops");
  EXPECT_TRUE(test::comes_true([&] { return is_over(jobs_.show(17)->state); }));
  EXPECT_FALSE(shows(page(Role::kAdmin, "/job?id=17"), "data-post"));
}

TEST_F(LetterPagesTest, NothingFromOutsideBecomesMarkup) {
  finish("<script>alert(1)</script>", Finish::To::kDead, "<i>\"'&");
  for (const char* path :
       {"/dead-letters", "/letters?consumer=payments", "/letters?where=key%3D%3Cscript%3Ealert",
        "/letters?reason=%22%3Ci%3E"}) {
    const std::string seen = page(Role::kAdmin, path);
    EXPECT_FALSE(shows(seen, "<script>alert")) << seen;
    EXPECT_FALSE(shows(seen, "<i>")) << seen;
  }
  EXPECT_TRUE(shows(page(Role::kRead, "/letters?consumer=payments"), "&lt;script&gt;alert(1)"));
}

TEST_F(LetterPagesTest, ErrorsAreReadByPeople) {
  const auto wrong = get_as(Role::kRead, "/letters?where=nokey%3D1");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(wrong.header("Content-Security-Policy"),
            get_as(Role::kRead, "/dead-letters").header("Content-Security-Policy"));
  const auto unknown = get_as(Role::kRead, "/letters?resaon=x");
  EXPECT_EQ(unknown.header("Content-Security-Policy"), wrong.header("Content-Security-Policy"));
  EXPECT_NE(wrong.header("Content-Security-Policy"), "");
  EXPECT_TRUE(shows(wrong.body, "where, column 1: unknown field &quot;nokey&quot;")) << wrong.body;
  EXPECT_EQ(get_as(Role::kRead, "/job?id=5").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/job").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/letters?after=x").status, 400);
  running_ = false;
  const auto away = get_as(Role::kRead, "/dead-letters");
  EXPECT_EQ(away.status, 503);
  EXPECT_TRUE(shows(away.body, "the run has no store now"));
}

// On one connection, so that the requests come faster than the rate limit refills.
TEST_F(LetterPagesTest, PagesCountAsRequestsOfTheirCaller) {
  std::string sent;
  const int count = static_cast<int>(3 * Api::kBurst);
  for (int i = 1; i <= count; ++i) {
    sent += "GET /job?job=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
            secret_of(Role::kRead) + (i == count ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n");
  }
  const std::string answers = test::http_raw(server_->port(), sent);
  const auto refused = answers.rfind("HTTP/1.1 429 ");
  ASSERT_NE(refused, std::string::npos) << answers.substr(0, 4'000);
  EXPECT_TRUE(shows(answers.substr(0, refused), "HTTP/1.1 400 "));
  const auto answer = test::http_answer(answers.substr(refused));
  EXPECT_EQ(answer.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(answer.header("Retry-After"), "1");
  EXPECT_NE(answer.header("Content-Security-Policy"), "");
  EXPECT_TRUE(shows(answer.body, "too many requests of one caller")) << answer.body;
  EXPECT_EQ(get_as(Role::kOperator, "/letters").status, 200) << "another caller";
}

TEST_F(LetterPagesTest, ATokenIsNeededAndAnotherSiteAsksNothing) {
  for (const char* path : {"/dead-letters", "/letters", "/job?id=1"}) {
    EXPECT_EQ(get(path).status, 401) << path;
    EXPECT_EQ(get(path).header("WWW-Authenticate"), "Basic realm=\"Semel\"") << path;
  }
  const std::string token = "Authorization: Bearer " + secret_of(Role::kRead);
  EXPECT_EQ(get("/dead-letters", {token, "Sec-Fetch-Site: cross-site"}).status, 403);
  EXPECT_EQ(get("/dead-letters", {token, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"})
                .status,
            200);
  EXPECT_EQ(get("/dead-letters", {token, "Content-Length: 0"}, "POST").status, 405);
  EXPECT_EQ(get("/act.js").status, 200);
}

}  // namespace
}  // namespace semel::admin
