// RunClient: sends requests to the HTTP API of a run (docs/api.md). One request at a time, on one
// connection that stays open.
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
  std::string token;    // empty: no token is sent
  std::string ca_file;  // for https; empty: the system's certificates
};

// Not thread-safe.
class RunClient {
 public:
  // The time limit of an answer: longer than the API lets a request take.
  static constexpr std::chrono::seconds kPatience{40};

  // R361: the options cannot be used.
  static Result<std::unique_ptr<RunClient>> create(RunClientOptions options);
  virtual ~RunClient() = default;

  // `path`: relative to /api/v1/, escaped, with its query. Returns the document, or the API's
  // error. R360: no answer; R362: another program answers. If the caller exceeds the rate limit, it
  // waits and asks again.
  virtual Result<std::string> get(std::string_view path) = 0;
  // `body`: JSON. kInDoubt if the request was sent and no answer came.
  virtual Result<std::string> post(std::string_view path, const std::string& body) = 0;
};

}  // namespace semel::api_client
