// A run that takes up another config while it works: payments as always, and a slow consumer.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/cli/admin_run.h"
#include "tests/support/http_get.h"

namespace semel::test {

inline constexpr std::string_view kChiefToken = "a token of some length";
inline constexpr std::string_view kReloadable =
    "admin: { listen: 127.0.0.1:0, auth: { tokens: [{ name: chief, role: admin, secret: "
    "\"${file:token}\" }] } }\n";

inline std::string numbered(int number) { return fmt::format("p-{}", number); }

inline std::string payments_of(int from, int to) {
  std::string lines;
  for (int i = from; i < to; ++i) lines += payment(numbered(i), 1 + i % 100, 1);
  return lines;
}

// Each effect takes milliseconds from now on, so that a run with some hundred of them is met while
// it works.
inline void make_effects_slow(const TestBed& bed, std::string_view effect) {
  bed.sql(
      fmt::format("CREATE TABLE work(n INTEGER); INSERT INTO work VALUES (0);"
                  "CREATE TRIGGER takes_time AFTER {} BEGIN UPDATE work SET n = (SELECT count(*) "
                  "FROM account AS a, account AS b, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT "
                  "3) AS c WHERE a.balance + b.balance + n >= 0); END",
                  effect));
}

// Payments as always; and `slow`, whose command waits for the file `go`, and writes its key then.
class ReloadTestBed : public ::testing::Test {
 protected:
  ReloadTestBed()
      : bed_(payments(kQueue) +
             "    timeout: 20s\n"
             "  - name: slow\n"
             "    source: { queue: {} }\n"
             "    key: json:/id\n"
             "    handler:\n"
             "      exec:\n"
             "        timeout: 50s\n"
             "        command:\n"
             "          - /bin/sh\n"
             "          - -c\n"
             "          - 'until [ -e GO ]; do sleep 0.02; done; echo \"$SEMEL_KEY\" >> DONE'\n") {
    rewrite("GO", bed_.file("go"));
    rewrite("DONE", bed_.file("done"));
    write_file(bed_.file("token"), std::string(kChiefToken) + "\n");
    EXPECT_EQ(bed_.semel({"store", "init"}).code, 0);
  }

  void rewrite(std::string_view from, std::string_view to) const {
    std::string text = contents_of(bed_.config());
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_file(bed_.config(), text.replace(at, from.size(), to));
  }
  void send(std::string_view consumer, const std::string& lines) const {
    const Ran sent = bed_.semel({"send", std::string(consumer), "-"}, {.input = lines});
    EXPECT_EQ(sent.code, 0) << sent.err;
  }
  std::int64_t balance() const { return bed_.number("SELECT sum(balance) FROM account"); }
  bool comes_to(std::int64_t sum) const {
    return comes_true([&] { return balance() == sum; });
  }

  static HttpAnswer get(const AdminRun& run, const std::string& path,
                        std::string_view secret = kChiefToken) {
    return run.get(path, {fmt::format("Authorization: Bearer {}", secret)});
  }
  static std::string state(const AdminRun& run, const std::string& consumer) {
    return json_at(get(run, "/api/v1/consumers/" + consumer).body, "/consumer/state");
  }
  static std::string metric(const AdminRun& run, const std::string& series) {
    const std::string text = "\n" + get(run, "/metrics").body;
    const auto at = text.find("\n" + series + " ");
    if (at == std::string::npos) return "(none)";
    const auto from = at + series.size() + 2;
    return text.substr(from, text.find('\n', from) - from);
  }
  static bool comes_to_state(const AdminRun& run, const std::string& consumer,
                             std::string_view wanted) {
    return comes_true([&] { return state(run, consumer) == wanted; });
  }
  static bool in_effect(const AdminRun& run, int taken) {
    return comes_true([&] {
      const std::string body = get(run, "/api/v1/reload").body;
      return json_at(body, "/in_effect") == "true" &&
             json_at(body, "/taken") == std::to_string(taken);
    });
  }
  // `slow` has its first message in hand.
  void hold(const AdminRun& run) const {
    send("slow", "{\"id\":\"first\"}\n");
    ASSERT_TRUE(
        comes_true([&] { return metric(run, "semel_in_flight{consumer=\"slow\"}") == "1"; }));
  }

  const TestBed bed_;
};

}  // namespace semel::test
