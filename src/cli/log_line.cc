#include "cli/log_line.h"

#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/printable.h"
#include "core/trace_context.h"
#include "operate/views.h"

namespace semel::cli {

namespace {

constexpr std::string_view kProgram = "semel: ";

const char* level_word(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

// A duplicate is normal; a message that waits or was given up is not.
LogLevel level_of(Outcome::Kind outcome) noexcept {
  switch (outcome) {
    case Outcome::Kind::kRetry:
    case Outcome::Kind::kConflict:
      return LogLevel::kWarning;
    case Outcome::Kind::kDead:
    case Outcome::Kind::kParked:
      return LogLevel::kError;
    default:
      return LogLevel::kDebug;
  }
}

// Takes "warning[D131]: " or "error[D131] " from the beginning of the text, and returns the code.
std::string take_code(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word) || text.size() == word.size() || text[word.size()] != '[') return {};
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return {};
  std::string code(text.substr(word.size() + 1, end - word.size() - 1));
  text.remove_prefix(end + 1);
  const std::size_t begin = text.find_first_not_of(": ");
  text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
  return code;
}

void add_where(json::Writer& writer, const LogLine& line) {
  if (!line.path.empty()) writer.member("path", line.path);
  if (!line.file.empty()) writer.member("file", line.file);
  if (line.line > 0) writer.member("line", line.line);
}

}  // namespace

std::string log_text(const LogLine& line, ExactUtcTime time) {
  json::Writer writer;
  writer.begin_object().member("time", iso_time(time)).member("level", level_word(line.level));
  writer.member("message", line.message);
  const std::pair<const char*, const std::string&> texts[] = {
      {"code", line.code},           {"fix", line.fix},       {"consumer", line.consumer},
      {"component", line.component}, {"key_id", line.key_id}, {"trace_id", line.trace_id},
      {"outcome", line.outcome},     {"reason", line.reason}, {"partition", line.partition},
      {"position", line.position},
  };
  for (const auto& [name, text] : texts) {
    if (!text.empty()) writer.member(name, text);
  }
  if (line.attempt > 0) writer.member("attempt", line.attempt);
  if (line.took) {
    writer.member("took_us",
                  std::chrono::duration_cast<std::chrono::microseconds>(*line.took).count());
  }
  add_where(writer, line);
  return printable_json(writer.end_object().text());
}

LogLine log_line(LogLevel level, std::string_view text) {
  LogLine line;
  line.level = level;
  if (text.starts_with(kProgram)) text.remove_prefix(kProgram.size());
  if (std::string code = take_code(text, "warning"); !code.empty()) {
    line.level = LogLevel::kWarning;
    line.code = std::move(code);
  } else if (code = take_code(text, "error"); !code.empty()) {
    line.level = LogLevel::kError;
    line.code = std::move(code);
  }
  const std::size_t end = text.find_last_not_of('\n');
  line.message = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return line;
}

LogLine log_line(const Error& error) {
  LogLine line;
  line.level = LogLevel::kError;
  line.message = error.message;
  line.code = error.code;
  line.fix = error.hint;
  return line;
}

LogLine log_line(const config::Diagnostic& diagnostic) {
  LogLine line;
  const bool wrong = diagnostic.severity == config::Diagnostic::Severity::kError;
  line.level = wrong ? LogLevel::kError : LogLevel::kWarning;
  line.message = diagnostic.message;
  for (const std::string& detail : diagnostic.detail) line.message += "\n" + detail;
  line.code = diagnostic.code;
  line.fix = diagnostic.help;
  line.path = diagnostic.path;
  line.file = diagnostic.file;
  line.line = diagnostic.where.line;
  return line;
}

void add_message(LogLine& line, const Message& message) {
  line.key_id = operate::hex_of(message.key().id.view());
  if (message.span() != nullptr) {
    line.trace_id = digest::hex(digest::view(message.span()->context.trace_id));
  } else if (const auto trace = core::trace_context_of(message.headers())) {
    line.trace_id = trace->trace_id_text();
  }
}

LogLine log_line(const tap::EndingView& ending, const Delivery* delivery) {
  LogLine line;
  line.level = level_of(ending.outcome);
  line.outcome = to_string(ending.outcome);
  line.message = line.outcome;
  line.reason = ending.reason;
  for (const std::string_view part : {ending.reason, ending.error}) {
    if (!part.empty()) line.message.append(": ").append(part);
  }
  line.consumer = ending.consumer;
  line.attempt = ending.attempt;
  line.partition = ending.partition;
  line.position = ending.position;
  line.took = ending.took;
  if (delivery != nullptr) add_message(line, delivery->message);
  return line;
}

}  // namespace semel::cli
