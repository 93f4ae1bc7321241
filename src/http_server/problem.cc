#include "http_server/problem.h"

#include "base/json.h"

namespace semel::http {

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
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Internal Server Error";
  }
}

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

HttpResponse problem(int status, const Error& error,
                     const std::function<void(json::Writer&)>& more) {
  json::Writer writer;
  writer.begin_object().member("type", "about:blank").member("title", title_of(status));
  writer.member("status", status).member("detail", error.message);
  if (!error.code.empty()) {
    writer.member("code", error.code).member("docs", "semel explain " + error.code);
  }
  if (!error.hint.empty()) writer.member("fix", error.hint);
  if (more) more(writer);
  writer.end_object();
  HttpResponse made{status, "application/problem+json", writer.text() + "\n", {}};
  if (status == 503 || status == 429) made.headers.emplace_back("Retry-After", "1");
  return made;
}

}  // namespace semel::http
