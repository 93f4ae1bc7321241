#include "admin/problem.h"

#include <string_view>
#include <utility>

#include "base/json.h"

namespace semel::admin {

namespace {

std::string_view title_of(int status) noexcept {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Internal Server Error";
  }
}

void add_diagnostic(json::Writer& writer, const config::Diagnostic& one) {
  const bool error = one.severity == config::Diagnostic::Severity::kError;
  writer.begin_object().member("code", one.code).member("severity", error ? "error" : "warning");
  writer.member("message", one.message).member("path", one.path).member("file", one.file);
  writer.member("line", one.where.line).member("column", one.where.column);
  if (!one.help.empty()) writer.member("help", one.help);
  writer.end_object();
}

}  // namespace

int status_of(const Error& error) noexcept {
  switch (error.kind) {
    case ErrorKind::kUnavailable:
    case ErrorKind::kInDoubt:
    case ErrorKind::kRetryTransaction:
      return 503;
    case ErrorKind::kBlocked:
    case ErrorKind::kRejected:
      return 409;
    case ErrorKind::kLimit:
      return 413;
  }
  return 500;
}

HttpResponse problem(int status, const Error& error) { return problem(status, error, {}); }

HttpResponse problem(int status, const Error& error,
                     std::span<const config::Diagnostic> diagnostics) {
  json::Writer writer;
  writer.begin_object().member("type", "about:blank").member("title", title_of(status));
  writer.member("status", status).member("detail", error.message);
  if (!error.code.empty()) {
    writer.member("code", error.code).member("docs", "semel explain " + error.code);
  }
  if (!error.hint.empty()) writer.member("fix", error.hint);
  if (!diagnostics.empty()) {
    writer.name("errors").begin_array();
    for (const config::Diagnostic& one : diagnostics) add_diagnostic(writer, one);
    writer.end_array();
  }
  writer.end_object();
  HttpResponse made{status, "application/problem+json", writer.text() + "\n", {}};
  if (status == 503 || status == 429) made.headers.emplace_back("Retry-After", "1");
  return made;
}

HttpResponse bad_request(std::string message, std::string fix) {
  return problem(400, {ErrorKind::kRejected, "R344", std::move(message), std::move(fix)});
}

HttpResponse not_found(std::string message, std::string fix) {
  return problem(404, {ErrorKind::kRejected, "R343", std::move(message), std::move(fix)});
}

}  // namespace semel::admin
