// A run of the real program that takes requests, and what the tests send to it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <future>
#include <string>
#include <string_view>

#include "tests/cli/program.h"
#include "tests/support/http_get.h"

namespace semel::test {

// A run that takes requests, and the port that it told.
class HttpRun {
 public:
  explicit HttpRun(const TestBed& bed, const StartOptions& options = {}, const Words& more = {})
      : program_(words(bed, more), options) {
    EXPECT_TRUE(tells(program_, kTold)) << program_.err();
    const std::string said = program_.err();
    const auto at = said.find(kTold);
    if (at != std::string::npos) {
      port_ = static_cast<std::uint16_t>(std::atoi(said.c_str() + at + kTold.size()));
    }
  }

  static std::string request(std::string_view body, std::string_view lines) {
    return fmt::format(
        "POST /pay HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}"
        "Content-Length: {}\r\n\r\n{}",
        lines, body.size(), body);
  }
  HttpAnswer post(std::string_view body, std::string_view lines = {}) const {
    return http_answer(http_raw(port_, request(body, lines)));
  }
  std::future<HttpAnswer> post_aside(std::string body, std::string lines = {}) const {
    return std::async(std::launch::async, [port = port_, bytes = request(body, lines)] {
      return http_answer(http_raw(port, bytes));
    });
  }
  Program& program() { return program_; }
  std::uint16_t port() const noexcept { return port_; }

 private:
  static Words words(const TestBed& bed, const Words& more) {
    Words all = {"run", bed.config(), "--set", "consumers[0].source.http.listen=127.0.0.1:0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static constexpr std::string_view kTold = "takes requests to /pay on port ";
  Program program_;
  std::uint16_t port_ = 0;
};

inline std::string takes(std::string_view more = "") {
  return fmt::format("{{ http: {{ listen: \"127.0.0.1:0\", path: /pay{} }} }}", more);
}

inline std::int64_t sum_of(const TestBed& bed) {
  return bed.number("SELECT sum(balance) FROM account");
}

inline const std::string kPayment = R"({"id":"p-1","account":1,"amount":5})";

}  // namespace semel::test
