// AdminServer: metrics, health and the API of a run over HTTP. docs/monitoring.md describes the
// paths.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/metrics.h>
#include <semel/result.h>

#include "admin/api.h"
#include "admin/http_message.h"
#include "base/listen_address.h"
#include "core/role.h"

namespace semel::admin {

struct AdminOptions {
  std::optional<ListenAddress> listen{};  // none: the socket alone
  // The rights of the file say which users may connect. A caller without a token has `role`, and
  // may claim from `claims`. Where no role is given it needs a token for all else as every other,
  // or, where there are no tokens, may only read.
  struct Socket {
    std::string path;
    bool group = false;  // users of its group may connect too
    std::optional<core::Role> role{};
    std::vector<std::string> claims{};
    bool trusts() const noexcept { return role || !claims.empty(); }
  };
  std::optional<Socket> socket{};
  // Where there is one, /metrics, the API and the details of the health endpoints need it. Where
  // there is none, requests must name this machine as their host, and may only read.
  struct Token {
    std::string name;
    std::string secret;
    core::Role role = core::Role::kRead;
    std::vector<std::string> claims{};  // consumers whose keys its holder may claim
  };
  std::vector<Token> tokens;
  std::optional<HttpTls> tls{};  // nullopt: plain HTTP
  // As HttpServerOptions has it.
  std::function<void(const Error*)> on_certificate{};
};

// `metrics`, and `readiness` and `overview` of `api`, are called on the server's thread too: they
// may wait for the store or a broker only for a moment.
struct AdminSources {
  std::function<std::string(MetricsFormat)> metrics;
  ApiSources api;
};

class AdminServer {
 public:
  // Listens immediately. Errors: R340, R363.
  static Result<std::unique_ptr<AdminServer>> open(AdminOptions options, AdminSources sources);
  // Calls nothing any more when it has returned.
  virtual ~AdminServer() = default;

  // 0: it listens on a Unix socket alone.
  virtual std::uint16_t port() const noexcept = 0;
  // Sets the tokens for all later requests. Thread-safe.
  virtual void set_tokens(std::vector<AdminOptions::Token> tokens) = 0;
};

}  // namespace semel::admin
