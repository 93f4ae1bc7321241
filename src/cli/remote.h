// Commands that ask a run by its API (--url) instead of opening its store. Their output and exit
// codes are the same.
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

// A run that is asked. Paths are relative to /api/v1/, and escaped.
class Remote {
 public:
  // Reads --url, --token-file and --ca-file; prints a note if a token is sent in clear text.
  static OrEnded<Remote> open(Console& console);

  Result<JsonView> get(std::string_view path);
  // `body`: a JSON object.
  Result<JsonView> post(std::string_view path, const json::Writer& body);

  // Returns the named consumer, which must be one of the run's, or all of them.
  OrEnded<std::vector<std::string>> consumers(Console& console, const std::string& named);

 private:
  Remote(std::unique_ptr<api_client::RunClient> client, std::string url)
      : client_(std::move(client)), url_(std::move(url)) {}

  std::unique_ptr<api_client::RunClient> client_;
  std::string url_;
};

// A part of a path.
using api_client::path_part;

// Parameters of a query, escaped; parameters with an empty value are left out.
class QueryText {
 public:
  explicit QueryText(std::string_view path) : text_(path) {}
  QueryText& add(std::string_view name, std::string_view value);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  bool any_ = false;
};

// Whether the API answered that the thing does not exist.
bool is_missing(const Error& error) noexcept;

// The document with its times in the style of --time.
std::string in_style(const std::string& document, const Console& console);
// Prints the whole document on its own line, with times in that style.
void out_document(Console& console, const JsonView& document);

int remote_status(Console& console);

}  // namespace semel::cli
