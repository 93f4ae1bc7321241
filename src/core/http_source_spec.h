// HttpSourceSpec: the config of an HTTP source, and the rules that its parts must keep. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/listen_address.h"

namespace semel::core {

// How senders sign their requests.
struct HttpSignature {
  enum class Scheme { kStandardWebhooks, kStripe, kGithub };
  Scheme scheme = Scheme::kStandardWebhooks;
  std::vector<std::string> secrets;  // any of them may have signed
  // The signed time may differ this much from now; GitHub signs no time.
  std::chrono::seconds tolerance = kUsualTolerance;

  static constexpr std::chrono::minutes kUsualTolerance{5};
};

struct HttpSourceTls {
  std::string certificate;  // files in PEM format
  std::string key;
};

struct HttpSourceSpec {
  // Completed: answers once the record is completed. Accepted: answers once the store keeps the
  // message.
  enum class Mode { kCompleted, kAccepted };

  ListenAddress listen;
  std::string path = "/";
  std::string path_prefix;  // of a proxy that may pass it on before the path; empty: none
  Mode mode = Mode::kCompleted;
  std::optional<HttpSignature> signature;
  std::optional<HttpSourceTls> tls;                                      // nullopt: plain HTTP
  std::chrono::milliseconds timeout = std::chrono::seconds(30);          // of an answer
  std::chrono::milliseconds receive_timeout = std::chrono::seconds(15);  // of a whole request
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(75);
  std::size_t max_connections = 8192;
  std::size_t max_requests = 4096;
  std::size_t max_batch = 1000;  // events of one batch; all of them are in hand together
  std::size_t max_bytes = std::size_t{256} << 20;
  std::size_t max_body = 0;  // the largest payload that the consumer takes
  // The headers that make the key: two different values of one in a request make no key.
  std::vector<std::string> key_headers;
  // A batch of CloudEvents is as many messages. False: the key is a header's, and it is one.
  bool splits_batches = true;
};

// Why this is no valid path, in words that follow it.
std::optional<std::string> http_path_flaw(std::string_view path);
// The same for what stands before a path: "/hooks", without a slash at its end.
std::optional<std::string> http_prefix_flaw(std::string_view prefix);

}  // namespace semel::core
