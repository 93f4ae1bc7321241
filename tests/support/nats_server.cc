#include "tests/support/nats_server.h"

#include <fmt/format.h>
#include <nats/nats.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "base/json.h"
#include "system/descriptor.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

constexpr std::int64_t kPatienceMs = 20'000;
constexpr const char* kAccounts = R"(
accounts {
  APP { jetstream: enabled, users: [
    { user: owner, password: right },
    { user: reader, password: right, permissions: { publish: "nothing", subscribe: ">" } },
    { user: finder, password: right, permissions: {
      publish: ["$JS.API.CONSUMER.INFO.>", "$JS.API.STREAM.INFO.>", "$JS.ACK.>"], subscribe: ">" } },
    { user: taker, password: right, permissions: { publish: "$JS.API.>", subscribe: ">" } },
    { user: deaf, password: right, permissions: { publish: ">", subscribe: "@heard@" } },
    { user: plain, password: right, permissions: {
      publish: ["$JS.API.CONSUMER.INFO.>", "$JS.API.CONSUMER.MSG.NEXT.>", "$JS.ACK.>"],
      subscribe: "_INBOX.>" } } ] }
  BARE { users: [ { user: bare, password: right } ] }
  SYS { users: [ { user: system, password: right } ] }
}
system_account: SYS
)";

void check_nats(natsStatus status, const std::string& what) {
  if (status != NATS_OK) throw std::runtime_error(what + ": " + natsStatus_GetText(status));
}

// One connection, as user owner.
class NatsSession {
 public:
  NatsSession(int port, const std::string& certificate_file) {
    natsOptions* options = nullptr;
    check_nats(natsOptions_Create(&options), "options");
    const std::unique_ptr<natsOptions, decltype(&natsOptions_Destroy)> held(options,
                                                                            natsOptions_Destroy);
    natsOptions_SetURL(options, fmt::format("nats://owner:right@127.0.0.1:{}", port).c_str());
    natsOptions_SetAllowReconnect(options, false);
    if (!certificate_file.empty()) {
      natsOptions_SetSecure(options, true);
      natsOptions_SkipServerVerification(options, true);
    }
    check_nats(natsConnection_Connect(&connection_, options), "connect");
  }
  ~NatsSession() {
    jsCtx_Destroy(stream_);
    natsConnection_Destroy(connection_);
  }
  NatsSession(const NatsSession&) = delete;
  NatsSession& operator=(const NatsSession&) = delete;

  std::string ask(const std::string& subject, const std::string& body) {
    natsMsg* answer = nullptr;
    check_nats(natsConnection_Request(&answer, connection_, subject.c_str(), body.data(),
                                      static_cast<int>(body.size()), kPatienceMs),
               subject);
    std::string text(natsMsg_GetData(answer),
                     static_cast<std::size_t>(natsMsg_GetDataLength(answer)));
    natsMsg_Destroy(answer);
    return text;
  }

  // None: it was deleted.
  std::optional<NatsServer::Post> read(const std::string& stream, std::uint64_t sequence) {
    natsMsg* message = nullptr;
    jsErrCode refused{};
    const natsStatus status =
        js_GetMsg(&message, jet_stream(), stream.c_str(), sequence, nullptr, &refused);
    if (status == NATS_NOT_FOUND) return std::nullopt;
    check_nats(status, "get a message");
    NatsServer::Post post;
    post.body.assign(natsMsg_GetData(message),
                     static_cast<std::size_t>(natsMsg_GetDataLength(message)));
    const std::string subject = natsMsg_GetSubject(message);
    if (subject.size() > stream.size()) post.below = subject.substr(stream.size() + 1);
    const char** names = nullptr;
    int count = 0;
    if (natsMsgHeader_Keys(message, &names, &count) == NATS_OK) {
      for (int i = 0; i < count; ++i) add_values(message, names[i], post);
      std::free(names);
    }
    natsMsg_Destroy(message);
    return post;
  }

  void publish(const std::string& subject, const NatsServer::Post& post) {
    natsMsg* message = nullptr;
    check_nats(natsMsg_Create(&message, subject.c_str(), nullptr, post.body.data(),
                              static_cast<int>(post.body.size())),
               "a message");
    for (const auto& [name, value] : post.headers) {
      natsMsgHeader_Add(message, name.c_str(), value.c_str());
    }
    if (!post.id.empty()) natsMsgHeader_Set(message, "Nats-Msg-Id", post.id.c_str());
    const natsStatus status = js_PublishMsgAsync(jet_stream(), &message, nullptr);
    natsMsg_Destroy(message);
    check_nats(status, "publish");
  }
  void wait_confirmed() {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = kPatienceMs;
    if (stream_ != nullptr) check_nats(js_PublishAsyncComplete(stream_, &options), "confirms");
  }

 private:
  jsCtx* jet_stream() {
    if (stream_ == nullptr) {
      check_nats(natsConnection_JetStream(&stream_, connection_, nullptr), "JetStream");
    }
    return stream_;
  }
  static void add_values(natsMsg* message, const char* name, NatsServer::Post& post) {
    const char** values = nullptr;
    int count = 0;
    check_nats(natsMsgHeader_Values(message, name, &values, &count), name);
    for (int i = 0; i < count; ++i) post.headers.emplace_back(name, values[i]);
    if (std::string_view(name) == "Nats-Msg-Id" && count > 0) post.id = values[0];
    std::free(values);
  }

  natsConnection* connection_ = nullptr;
  jsCtx* stream_ = nullptr;
};

json::Scalar value_at(const std::string& answer, const std::string& pointer) {
  json::Document document;
  if (!document.parse(answer)) throw std::runtime_error("no JSON: " + answer);
  auto found = document.at(json::Pointer::parse(pointer).value()).value();
  // It would borrow from the document.
  if (const auto* number = std::get_if<json::Integer>(&found)) {
    return json::Integer{{}, number->value};
  }
  return found;
}

std::int64_t count_in(const std::string& answer, const std::string& pointer) {
  const auto found = value_at(answer, pointer);
  const auto* const number = std::get_if<json::Integer>(&found);
  return number == nullptr ? -1 : number->value.value_or(-1);
}

}  // namespace

const NatsServer& NatsServer::shared() {
  static const NatsServer server(find_shared_server("nats"));
  return server;
}

NatsServer::NatsServer(Options options)
    : DatabaseServer("nats", plain_user("nats"), false), options_(std::move(options)) {
  if (!options_.certificate.empty()) {
    write_file(folder() + "/ca.pem", options_.certificate);
    write_file(folder() + "/key.pem", options_.key);
  }
  start();
}

NatsServer::NatsServer(const std::optional<ServerAddress>& found)
    : DatabaseServer("nats", found, plain_user("nats")) {
  if (!found) start();
}

std::string NatsServer::url(std::string_view account) const {
  return fmt::format("{}://{}@127.0.0.1:{}", options_.certificate.empty() ? "nats" : "tls", account,
                     port());
}

// No other process's server at this port has this name.
std::string NatsServer::call_name() const { return fmt::format("test-{}-{}", port(), ::getpid()); }

void NatsServer::write_config() const {
  std::string config = fmt::format(
      "listen: \"127.0.0.1:{}\"\nserver_name: {}\n"
      "jetstream {{ store_dir: \"{}\", max_file_store: 4G, max_memory_store: 256M }}\n",
      port(), call_name(), data());
  constexpr std::string_view kHeard = "@heard@";
  std::string accounts = kAccounts;
  accounts.replace(accounts.find(kHeard), kHeard.size(), deaf_hears_ ? ">" : "nothing");
  config += accounts;
  if (!options_.certificate.empty()) {
    config +=
        fmt::format("tls {{ cert_file: \"{0}/ca.pem\", key_file: \"{0}/key.pem\" }}\n", folder());
  }
  write_file(folder() + "/nats.conf", config);
}

void NatsServer::let_deaf_hear() {
  deaf_hears_ = true;
  write_config();
  ::kill(pid(), SIGHUP);
}

std::vector<std::string> NatsServer::server() const {
  write_config();
  return {"/usr/sbin/nats-server", "-c", folder() + "/nats.conf"};
}

bool NatsServer::answers() const {
  const system::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in place = loopback(port());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof(place)) != 0) {
    return false;
  }
  std::string said;
  std::array<char, 4096> part{};
  while (said.find('\n') == std::string::npos) {
    const ssize_t got = ::recv(socket.get(), part.data(), part.size(), 0);
    if (got <= 0) return false;
    said.append(part.data(), static_cast<std::size_t>(got));
  }
  return said.find(fmt::format("\"server_name\":\"{}\"", call_name())) != std::string::npos;
}

std::string NatsServer::api(const std::string& subject, const std::string& body) const {
  NatsSession session(port(), options_.certificate);
  return session.ask("$JS.API." + subject, body);
}

std::string NatsServer::unused_name() {
  static std::atomic<int> count{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("test_{}_{}_{}", ::getpid(), now.count() / 1'000'000, count++);
}

std::string NatsServer::new_stream(const std::string& more) const {
  std::string name = unused_name();
  const std::string made =
      api("STREAM.CREATE." + name,
          fmt::format(R"({{"name":"{0}","subjects":["{0}","{0}.>"],"storage":"file"{1}}})", name,
                      more));
  if (made.find("\"error\"") != std::string::npos) throw std::runtime_error(made);
  return name;
}

void NatsServer::delete_stream(const std::string& stream) const {
  (void)api("STREAM.DELETE." + stream, {});
}

void NatsServer::purge_stream(const std::string& stream) const {
  (void)api("STREAM.PURGE." + stream, {});
}

void NatsServer::make_consumer(const std::string& stream, const std::string& durable,
                               const std::string& more) const {
  const std::string made = api(
      fmt::format("CONSUMER.DURABLE.CREATE.{}.{}", stream, durable),
      fmt::format(R"({{"stream_name":"{}","config":{{"durable_name":"{}","deliver_policy":"all")"
                  R"(,"replay_policy":"instant","max_ack_pending":-1{}{}}}}})",
                  stream, durable,
                  more.find("ack_policy") == std::string::npos ? R"(,"ack_policy":"explicit")" : "",
                  more));
  if (made.find("\"error\"") != std::string::npos) throw std::runtime_error(made);
}

void NatsServer::delete_consumer(const std::string& stream, const std::string& durable) const {
  (void)api(fmt::format("CONSUMER.DELETE.{}.{}", stream, durable), {});
}

NatsServer::Counts NatsServer::counts(const std::string& stream, const std::string& durable) const {
  const std::string told = api(fmt::format("CONSUMER.INFO.{}.{}", stream, durable), {});
  return {count_in(told, "/num_pending"), count_in(told, "/num_ack_pending"),
          count_in(told, "/num_waiting")};
}

std::string NatsServer::setting(const std::string& stream, const std::string& durable,
                                const std::string& member) const {
  const std::string told = api(fmt::format("CONSUMER.INFO.{}.{}", stream, durable), {});
  const auto found = value_at(told, "/config/" + member);
  if (const auto* text = std::get_if<std::string>(&found)) return *text;
  const auto* number = std::get_if<json::Integer>(&found);
  return number == nullptr ? std::string() : std::to_string(number->value.value_or(0));
}

void NatsServer::publish(const std::string& stream, const std::vector<Post>& posts) const {
  NatsSession session(port(), options_.certificate);
  for (const Post& post : posts) {
    session.publish(post.below.empty() ? stream : stream + "." + post.below, post);
  }
  session.wait_confirmed();
}

std::int64_t NatsServer::stored_count(const std::string& stream) const {
  return count_in(api("STREAM.INFO." + stream, {}), "/state/messages");
}

std::vector<NatsServer::Post> NatsServer::stored(const std::string& stream) const {
  const std::int64_t last = count_in(api("STREAM.INFO." + stream, {}), "/state/last_seq");
  NatsSession session(port(), options_.certificate);
  std::vector<Post> posts;
  for (std::int64_t sequence = 1; sequence <= last; ++sequence) {
    auto post = session.read(stream, static_cast<std::uint64_t>(sequence));
    if (post) posts.push_back(*std::move(post));
  }
  return posts;
}

void NatsServer::publish_bodies(const std::string& stream,
                                const std::vector<std::string>& bodies) const {
  std::vector<Post> posts;
  posts.reserve(bodies.size());
  for (const std::string& body : bodies) posts.push_back({.body = body});
  publish(stream, posts);
}

}  // namespace semel::test
