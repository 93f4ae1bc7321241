#include "admin/problem.h"

#include <utility>

#include "base/json.h"

namespace semel::admin {

namespace {

void add_diagnostic(json::Writer& writer, const config::Diagnostic& one) {
  const bool error = one.severity == config::Diagnostic::Severity::kError;
  writer.begin_object().member("code", one.code).member("severity", error ? "error" : "warning");
  writer.member("message", one.message).member("path", one.path).member("file", one.file);
  writer.member("line", one.where.line).member("column", one.where.column);
  if (!one.help.empty()) writer.member("help", one.help);
  writer.end_object();
}

}  // namespace

HttpResponse problem_of_config(int status, const Error& error,
                               std::span<const config::Diagnostic> diagnostics) {
  if (diagnostics.empty()) return problem(status, error);
  return problem(status, error, [&](json::Writer& writer) {
    writer.name("errors").begin_array();
    for (const config::Diagnostic& one : diagnostics) add_diagnostic(writer, one);
    writer.end_array();
  });
}

HttpResponse bad_request(std::string message, std::string fix, int status) {
  return problem(status, {ErrorKind::kRejected, "R344", std::move(message), std::move(fix)});
}

HttpResponse not_found(std::string message, std::string fix) {
  return problem(404, {ErrorKind::kRejected, "R343", std::move(message), std::move(fix)});
}

}  // namespace semel::admin
