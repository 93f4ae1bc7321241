// A run with dead letters that is asked by its API, with a token of each role.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/cli/admin_run.h"

namespace semel::test {

inline constexpr int kRemoteLetters = 5;

class RemoteTestBed : public ::testing::Test {
 protected:
  // Five dead letters p-0 to p-4, of a consumer that is paused: what is replayed waits. And p-done,
  // which is completed.
  RemoteTestBed() : bed_(payments(kQueue)) {
    std::string lines;
    for (int i = 0; i < kRemoteLetters; ++i) lines += fmt::format("{{\"id\":\"p-{}\"}}\n", i);
    EXPECT_EQ(
        bed_.semel({"send", "payments", "-"}, {.input = lines + payment("p-done", 1, 5)}).code, 0);
    EXPECT_EQ(bed_.semel({"run", "--once", "-q"}).code, 0);
    EXPECT_EQ(letters("1"), kRemoteLetters);
    EXPECT_EQ(bed_.semel({"consumers", "pause", "payments", "--reason", "a test"}).code, 0);
    std::string tokens;
    for (const std::string role : {"read", "operator", "admin"}) {
      write_file(token_file(role), "a token with the role " + role + "\n");
      tokens +=
          fmt::format("{{ name: {0}, role: {0}, secret: 'a token with the role {0}' }}, ", role);
    }
    run_ = std::make_unique<AdminRun>(
        bed_, fmt::format("admin: {{ listen: 127.0.0.1:0, auth: {{ tokens: [{}] }} }}\n", tokens));
    EXPECT_TRUE(comes_true([&] { return run_->get("/startupz").status == 200; }));
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", run_->port()); }
  std::string token_file(const std::string& role) const { return bed_.file(role + ".token"); }
  Words asking(Words words, const std::string& role = "admin") const {
    words.insert(words.end(), {"--url", url(), "--token-file", token_file(role)});
    return words;
  }
  Ran ask(Words words, const std::string& role = "admin") const {
    return test::run(asking(std::move(words), role));
  }
  std::int64_t letters(std::string_view condition) const {
    return bed_.number(fmt::format("SELECT count(*) FROM semel_dead_letter WHERE {}", condition));
  }
  // As `dlq list` has them.
  std::string id_of(int letter) const {
    return json_at(bed_.semel({"dlq", "list", "-o", "json"}).out,
                   fmt::format("/dead_letters/{}/id", letter));
  }

  const TestBed bed_;
  std::unique_ptr<AdminRun> run_;
};

}  // namespace semel::test
