#include "admin/admin_server.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "admin/admin_routes.h"
#include "config/adapters.h"
#include "core/not_built.h"
#include "http_server/http_server.h"

namespace semel::admin {

namespace {

class MonitoringServer final : public AdminServer {
 public:
  MonitoringServer(std::vector<AdminOptions::Token> tokens, AdminSources sources)
      : routes_(AdminRoutes::create(std::move(tokens), std::move(sources))) {}

  Result<void> start(http::HttpServerOptions options) {
    // A build may have the server for its sources alone.
    const auto missing = config::missing_adapters();
    if (std::ranges::find(missing, "ADMIN") != missing.end()) {
      return failure(core::not_built("the HTTP listener", "ADMIN"));
    }
    auto server = http::HttpServer::open(std::move(options), [this](const HttpRequest& request) {
      return routes_->answer(request);
    });
    if (!server) return failure(std::move(server.error()));
    server_ = std::move(*server);
    return {};
  }
  std::uint16_t port() const noexcept override { return server_->port(); }
  void set_tokens(std::vector<AdminOptions::Token> tokens) override {
    routes_->set_tokens(std::move(tokens));
  }

 private:
  const std::unique_ptr<AdminRoutes> routes_;
  std::unique_ptr<http::HttpServer> server_;
};

}  // namespace

Result<std::unique_ptr<AdminServer>> AdminServer::open(AdminOptions options, AdminSources sources) {
  auto server = std::make_unique<MonitoringServer>(std::move(options.tokens), std::move(sources));
  http::HttpServerOptions server_options;
  server_options.listen = std::move(options.listen);
  server_options.tls = std::move(options.tls);
  server_options.on_certificate = std::move(options.on_certificate);
  if (auto started = server->start(std::move(server_options)); !started) {
    return failure(std::move(started.error()));
  }
  return server;
}

}  // namespace semel::admin
