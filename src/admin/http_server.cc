#include "admin/http_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "admin/certificate.h"
#include "admin/task_pool.h"
#include "base/url_text.h"
#include "system/descriptor.h"

namespace semel::admin {

namespace {

constexpr int kListenQueue = 128;
// TLS 1.2 and later.
constexpr const char* kProtocols = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
constexpr const char* kPlainText = "text/plain; charset=utf-8";

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

using Query = std::vector<std::pair<std::string, std::string>>;

MHD_Result add_argument(void* to, MHD_ValueKind, const char* name, const char* value) {
  auto& query = *static_cast<std::optional<Query>*>(to);
  try {
    auto plain_name = url_text::unescaped(name);
    auto plain_value = url_text::unescaped(value == nullptr ? "" : value);
    if (plain_name && plain_value) {
      query->emplace_back(std::move(*plain_name), std::move(*plain_value));
      return MHD_YES;
    }
  } catch (...) {
    // No exception passes through the library.
  }
  query.reset();
  return MHD_NO;
}

std::optional<Query> query_of(MHD_Connection* connection) {
  std::optional<Query> query(std::in_place);
  ::MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, &query);
  return query;
}

HttpResponse too_large() { return {413, kPlainText, "the body is too large\n", {}}; }

class MicroHttpServer final : public HttpServer {
 public:
  MicroHttpServer(HttpServerOptions options, HttpHandler handler)
      : options_(std::move(options)), handler_(std::move(handler)) {}
  ~MicroHttpServer() override {
    // Each connection that is put aside must go on before the daemon can stop; and until it has
    // stopped, more of them may come.
    if (tasks_ != nullptr) tasks_->stop();
    if (daemon_ != nullptr) ::MHD_stop_daemon(daemon_);
  }

  Result<void> start();
  std::uint16_t port() const noexcept override { return port_; }

 private:
  // A request between its first line and its answer. One thread at a time: the server's, or, while
  // the connection is put aside, the one that answers its task.
  struct Exchange {
    std::string body;
    std::optional<HttpResponse> answer;
  };

  static MHD_Result serve(void* self, MHD_Connection* connection, const char* url,
                          const char* method, const char* version, const char* upload,
                          std::size_t* upload_size, void** state);
  static void completed(void* self, MHD_Connection* connection, void** state,
                        MHD_RequestTerminationCode code);
  static std::size_t keep_escapes(void* self, MHD_Connection* connection, char* text);
  static void connected(void* self, MHD_Connection* connection, void** context,
                        MHD_ConnectionNotificationCode code);
  MHD_Result begin(MHD_Connection* connection, void** state) const;
  HttpReply respond(MHD_Connection* connection, const char* url, const char* method,
                    const Exchange& exchange);
  MHD_Result put_aside(MHD_Connection* connection, Exchange& exchange, HttpTask task);
  static MHD_Result send(MHD_Connection* connection, const HttpResponse& response);

  const HttpServerOptions options_;
  const HttpHandler handler_;
  MHD_Daemon* daemon_ = nullptr;
  std::uint16_t port_ = 0;
  std::unique_ptr<TaskPool> tasks_;
  std::unique_ptr<Certificate> certificate_;  // of TLS
};

Result<void> MicroHttpServer::start() {
  auto socket = listen_on(options_.listen);
  if (!socket) return failure(std::move(socket.error()));
  try {
    tasks_ = std::make_unique<TaskPool>(options_.task_threads, options_.most_waiting_tasks);
  } catch (const std::system_error& error) {
    return cannot_listen(options_.listen, fmt::format("no thread for its tasks: {}", error.what()),
                         ErrorKind::kUnavailable);
  }
  if (options_.tls) {
    auto certificate = Certificate::open(*options_.tls);
    if (!certificate) return failure(std::move(certificate.error()));
    certificate_ = std::move(*certificate);
  }
  std::vector<MHD_OptionItem> encrypted;
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
  if (certificate_ != nullptr) {
    flags |= MHD_USE_TLS;
    encrypted.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kProtocols)});
    encrypted.push_back({MHD_OPTION_HTTPS_CERT_CALLBACK, 0, Certificate::callback()});
  }
  encrypted.push_back({MHD_OPTION_END, 0, nullptr});
  daemon_ = ::MHD_start_daemon(
      flags, 0, nullptr, nullptr, &MicroHttpServer::serve, this, MHD_OPTION_LISTEN_SOCKET,
      socket->get(), MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(options_.most_connections),
      MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(options_.idle.count()),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options_.most_request_bytes, MHD_OPTION_NOTIFY_COMPLETED,
      &MicroHttpServer::completed, this, MHD_OPTION_UNESCAPE_CALLBACK,
      &MicroHttpServer::keep_escapes, this, MHD_OPTION_NOTIFY_CONNECTION,
      &MicroHttpServer::connected, this, MHD_OPTION_ARRAY, encrypted.data(), MHD_OPTION_END);
  if (daemon_ == nullptr) {
    return cannot_listen(options_.listen, "the HTTP server did not start", ErrorKind::kUnavailable);
  }
  // The daemon closes it.
  (void)socket->release();
  const auto* const info = ::MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT);
  port_ = info != nullptr ? info->port : options_.listen.port;
  return {};
}

// A path is taken apart before it is unescaped: a slash in a key is no end of it.
std::size_t MicroHttpServer::keep_escapes(void*, MHD_Connection*, char* text) {
  return std::strlen(text);
}

void MicroHttpServer::completed(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
  delete static_cast<Exchange*>(*state);
  *state = nullptr;
}

// The handshake of a connection asks it for its certificate.
void MicroHttpServer::connected(void* self, MHD_Connection*, void** context,
                                MHD_ConnectionNotificationCode code) {
  const bool starts = code == MHD_CONNECTION_NOTIFY_STARTED;
  *context = starts ? static_cast<MicroHttpServer*>(self)->certificate_.get() : nullptr;
}

MHD_Result MicroHttpServer::begin(MHD_Connection* connection, void** state) const {
  const char* const length =
      ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  if (length != nullptr && std::strtoull(length, nullptr, 10) > options_.most_body_bytes) {
    return send(connection, too_large());
  }
  *state = std::make_unique<Exchange>().release();
  return MHD_YES;
}

MHD_Result MicroHttpServer::serve(void* self, MHD_Connection* connection, const char* url,
                                  const char* method, const char*, const char* upload,
                                  std::size_t* upload_size, void** state) {
  auto* const server = static_cast<MicroHttpServer*>(self);
  try {
    // The first call of a request: an answer now would come before its body was read.
    if (*state == nullptr) return server->begin(connection, state);
    Exchange& exchange = *static_cast<Exchange*>(*state);
    if (*upload_size > 0) {
      // A body whose length was not told in advance: the connection is closed.
      if (exchange.body.size() + *upload_size > server->options_.most_body_bytes) return MHD_NO;
      exchange.body.append(upload, *upload_size);
      *upload_size = 0;
      return MHD_YES;
    }
    if (exchange.answer) return send(connection, *exchange.answer);
    HttpReply reply = server->respond(connection, url, method, exchange);
    if (auto* task = std::get_if<HttpTask>(&reply)) {
      return server->put_aside(connection, exchange, std::move(*task));
    }
    return send(connection, std::get<HttpResponse>(reply));
  } catch (...) {
    return send(connection, internal_error());
  }
}

MHD_Result MicroHttpServer::put_aside(MHD_Connection* connection, Exchange& exchange,
                                      HttpTask task) {
  const TaskPool::Answer answer = [connection, &exchange](HttpResponse response) {
    exchange.answer = std::move(response);
    ::MHD_resume_connection(connection);
  };
  ::MHD_suspend_connection(connection);
  try {
    tasks_->add(std::move(task), answer);
  } catch (...) {
    // Without memory for it the task was not taken.
    answer(internal_error());
  }
  return MHD_YES;
}

HttpReply MicroHttpServer::respond(MHD_Connection* connection, const char* url, const char* method,
                                   const Exchange& exchange) {
  HttpRequest request;
  request.method = method;
  request.path = url;
  request.body = exchange.body;
  request.header = [connection](const char* name) -> std::optional<std::string_view> {
    const char* const value = ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
  request.query = [connection] { return query_of(connection); };
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
