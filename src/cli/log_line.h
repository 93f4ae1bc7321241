// LogLine: a line of the program's log, as a JSON object for log collectors. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <semel/error.h>
#include <semel/spi/delivery.h>

#include "base/iso_time.h"
#include "config/config.h"
#include "tap/delivery_event.h"

namespace semel::cli {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Empty members are left out. Contains neither payloads nor keys in clear text: a key may be a
// person's name.
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

// One line, without its line end. Each byte that is not UTF-8 becomes U+FFFD.
std::string log_text(const LogLine& line, ExactUtcTime time);

// Converts a line written for people: removes the program's name at the start, and turns
// "warning[D131] …" into level and code.
LogLine log_line(LogLevel level, std::string_view text);
LogLine log_line(const Error& error);
LogLine log_line(const config::Diagnostic& diagnostic);
// Adds the key's id and the trace of a message.
void add_message(LogLine& line, const Message& message);
// How a delivery ended; without a delivery, the message was refused.
LogLine log_line(const tap::EndingView& ending, const Delivery* delivery);

}  // namespace semel::cli
