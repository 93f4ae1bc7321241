#include "http_server/http_server.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/url_text.h"
#include "http_server/answer_queue.h"
#include "http_server/certificate.h"
#include "http_server/connection_watch.h"
#include "http_server/problem.h"
#include "http_server/server_loop.h"
#include "http_server/task_pool.h"
#include "system/descriptor.h"
#include "system/unix_socket.h"

namespace semel::http {

namespace {

// TLS 1.2 and later.
constexpr const char* kProtocols = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

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

using HeaderList = std::vector<std::pair<std::string_view, std::string_view>>;

MHD_Result add_header(void* to, MHD_ValueKind, const char* name, const char* value) {
  try {
    static_cast<HeaderList*>(to)->emplace_back(name, value == nullptr ? "" : value);
    return MHD_YES;
  } catch (...) {
    // No exception passes through the library.
    return MHD_NO;
  }
}

HeaderList headers_of(MHD_Connection* connection) {
  HeaderList headers;
  ::MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, &headers);
  return headers;
}

int socket_of(MHD_Connection* connection) {
  const auto* const info = ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? -1 : info->connect_fd;
}

// The user who connected: what the kernel says, at the other end of a Unix socket.
std::optional<uid_t> user_of(MHD_Connection* connection) {
  const auto peer = system::peer_of(socket_of(connection));
  return peer ? std::optional(peer->uid) : std::nullopt;
}

// An answer as bytes, for a connection that the library cannot answer any more.
std::string written(const HttpResponse& response) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      response.status, title_of(response.status), response.content_type, response.body.size(),
      response.body);
}

class MicroHttpServer final : public HttpServer {
 public:
  MicroHttpServer(HttpServerOptions options, HttpHandler handler)
      : options_(std::move(options)), handler_(std::move(handler)) {}
  ~MicroHttpServer() override {
    if (tasks_ != nullptr) tasks_->stop();
    loop_.reset();
    answers_->end();
    // The daemon cannot stop while a connection is suspended.
    while (!suspended_.empty()) resume(*suspended_.back(), internal_error());
    if (socket_file_ != nullptr) socket_file_->remove();
    if (daemon_ != nullptr) ::MHD_stop_daemon(daemon_);
  }

  Result<void> start();
  std::uint16_t port() const noexcept override { return port_; }
  std::size_t connections() const override { return watch_->connections(); }
  void close(std::chrono::milliseconds deadline) override;

 private:
  // A request from its first line to its answer.
  struct Exchange {
    MHD_Connection* connection = nullptr;
    std::string body;
    std::size_t reserved = 0;  // of the bytes of all bodies
    std::size_t place = 0;     // in suspended_, while it is there
    std::optional<HttpResponse> answer;
  };
  // A suspended request. The connection goes on, and so does the exchange, until it is resumed.
  struct Suspended final : AnswerQueue::Entry {
    Suspended(const std::shared_ptr<AnswerQueue>& queue, Exchange& suspended)
        : Entry(queue), exchange(suspended) {}
    Exchange& exchange;
  };

  static MHD_Result serve(void* self, MHD_Connection* connection, const char* url,
                          const char* method, const char* version, const char* upload,
                          std::size_t* upload_size, void** state);
  static void completed(void* self, MHD_Connection* connection, void** state,
                        MHD_RequestTerminationCode code);
  static std::size_t keep_escapes(void* self, MHD_Connection* connection, char* text);
  static void connected(void* self, MHD_Connection* connection, void** context,
                        MHD_ConnectionNotificationCode code);
  static void* first_line(void* self, const char* url, MHD_Connection* connection);
  Result<system::Descriptor> listen();
  tl::unexpected<Error> not_started(const std::string& why) const;
  Result<void> start_watch();
  Result<void> start_daemon(int socket);
  Result<void> start_loop();
  HttpResponse refusal_of(const FramingFault& fault) const;
  MHD_Result begin(MHD_Connection* connection, const char* url, const char* method, void** state);
  MHD_Result take_body(MHD_Connection* connection, Exchange& exchange, const char* upload,
                       std::size_t* size) const;
  HttpRequest request_of(MHD_Connection* connection, const char* url, const char* method,
                         std::string_view body) const;
  MHD_Result run_aside(Exchange& exchange, HttpTask task);
  MHD_Result put_aside(Exchange& exchange, const HttpPending& pending);
  std::shared_ptr<Suspended> suspend(Exchange& exchange);
  void resume(Exchange& exchange, HttpResponse answer) noexcept;
  static MHD_Result send(MHD_Connection* connection, const HttpResponse& response);

  const HttpServerOptions options_;
  const HttpHandler handler_;
  MHD_Daemon* daemon_ = nullptr;
  std::uint16_t port_ = 0;
  std::unique_ptr<TaskPool> tasks_;
  std::unique_ptr<Certificate> certificate_;  // of TLS
  std::unique_ptr<ConnectionWatch> watch_;
  std::unique_ptr<SocketFile> socket_file_;  // of a Unix socket
  const std::shared_ptr<AnswerQueue> answers_ = std::make_shared<AnswerQueue>();
  std::unique_ptr<ServerLoop> loop_;
  // The server's thread's.
  bool closed_ = false;  // a connection, in this run of the library
  std::vector<Exchange*> suspended_;
  std::size_t requests_ = 0;  // in hand
  std::size_t bytes_ = 0;     // reserved for their bodies
};

Result<system::Descriptor> MicroHttpServer::listen() {
  if (!options_.socket) return listen_on(options_.listen, options_.listen_queue, options_.names);
  auto file = SocketFile::listen(*options_.socket, options_.listen_queue, options_.names);
  if (!file) return failure(std::move(file.error()));
  socket_file_ = std::move(*file);
  return socket_file_->take_socket();
}

tl::unexpected<Error> MicroHttpServer::not_started(const std::string& why) const {
  if (!options_.socket) {
    return cannot_listen(options_.names, options_.listen, why, ErrorKind::kUnavailable);
  }
  return failure({ErrorKind::kUnavailable,
                  options_.names.code,
                  fmt::format("{}: cannot listen on {}: {}", options_.names.socket_field,
                              options_.socket->path, why),
                  {}});
}

Result<void> MicroHttpServer::start() {
  auto socket = listen();
  if (!socket) return failure(std::move(socket.error()));
  if (options_.tls) {
    auto certificate = Certificate::open(*options_.tls, options_.names, options_.on_certificate);
    if (!certificate) return failure(std::move(certificate.error()));
    certificate_ = std::move(*certificate);
  }
  if (auto watching = start_watch(); !watching) return watching;
  if (auto started = start_daemon(socket->get()); !started) return started;
  // The daemon closes it.
  (void)socket->release();
  if (auto started = start_loop(); !started) return started;
  if (options_.socket) return {};
  const auto* const info = ::MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT);
  port_ = info != nullptr ? info->port : options_.listen.port;
  return {};
}

Result<void> MicroHttpServer::start_watch() {
  ConnectionWatch::Options watch;
  watch.idle = options_.idle;
  watch.receive = options_.receive;
  // Inside TLS the words would have to be encrypted by the thread that reads.
  if (!options_.tls) watch.last_words = written(options_.too_slow);
  watch.tick = options_.tick;
  try {
    if (options_.task_threads > 0) {
      tasks_ = std::make_unique<TaskPool>(options_.task_threads, options_.most_waiting_tasks);
    }
    watch_ = std::make_unique<ConnectionWatch>(std::move(watch));
  } catch (const std::system_error& error) {
    return not_started(fmt::format("no thread for its tasks: {}", error.what()));
  }
  return {};
}

Result<void> MicroHttpServer::start_daemon(int socket) {
  std::vector<MHD_OptionItem> encrypted;
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
  if (certificate_ != nullptr) {
    flags |= MHD_USE_TLS;
    encrypted.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kProtocols)});
    encrypted.push_back({MHD_OPTION_HTTPS_CERT_CALLBACK, 0, Certificate::callback()});
  }
  encrypted.push_back({MHD_OPTION_END, 0, nullptr});
  daemon_ = ::MHD_start_daemon(
      flags, 0, nullptr, nullptr, &MicroHttpServer::serve, this, MHD_OPTION_LISTEN_SOCKET, socket,
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(options_.most_connections),
      MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(options_.idle.count()),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options_.most_request_bytes, MHD_OPTION_NOTIFY_COMPLETED,
      &MicroHttpServer::completed, this, MHD_OPTION_UNESCAPE_CALLBACK,
      &MicroHttpServer::keep_escapes, this, MHD_OPTION_NOTIFY_CONNECTION,
      &MicroHttpServer::connected, this, MHD_OPTION_URI_LOG_CALLBACK, &MicroHttpServer::first_line,
      this, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY, encrypted.data(),
      MHD_OPTION_END);
  if (daemon_ != nullptr) return {};
  return not_started("the HTTP server did not start");
}

Result<void> MicroHttpServer::start_loop() {
  ServerLoop::Parts parts;
  parts.sockets = ::MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  parts.patience = [this]() -> std::optional<std::chrono::milliseconds> {
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    if (::MHD_get_timeout(daemon_, &milliseconds) != MHD_YES) return std::nullopt;
    return std::chrono::milliseconds(milliseconds);
  };
  parts.run = [this] {
    // At its limit of connections the library listens again only in the run after the one in which
    // a connection has ended, and its timeout knows nothing of that.
    do {
      closed_ = false;
      ::MHD_run(daemon_);
    } while (closed_);
    if (options_.round_ended) options_.round_ended();
  };
  parts.resume = [this](AnswerQueue::Entry& entry) {
    resume(static_cast<Suspended&>(entry).exchange, entry.take_response());
  };
  parts.answers = answers_;
  try {
    loop_ = std::make_unique<ServerLoop>(std::move(parts));
  } catch (const std::system_error& error) {
    return not_started(fmt::format("no thread for it: {}", error.what()));
  }
  return {};
}

void MicroHttpServer::close(std::chrono::milliseconds deadline) {
  if (socket_file_ != nullptr) socket_file_->remove();
  loop_->call([this] {
    const MHD_socket socket = ::MHD_quiesce_daemon(daemon_);
    const system::Descriptor closed(socket == MHD_INVALID_SOCKET ? -1 : socket);
  });
  watch_->wait_answered(deadline);
}

// A path is taken apart before it is unescaped: a slash in a key is no end of it.
std::size_t MicroHttpServer::keep_escapes(void*, MHD_Connection*, char* text) {
  return std::strlen(text);
}

void* MicroHttpServer::first_line(void* self, const char*, MHD_Connection* connection) {
  static_cast<MicroHttpServer*>(self)->watch_->request_begins(connection);
  return nullptr;
}

void MicroHttpServer::completed(void* self, MHD_Connection* connection, void** state,
                                MHD_RequestTerminationCode) {
  auto* const server = static_cast<MicroHttpServer*>(self);
  const std::unique_ptr<Exchange> ended(static_cast<Exchange*>(*state));
  *state = nullptr;
  if (ended != nullptr) {
    --server->requests_;
    server->bytes_ -= ended->reserved;
  }
  server->watch_->request_ended(connection);
}

// The handshake of a connection asks it for its certificate.
void MicroHttpServer::connected(void* self, MHD_Connection* connection, void** context,
                                MHD_ConnectionNotificationCode code) {
  auto* const server = static_cast<MicroHttpServer*>(self);
  const bool starts = code == MHD_CONNECTION_NOTIFY_STARTED;
  *context = starts ? server->certificate_.get() : nullptr;
  try {
    if (starts) {
      server->watch_->opened(connection, socket_of(connection));
    } else {
      server->closed_ = true;
      server->watch_->closed(connection);
    }
  } catch (...) {
    // Without memory for it the connection is not watched: the library's own limit is left.
  }
}

// The bytes after such a head may be its body or the next request: nothing more is read.
HttpResponse MicroHttpServer::refusal_of(const FramingFault& fault) const {
  HttpResponse refusal =
      options_.refuse ? options_.refuse(fault)
                      : problem(fault.status, {ErrorKind::kRejected, {}, fault.why, fault.fix});
  refusal.headers.emplace_back(MHD_HTTP_HEADER_CONNECTION, "close");
  return refusal;
}

MHD_Result MicroHttpServer::begin(MHD_Connection* connection, const char* url, const char* method,
                                  void** state) {
  const HttpRequest head = request_of(connection, url, method, {});
  if (const auto fault = framing_fault(head)) return send(connection, refusal_of(*fault));
  if (options_.admit) {
    const auto refused = options_.admit(head);
    if (refused) return send(connection, *refused);
  }
  const char* const length =
      ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  const bool chunked = ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                     MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr;
  std::size_t reserved = length == nullptr ? 0 : std::strtoull(length, nullptr, 10);
  if (reserved > options_.most_body_bytes) return send(connection, options_.too_large);
  if (chunked) reserved = options_.most_body_bytes;
  const bool full = (options_.most_requests > 0 && requests_ >= options_.most_requests) ||
                    (options_.most_bytes > 0 && bytes_ + reserved > options_.most_bytes);
  if (full) return send(connection, options_.full);
  auto exchange = std::make_unique<Exchange>();
  exchange->connection = connection;
  exchange->reserved = reserved;
  ++requests_;
  bytes_ += reserved;
  *state = exchange.release();
  return MHD_YES;
}

MHD_Result MicroHttpServer::take_body(MHD_Connection* connection, Exchange& exchange,
                                      const char* upload, std::size_t* size) const {
  if (exchange.body.size() + *size > options_.most_body_bytes) {
    // A body of undeclared length: the library cannot answer before the body ends.
    if (!options_.tls) send_last_words(socket_of(connection), written(options_.too_large));
    return MHD_NO;
  }
  exchange.body.append(upload, *size);
  *size = 0;
  return MHD_YES;
}

MHD_Result MicroHttpServer::serve(void* self, MHD_Connection* connection, const char* url,
                                  const char* method, const char*, const char* upload,
                                  std::size_t* upload_size, void** state) {
  auto* const server = static_cast<MicroHttpServer*>(self);
  try {
    // The first call for a request: an answer given now is sent before the body is read.
    if (*state == nullptr) return server->begin(connection, url, method, state);
    Exchange& exchange = *static_cast<Exchange*>(*state);
    if (*upload_size > 0) return server->take_body(connection, exchange, upload, upload_size);
    if (exchange.answer) return send(connection, *exchange.answer);
    server->watch_->request_came(connection);
    HttpReply reply = server->handler_(server->request_of(connection, url, method, exchange.body));
    if (auto* task = std::get_if<HttpTask>(&reply)) {
      return server->run_aside(exchange, std::move(*task));
    }
    if (const auto* pending = std::get_if<HttpPending>(&reply)) {
      return server->put_aside(exchange, *pending);
    }
    return send(connection, std::get<HttpResponse>(reply));
  } catch (...) {
    return send(connection, internal_error());
  }
}

MHD_Result MicroHttpServer::run_aside(Exchange& exchange, HttpTask task) {
  const auto suspended = suspend(exchange);
  try {
    tasks_->add(std::move(task),
                [suspended](HttpResponse response) { suspended->answer(std::move(response)); });
  } catch (...) {
    // Without memory for it the task was not taken.
    suspended->answer(internal_error());
  }
  return MHD_YES;
}

MHD_Result MicroHttpServer::put_aside(Exchange& exchange, const HttpPending& pending) {
  const auto suspended = suspend(exchange);
  try {
    pending.begin(suspended);
  } catch (...) {
    // Has no effect if the request was answered already.
    suspended->answer(internal_error());
  }
  return MHD_YES;
}

// Throws without memory for it; the connection is not suspended then.
std::shared_ptr<MicroHttpServer::Suspended> MicroHttpServer::suspend(Exchange& exchange) {
  auto suspended = std::make_shared<Suspended>(answers_, exchange);
  suspended_.push_back(&exchange);
  exchange.place = suspended_.size() - 1;
  ::MHD_suspend_connection(exchange.connection);
  return suspended;
}

void MicroHttpServer::resume(Exchange& exchange, HttpResponse answer) noexcept {
  exchange.answer = std::move(answer);
  suspended_.back()->place = exchange.place;
  suspended_[exchange.place] = suspended_.back();
  suspended_.pop_back();
  ::MHD_resume_connection(exchange.connection);
}

HttpRequest MicroHttpServer::request_of(MHD_Connection* connection, const char* url,
                                        const char* method, std::string_view body) const {
  HttpRequest request;
  request.method = method;
  request.path = url;
  request.body = body;
  request.header = [connection](const char* name) -> std::optional<std::string_view> {
    const char* const value = ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
  request.query = [connection] { return query_of(connection); };
  request.headers = [connection] { return headers_of(connection); };
  if (options_.socket) request.user = user_of(connection);
  return request;
}

MHD_Result MicroHttpServer::send(MHD_Connection* connection, const HttpResponse& response) {
  MHD_Response* const made = ::MHD_create_response_from_buffer(
      response.body.size(), const_cast<char*>(response.body.data()), MHD_RESPMEM_MUST_COPY);
  if (made == nullptr) return MHD_NO;
  bool fits = true;
  const auto add = [&](const char* name, const std::string& value) {
    fits = fits && ::MHD_add_response_header(made, name, value.c_str()) == MHD_YES;
  };
  if (!response.content_type.empty()) add(MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type);
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
  try {
    auto server = std::make_unique<MicroHttpServer>(std::move(options), std::move(handler));
    if (auto started = server->start(); !started) return failure(std::move(started.error()));
    return server;
  } catch (const SemelError& no_descriptor) {
    return failure(no_descriptor.error());
  }
}

}  // namespace semel::http
