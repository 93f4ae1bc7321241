// LogLine: a line of the program's log, as a JSON object for those who collect logs. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <semel/error.h>
#include <semel/spi/delivery.h>

#include "base/iso_time.h"
#include "config/config.h"
#include "tap/ending.h"

namespace semel::cli {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Empty members are left out. Never a payload, nor a key as it was written: a key may be somebody's
// name.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string message{};
  std::string code{};  // "R207"
  std::string fix{};
  std::string consumer{};
  std::string component{};  // what failed: "store", a source
  std::string key_id{};     // as `semel records show` prints it
  std::string trace_id{};   // the message's, where it is traced or has a traceparent
  std::string outcome{};
  std::string reason{};
  int attempt = 0;
  std::string partition{};
  std::string position{};
  std::optional<std::chrono::nanoseconds> took{};
  std::string path{};  // in the config
  std::string file{};
  int line = 0;
};

// One line, without its end. Bytes that are not UTF-8 become U+FFFD, one each.
std::string log_text(const LogLine& line, ExactUtcTime time);

// A line that was written for people: without the name of the program before it, and what
// "warning[D131] …" says as level and code.
LogLine log_line(LogLevel level, std::string_view text);
LogLine log_line(const Error& error);
LogLine log_line(const config::Diagnostic& diagnostic);
// The key's id and the trace of a message.
void add_message(LogLine& line, const Message& message);
// How a delivery ended; without a delivery it was refused.
LogLine log_line(const tap::EndingView& ending, const Delivery* delivery);

}  // namespace semel::cli
