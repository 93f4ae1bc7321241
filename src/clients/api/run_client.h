// RunClient: asks the HTTP API of a run, which docs/api.md describes. One request at a time, on one
// connection that is kept.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <semel/result.h>

#include "clients/api/run_url.h"

namespace semel::api_client {

struct RunClientOptions {
  RunUrl url;
  std::string token;    // empty: none is sent
  std::string ca_file;  // of https; empty: those that the system trusts
};

// One thread at a time.
class RunClient {
 public:
  // How long an answer is waited for: longer than the API lets one take.
  static constexpr std::chrono::seconds kPatience{40};

  // R361: the options cannot be used.
  static Result<std::unique_ptr<RunClient>> create(RunClientOptions options);
  virtual ~RunClient() = default;

  // `path`: below /api/v1/, escaped, with its query. The document that was answered, or the error
  // that the API says. R360: nobody answers; R362: another program does. A caller that asks too
  // often waits, and asks again.
  virtual Result<std::string> get(std::string_view path) = 0;
  // `body`: JSON. kInDoubt where it was sent, and no answer came.
  virtual Result<std::string> post(std::string_view path, const std::string& body) = 0;
};

}  // namespace semel::api_client
