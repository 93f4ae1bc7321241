#include "compose/admin.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "compose/compose.h"
#include "tests/support/http_get.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace semel::compose {
namespace {

using test::http_get;

config::Config config_with(const std::string& file, std::string_view admin) {
  auto loaded =
      config::load_text(fmt::format("version: 1\n"
                                    "store: {{ memory: {{}} }}\n"
                                    "{}\n"
                                    "consumers:\n"
                                    "  - name: payments\n"
                                    "    source: {{ file: {{ path: {}, from: start }} }}\n"
                                    "    key: json:/id\n"
                                    "    handler: {{ native: pay }}\n",
                                    admin, file),
                        "semel.yaml");
  EXPECT_TRUE(loaded.config);
  return loaded.config.value_or(config::Config{});
}

ServiceOptions options_of_test() {
  ServiceOptions options;
  options.natives["pay"] = {PlainHandler([](const Message&, const Attempt&) { return done(); }),
                            ApplyHandler()};
  return options;
}

TEST(Admin, NothingListensWhereTheConfigDoesNotSaySo) {
  const test::TempDir folder;
  const auto config = config_with(folder.file("in"), "");
  const auto admin = Admin::open(config, false);
  ASSERT_TRUE(admin);
  EXPECT_EQ((*admin)->port(), 0);
  ServiceOptions options;
  (*admin)->watch(options);
  EXPECT_EQ(options.observers.size(), 1U) << "health is asked for by semel status too";
  EXPECT_EQ(options.store_metrics, nullptr);
  EXPECT_EQ(options.delivery_metrics, nullptr);
}

// Also meaningful under ThreadSanitizer: a scraper does not know when a run ends.
TEST(Admin, AnswersFromBeforeTheRunUntilAfterIt) {
  const test::TempDir folder;
  test::write_file(folder.file("in"), "{\"id\":1}\n{\"id\":2}\n{\"id\":1}\n");
  const auto config = config_with(folder.file("in"), "admin: { listen: 127.0.0.1:0 }");
  const auto admin = Admin::open(config, false);
  ASSERT_TRUE(admin) << admin.error().message;
  const std::uint16_t port = (*admin)->port();
  EXPECT_EQ(http_get(port, "/startupz").status, 503);
  EXPECT_EQ(http_get(port, "/livez").status, 200);
  EXPECT_EQ(http_get(port, "/metrics").status, 200);
  EXPECT_NE(http_get(port, "/").body.find(">starting<"), std::string::npos);
  EXPECT_EQ(http_get(port, "/api/v1/consumers/payments/backlog").status, 503) << "not known yet";

  ServiceOptions options = options_of_test();
  (*admin)->watch(options);
  auto service = Service::build(config, std::move(options));
  ASSERT_TRUE(service) << service.error().message;
  std::atomic<bool> over{false};
  std::vector<std::thread> scrapers;
  EXPECT_EQ(http_get(port, "/api/v1/dead-letters").status, 503) << "there is no store yet";
  for (const char* path :
       {"/metrics", "/", "/readyz", "/api/v1/consumers/payments/backlog", "/api/v1/dead-letters"}) {
    scrapers.emplace_back([&over, port, path] {
      while (!over) EXPECT_NE(http_get(port, path).status, 0) << path;
    });
  }
  {
    const Admin::Serving serving(**admin, **service);
    std::thread run([&] { EXPECT_EQ((*service)->run(), 0); });
    EXPECT_TRUE(test::comes_true([&] {
      const std::string text = http_get(port, "/metrics").body;
      return text.find("outcome=\"duplicate\"} 1\n") != std::string::npos &&
             text.find("semel_effects_total{consumer=\"payments\"} 2\n") != std::string::npos;
    })) << http_get(port, "/metrics").body;
    EXPECT_EQ(http_get(port, "/readyz").status, 200);
    EXPECT_NE(http_get(port, "/metrics")
                  .body.find("semel_handler_duration_seconds_count{consumer="
                             "\"payments\",handler=\"native\",outcome="
                             "\"done\"} 2\n"),
              std::string::npos);
    // The scrapers use up the rate limit, so this caller is refused now and then.
    const auto record = [&] { return http_get(port, "/api/v1/consumers/payments/records/1"); };
    EXPECT_TRUE(test::comes_true([&] {
      return record().body.find("\"state\":\"completed\"") != std::string::npos;
    })) << record().body;
    (*service)->stop();
    run.join();
  }
  service->reset();
  EXPECT_TRUE(test::comes_true(
      [&] { return http_get(port, "/api/v1/consumers/payments/records/1").status == 503; }));
  EXPECT_EQ(http_get(port, "/readyz").status, 503);
  EXPECT_EQ(http_get(port, "/metrics").status, 200);
  over = true;
  for (std::thread& scraper : scrapers) scraper.join();
}

TEST(Admin, ItsApiRunsTheDoctorAndShowsTheConfig) {
  const test::TempDir folder;
  test::write_file(folder.file("in"), "");
  const std::string secret = "0123456789abcdef";
  const auto config = config_with(
      folder.file("in"),
      "admin: { listen: 127.0.0.1:0, auth: { tokens: [{ name: chief, role: admin, secret: " +
          secret + " }] } }");
  const auto admin = Admin::open(config, false);
  ASSERT_TRUE(admin) << admin.error().message;
  ServiceOptions options = options_of_test();
  (*admin)->watch(options);
  auto service = Service::build(config, std::move(options));
  ASSERT_TRUE(service) << service.error().message;
  const Admin::Serving serving(**admin, **service);
  const auto get = [&](const char* path) {
    return http_get((*admin)->port(), path, {"Authorization: Bearer " + secret});
  };
  const auto doctor = get("/api/v1/doctor");
  EXPECT_EQ(doctor.status, 200);
  EXPECT_TRUE(doctor.body.starts_with("{\"schema\":\"semel.v1.doctor\",\"store\":\"memory"))
      << doctor.body;
  EXPECT_NE(doctor.body.find("\"code\":\"D101\",\"grade\":\"ok\""), std::string::npos)
      << doctor.body;
  const auto reload = http_get(
      (*admin)->port(), "/api/v1/reload",
      {"Authorization: Bearer " + secret, "Content-Length: 0", "Content-Type: application/json"},
      "POST");
  EXPECT_EQ(reload.status, 409) << "nobody here reads a file again";
  EXPECT_NE(reload.body.find("R357"), std::string::npos) << reload.body;
  const auto shown = get("/api/v1/config");
  EXPECT_NE(shown.body.find("admin.auth.tokens[0].role"), std::string::npos) << shown.body;
  EXPECT_EQ(shown.body.find(secret), std::string::npos);
}

}  // namespace
}  // namespace semel::compose
