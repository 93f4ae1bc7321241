// A run with an admin listener, as a user starts it, and requests to it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/http_get.h"

namespace semel::test {

inline constexpr std::string_view kAdmin = "admin: { listen: 127.0.0.1:0 }\n";

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The value of a series of such a text, as it is written; "(none)".
inline std::string series_in(const std::string& metrics, const std::string& series) {
  const std::string text = "\n" + metrics;
  const auto at = text.find("\n" + series + " ");
  if (at == std::string::npos) return "(none)";
  const auto from = at + series.size() + 2;
  return text.substr(from, text.find('\n', from) - from);
}

// A run whose config has an admin listener, and the port that it told.
class AdminRun {
 public:
  explicit AdminRun(const TestBed& bed, std::string_view admin = kAdmin,
                    const StartOptions& options = {})
      : program_(words(bed, admin), options) {
    EXPECT_TRUE(tells(program_, kTold)) << program_.err();
    const std::string said = program_.err();
    const auto at = said.find(kTold);
    if (at != std::string::npos) {
      port_ = static_cast<std::uint16_t>(std::atoi(said.c_str() + at + kTold.size()));
    }
  }

  HttpAnswer get(std::string_view path, const std::vector<std::string>& headers = {}) const {
    return http_get(port_, path, headers);
  }
  // With a token.
  HttpAnswer post(std::string_view path, std::string_view body, std::string_view secret) const {
    return http_answer(
        http_raw(port_, fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                    "Authorization: Bearer {}\r\nContent-Type: application/json\r\n"
                                    "Content-Length: {}\r\n\r\n{}",
                                    path, secret, body.size(), body)));
  }
  std::string metric(const std::string& series) const {
    return series_in(get("/metrics").body, series);
  }
  bool is_ready(int status) const {
    return comes_true([&] { return get("/readyz").status == status; });
  }
  Program& program() { return program_; }
  std::uint16_t port() const noexcept { return port_; }

 private:
  static constexpr std::string_view kTold = "metrics and health on port ";
  static Words words(const TestBed& bed, std::string_view admin) {
    write_file(bed.config(), std::string(admin) + contents_of(bed.config()));
    return {"run", bed.config()};
  }

  Program program_;
  std::uint16_t port_ = 0;
};

}  // namespace semel::test
