#include "admin/admin_server.h"

#include <sys/types.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "admin/admin_routes.h"
#include "admin/problem.h"
#include "config/adapters.h"
#include "core/not_built.h"
#include "http_server/http_server.h"

namespace semel::admin {

namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kGroupToo = 0660;

class MonitoringServer final : public AdminServer {
 public:
  MonitoringServer(std::vector<AdminOptions::Token> tokens,
                   std::optional<AdminOptions::Socket> socket, AdminSources sources)
      : socket_(std::move(socket)),
        routes_(AdminRoutes::create(std::move(tokens), std::move(sources))) {}

  // Without `tcp`, only the socket is opened.
  Result<void> start(std::optional<http::HttpServerOptions> tcp) {
    // A build may contain the HTTP server for its sources only, without the admin listener.
    const auto missing = config::missing_adapters();
    if (std::ranges::find(missing, "ADMIN") != missing.end()) {
      return failure(core::not_built("the HTTP listener", "ADMIN"));
    }
    if (tcp) {
      if (auto opened = open(*std::move(tcp), nullptr, server_); !opened) return opened;
    }
    if (!socket_) return {};
    http::HttpServerOptions options;
    options.socket = http::SocketPath{socket_->path, socket_->group ? kGroupToo : kOwnerOnly};
    return open(std::move(options), &*socket_, socket_server_);
  }
  std::uint16_t port() const noexcept override {
    return server_ == nullptr ? std::uint16_t{0} : server_->port();
  }
  void set_tokens(std::vector<AdminOptions::Token> tokens) override {
    routes_->set_tokens(std::move(tokens));
  }

 private:
  Result<void> open(http::HttpServerOptions options, const AdminOptions::Socket* socket,
                    std::unique_ptr<http::HttpServer>& into) {
    options.refuse = [](const http::FramingFault& fault) {
      return bad_request(fault.why, fault.fix, fault.status);
    };
    auto server = http::HttpServer::open(
        std::move(options),
        [this, socket](const HttpRequest& request) { return routes_->answer(request, socket); });
    if (!server) return failure(std::move(server.error()));
    into = std::move(*server);
    return {};
  }

  const std::optional<AdminOptions::Socket> socket_;
  const std::unique_ptr<AdminRoutes> routes_;
  std::unique_ptr<http::HttpServer> server_;         // on TCP
  std::unique_ptr<http::HttpServer> socket_server_;  // on a Unix socket
};

}  // namespace

Result<std::unique_ptr<AdminServer>> AdminServer::open(AdminOptions options, AdminSources sources) {
  auto server = std::make_unique<MonitoringServer>(std::move(options.tokens),
                                                   std::move(options.socket), std::move(sources));
  std::optional<http::HttpServerOptions> tcp;
  if (options.listen) {
    tcp.emplace();
    tcp->listen = *std::move(options.listen);
    tcp->tls = std::move(options.tls);
    tcp->on_certificate = std::move(options.on_certificate);
  }
  if (auto started = server->start(std::move(tcp)); !started) {
    return failure(std::move(started.error()));
  }
  return server;
}

}  // namespace semel::admin
