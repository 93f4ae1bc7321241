// Commands that ask a run by its API (--url) in place of opening its store. They show the same, and
// end with the same exit codes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/result.h>

#include "cli/console.h"
#include "cli/json_view.h"
#include "cli/session.h"
#include "clients/api/run_client.h"

namespace semel::cli {

// A run that is asked. Paths are those below /api/v1/, escaped.
class Remote {
 public:
  // Reads --url, --token-file and --ca-file; with a note where a token goes in clear text.
  static OrEnded<Remote> open(Console& console);

  Result<JsonView> get(std::string_view path);
  // `body`: an object.
  Result<JsonView> post(std::string_view path, const json::Writer& body);

  // Names of the run's consumers: the one that was named, which must be one of them, or all.
  OrEnded<std::vector<std::string>> consumers(Console& console, const std::string& named);

 private:
  Remote(std::unique_ptr<api_client::RunClient> client, std::string url)
      : client_(std::move(client)), url_(std::move(url)) {}

  std::unique_ptr<api_client::RunClient> client_;
  std::string url_;
};

// A part of a path.
using api_client::path_part;

// Parameters of a query, escaped; those with an empty value are left out.
class QueryText {
 public:
  explicit QueryText(std::string_view path) : text_(path) {}
  QueryText& add(std::string_view name, std::string_view value);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  bool any_ = false;
};

// Whether the API says that the thing is not there.
bool is_missing(const Error& error) noexcept;

// The document with its times as --time has them.
std::string in_style(const std::string& document, const Console& console);
// The whole document on a line of its own, in that form.
void out_document(Console& console, const JsonView& document);

int remote_status(Console& console);

}  // namespace semel::cli
