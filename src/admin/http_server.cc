#include "admin/http_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "system/descriptor.h"

namespace semel::admin {

namespace {

constexpr int kListenQueue = 128;

tl::unexpected<Error> cannot_listen(const ListenAddress& address, const std::string& why,
                                    ErrorKind kind) {
  return failure({kind, "R340",
                  fmt::format("admin.listen: cannot listen on {}: {}", address.text(), why),
                  "give another address or port, or stop the program that has it"});
}

struct FreeAddresses {
  void operator()(addrinfo* found) const noexcept { ::freeaddrinfo(found); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<system::Descriptor> listen_on(const ListenAddress& address) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const char* const host = address.host.empty() ? nullptr : address.host.c_str();
  if (const int error = ::getaddrinfo(host, port.c_str(), &wanted, &found); error != 0) {
    return cannot_listen(address, ::gai_strerror(error), ErrorKind::kRejected);
  }
  const Addresses addresses(found);
  int error = 0;
  // Every interface: the IPv6 socket takes IPv4 too, where the machine has IPv6. A name of both is
  // taken as IPv4.
  const bool every = address.host.empty();
  for (const int family : {every ? AF_INET6 : AF_INET, every ? AF_INET : AF_INET6}) {
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      if (one->ai_family != family) continue;
      system::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket.valid()) {
        error = errno;
        continue;
      }
      const int on = 1, off = 0;
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (family == AF_INET6)
        ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      if (::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
          ::listen(socket.get(), kListenQueue) == 0) {
        return socket;
      }
      error = errno;
    }
  }
  const bool passes = error == EADDRINUSE || error == EMFILE || error == ENFILE;
  return cannot_listen(address, std::strerror(error),
                       passes ? ErrorKind::kUnavailable : ErrorKind::kRejected);
}

class MicroHttpServer final : public HttpServer {
 public:
  MicroHttpServer(HttpServerOptions options, HttpHandler handler)
      : options_(std::move(options)), handler_(std::move(handler)) {}
  ~MicroHttpServer() override {
    if (daemon_ != nullptr) ::MHD_stop_daemon(daemon_);
  }

  Result<void> start();
  std::uint16_t port() const noexcept override { return port_; }

 private:
  static MHD_Result serve(void* self, MHD_Connection* connection, const char* url,
                          const char* method, const char* version, const char* upload,
                          std::size_t* upload_size, void** state);
  HttpResponse respond(MHD_Connection* connection, const char* url, const char* method);
  static MHD_Result send(MHD_Connection* connection, const HttpResponse& response);

  const HttpServerOptions options_;
  const HttpHandler handler_;
  MHD_Daemon* daemon_ = nullptr;
  std::uint16_t port_ = 0;
};

Result<void> MicroHttpServer::start() {
  auto socket = listen_on(options_.listen);
  if (!socket) return failure(std::move(socket.error()));
  daemon_ = ::MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &MicroHttpServer::serve, this,
      MHD_OPTION_LISTEN_SOCKET, socket->get(), MHD_OPTION_CONNECTION_LIMIT,
      static_cast<unsigned>(options_.most_connections), MHD_OPTION_CONNECTION_TIMEOUT,
      static_cast<unsigned>(options_.idle.count()), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      options_.most_request_bytes, MHD_OPTION_END);
  if (daemon_ == nullptr) {
    return cannot_listen(options_.listen, "the HTTP server did not start", ErrorKind::kUnavailable);
  }
  // The daemon closes it.
  (void)socket->release();
  const auto* const info = ::MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT);
  port_ = info != nullptr ? info->port : options_.listen.port;
  return {};
}

MHD_Result MicroHttpServer::serve(void* self, MHD_Connection* connection, const char* url,
                                  const char* method, const char*, const char*,
                                  std::size_t* upload_size, void** state) {
  static const char begun = 0;
  // The first call of a request: an answer now would come before its body was read.
  if (*state == nullptr) {
    *state = const_cast<char*>(&begun);
    return MHD_YES;
  }
  // A body is read and thrown away.
  if (*upload_size > 0) {
    *upload_size = 0;
    return MHD_YES;
  }
  auto* const server = static_cast<MicroHttpServer*>(self);
  try {
    return send(connection, server->respond(connection, url, method));
  } catch (...) {
    return send(connection, {500, "text/plain; charset=utf-8", "internal error\n", {}});
  }
}

HttpResponse MicroHttpServer::respond(MHD_Connection* connection, const char* url,
                                      const char* method) {
  HttpRequest request;
  request.method = method;
  request.path = url;
  request.header = [connection](const char* name) -> std::optional<std::string_view> {
    const char* const value = ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
  return handler_(request);
}

MHD_Result MicroHttpServer::send(MHD_Connection* connection, const HttpResponse& response) {
  MHD_Response* const made = ::MHD_create_response_from_buffer(
      response.body.size(), const_cast<char*>(response.body.data()), MHD_RESPMEM_MUST_COPY);
  if (made == nullptr) return MHD_NO;
  bool fits = true;
  const auto add = [&](const char* name, const std::string& value) {
    fits = fits && ::MHD_add_response_header(made, name, value.c_str()) == MHD_YES;
  };
  add(MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type);
  for (const auto& [name, value] : response.headers) add(name.c_str(), value);
  const MHD_Result queued =
      fits ? ::MHD_queue_response(connection, static_cast<unsigned>(response.status), made)
           : MHD_NO;
  ::MHD_destroy_response(made);
  return queued;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpServerOptions options,
                                                     HttpHandler handler) {
  auto server = std::make_unique<MicroHttpServer>(std::move(options), std::move(handler));
  if (auto started = server->start(); !started) return failure(std::move(started.error()));
  return server;
}

}  // namespace semel::admin
