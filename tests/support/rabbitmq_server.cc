#include "tests/support/rabbitmq_server.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "system/stack_thread.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

constexpr amqp_channel_t kOneChannel = 1;

amqp_bytes_t amqp_text(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

struct AmqpDestroyed {
  void operator()(amqp_connection_state_t_* connection) const {
    amqp_destroy_connection(connection);
  }
};

// A connection as owner, with its one channel open.
class AmqpSession {
 public:
  explicit AmqpSession(int port, std::chrono::seconds heartbeat = {})
      : connection_(amqp_new_connection()) {
    amqp_socket_t* const socket = amqp_tcp_socket_new(get());
    const timeval patience{60, 0};
    amqp_set_handshake_timeout(get(), &patience);
    amqp_set_rpc_timeout(get(), &patience);
    if (amqp_socket_open_noblock(socket, "127.0.0.1", port, &patience) != AMQP_STATUS_OK) {
      throw std::runtime_error("no RabbitMQ answers");
    }
    check(amqp_login(get(), "/", 0, 131'072, static_cast<int>(heartbeat.count()),
                     AMQP_SASL_METHOD_PLAIN, "owner", "right"),
          "login");
    amqp_channel_open(get(), kOneChannel);
    check_last("channel");
  }
  ~AmqpSession() { amqp_connection_close(get(), AMQP_REPLY_SUCCESS); }
  AmqpSession(const AmqpSession&) = delete;
  AmqpSession& operator=(const AmqpSession&) = delete;

  amqp_connection_state_t get() const { return connection_.get(); }
  bool went_well() const { return amqp_get_rpc_reply(get()).reply_type == AMQP_RESPONSE_NORMAL; }
  void check_last(const char* what) const { check(amqp_get_rpc_reply(get()), what); }

 private:
  static void check(const amqp_rpc_reply_t& reply, const char* what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    throw std::runtime_error(fmt::format("{}: {}", what,
                                         reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION
                                             ? amqp_error_string2(reply.library_error)
                                             : "refused"));
  }

  std::unique_ptr<amqp_connection_state_t_, AmqpDestroyed> connection_;
};

void send_post(const AmqpSession& session, const std::string& queue,
               const RabbitmqServer::Post& post) {
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  const auto set = [&](amqp_flags_t flag, amqp_bytes_t& place, const std::string& value) {
    if (value.empty()) return;
    properties._flags |= flag;
    place = amqp_text(value);
  };
  set(AMQP_BASIC_MESSAGE_ID_FLAG, properties.message_id, post.message_id);
  set(AMQP_BASIC_CONTENT_TYPE_FLAG, properties.content_type, post.content_type);
  set(AMQP_BASIC_CORRELATION_ID_FLAG, properties.correlation_id, post.correlation_id);
  std::vector<amqp_table_entry_t> entries;
  for (const auto& [name, value] : post.headers) {
    amqp_table_entry_t entry{};
    entry.key = amqp_text(name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = amqp_text(value);
    entries.push_back(entry);
  }
  if (!entries.empty()) {
    properties._flags |= AMQP_BASIC_HEADERS_FLAG;
    properties.headers = {static_cast<int>(entries.size()), entries.data()};
  }
  if (amqp_basic_publish(session.get(), kOneChannel, amqp_empty_bytes, amqp_text(queue), 0, 0,
                         &properties, amqp_text(post.body)) != AMQP_STATUS_OK) {
    throw std::runtime_error("publish");
  }
}

RabbitmqServer::Post post_of(const amqp_message_t& message) {
  const auto text = [](const amqp_bytes_t& bytes) {
    return std::string(static_cast<const char*>(bytes.bytes), bytes.len);
  };
  const auto& told = message.properties;
  const auto property = [&](amqp_flags_t flag, const amqp_bytes_t& value) {
    return (told._flags & flag) != 0 ? text(value) : std::string();
  };
  RabbitmqServer::Post post;
  post.body = text(message.body);
  post.message_id = property(AMQP_BASIC_MESSAGE_ID_FLAG, told.message_id);
  post.content_type = property(AMQP_BASIC_CONTENT_TYPE_FLAG, told.content_type);
  post.correlation_id = property(AMQP_BASIC_CORRELATION_ID_FLAG, told.correlation_id);
  post.type = property(AMQP_BASIC_TYPE_FLAG, told.type);
  post.persistent = told.delivery_mode == AMQP_DELIVERY_PERSISTENT;
  if ((told._flags & AMQP_BASIC_HEADERS_FLAG) == 0) return post;
  for (int i = 0; i < told.headers.num_entries; ++i) {
    const amqp_table_entry_t& entry = told.headers.entries[i];
    post.headers.emplace_back(text(entry.key), text(entry.value.value.bytes));
  }
  return post;
}

// One confirm frame may cover many messages, and frames arrive in any order.
void wait_confirmed(const AmqpSession& session, std::uint64_t count) {
  std::set<std::uint64_t> open;
  for (std::uint64_t tag = 1; tag <= count; ++tag) open.insert(open.end(), tag);
  while (!open.empty()) {
    const timeval patience{20, 0};
    amqp_frame_t frame;
    const int status = amqp_simple_wait_frame_noblock(session.get(), &frame, &patience);
    if (status != AMQP_STATUS_OK || frame.frame_type != AMQP_FRAME_METHOD ||
        frame.payload.method.id != AMQP_BASIC_ACK_METHOD) {
      throw std::runtime_error(fmt::format(
          "the broker does not confirm {} of {} messages: {}", open.size(), count,
          status != AMQP_STATUS_OK                ? amqp_error_string2(status)
          : frame.frame_type == AMQP_FRAME_METHOD ? amqp_method_name(frame.payload.method.id)
                                                  : "it sends something else"));
    }
    const auto* const ack = static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded);
    if (ack->multiple != 0) {
      open.erase(open.begin(), open.upper_bound(ack->delivery_tag));
    } else {
      open.erase(ack->delivery_tag);
    }
    amqp_maybe_release_buffers(session.get());
  }
}

}  // namespace

const RabbitmqServer& RabbitmqServer::shared() {
  static const RabbitmqServer server(find_shared_server("rabbitmq"));
  return server;
}

RabbitmqServer::RabbitmqServer(Options options)
    : DatabaseServer("rabbitmq", {}, false), options_(std::move(options)) {
  if (!options_.certificate.empty()) {
    write_file(folder() + "/ca.pem", options_.certificate);
    write_file(folder() + "/key.pem", options_.key);
  }
  if (!options_.cookie.empty()) {
    std::filesystem::create_directory(folder() + "/home");
    write_file(folder() + "/home/.erlang.cookie", options_.cookie);
  }
  start();
}

RabbitmqServer::RabbitmqServer(const std::optional<ServerAddress>& found)
    : DatabaseServer("rabbitmq", found, {}) {
  if (!found) start();
}

// The folder and the other ports, as the script takes them.
std::string RabbitmqServer::socket_path() const {
  const int names = options_.names_port != 0 ? options_.names_port : free_port();
  return fmt::format("{} {} {} {}", folder(), free_port(), names, free_port());
}

std::vector<std::string> RabbitmqServer::command(const std::string& what) const {
  std::istringstream words(address().socket);
  std::string place, node, names, tls;
  words >> place >> node >> names >> tls;
  return {input("tests/support/rabbitmq_broker"),
          what,
          place,
          std::to_string(port()),
          node,
          names,
          tls};
}

int RabbitmqServer::tls_port() const { return std::stoi(command("").back()); }

std::vector<std::string> RabbitmqServer::server() const {
  auto words = command(options_.names_port != 0 ? "join" : "serve");
  words.insert(words.end(), options_.terms.begin(), options_.terms.end());
  return words;
}

bool RabbitmqServer::answers() const {
  // The broker continues without a port that it could not open, and another broker may be there.
  const std::string told = log_of_this_start();
  const auto listens = [&](std::string_view kind, int where) {
    return told.find(fmt::format("started {} listener on 127.0.0.1:{}\n", kind, where)) !=
           std::string::npos;
  };
  if (!listens("TCP", port())) return false;
  if (!options_.certificate.empty() && !listens("TLS (SSL)", tls_port())) return false;
  try {
    const AmqpSession session(port());
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string RabbitmqServer::url_of(std::string_view account, std::string_view vhost) const {
  return fmt::format("amqp://{}@127.0.0.1:{}/{}", account, port(), vhost);
}

std::string RabbitmqServer::unused_name() {
  static std::atomic<int> count{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count() / 1'000'000;
  return fmt::format("test_{}_{}_{}", ::getpid(), now, count++);
}

std::string RabbitmqServer::new_queue(const std::string& type) const {
  const std::string name = unused_name();
  make_queue(name, type);
  return name;
}

void RabbitmqServer::make_queue(const std::string& name, const std::string& type) const {
  const AmqpSession session(port());
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes("x-queue-type");
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp_text(type);
  amqp_queue_declare(session.get(), kOneChannel, amqp_text(name), 0, 1, 0, 0, {1, &entry});
  session.check_last("no queue is made");
  // Mnesia puts off its writing for seconds: a kill before that would take the queue along.
  if (!is_shared() && options_.queues_outlive_kill) eval("mnesia:sync_log().");
}

void RabbitmqServer::delete_queue(const std::string& name) const {
  const AmqpSession session(port());
  amqp_queue_delete(session.get(), kOneChannel, amqp_text(name), 0, 0);
  session.check_last("no queue is deleted");
}

std::string RabbitmqServer::new_headers_exchange(const std::string& queue,
                                                 const std::string& header,
                                                 const std::string& value) const {
  const std::string name = unused_name();
  const AmqpSession session(port());
  amqp_exchange_declare(session.get(), kOneChannel, amqp_text(name), amqp_cstring_bytes("headers"),
                        0, 1, 0, 0, amqp_empty_table);
  session.check_last("no exchange is made");
  amqp_table_entry_t entry{};
  entry.key = amqp_text(header);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp_text(value);
  amqp_queue_bind(session.get(), kOneChannel, amqp_text(queue), amqp_text(name), amqp_empty_bytes,
                  {1, &entry});
  session.check_last("no queue is bound");
  return name;
}

std::int64_t RabbitmqServer::depth(const std::string& queue) const {
  const AmqpSession session(port());
  const auto* const answer = amqp_queue_declare(session.get(), kOneChannel, amqp_text(queue), 1, 0,
                                                0, 0, amqp_empty_table);
  return answer == nullptr ? -1 : answer->message_count;
}

std::int64_t RabbitmqServer::messages(const std::string& queue) const {
  const std::string told = of_queue(queue, "messages");
  return told == "none" ? -1 : std::stoll(told);
}

void RabbitmqServer::publish(const std::string& queue, const std::vector<Post>& posts) const {
  const AmqpSession session(port());
  amqp_confirm_select(session.get(), kOneChannel);
  session.check_last("confirms");
  for (const Post& post : posts) send_post(session, queue, post);
  wait_confirmed(session, posts.size());
}

void RabbitmqServer::publish_nested(const std::string& queue, std::size_t depth) const {
  constexpr std::size_t kStack = std::size_t{64} << 20;
  std::vector<amqp_field_value_t> lists(depth);
  for (std::size_t i = 0; i < depth; ++i) {
    lists[i].kind = AMQP_FIELD_KIND_ARRAY;
    const bool last = i + 1 == depth;
    lists[i].value.array = {last ? 0 : 1, last ? nullptr : &lists[i + 1]};
  }
  amqp_table_entry_t entry{amqp_cstring_bytes("deep"), lists.front()};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  properties.headers = {1, &entry};
  const AmqpSession session(port());
  amqp_confirm_select(session.get(), kOneChannel);
  session.check_last("confirms");
  int status = AMQP_STATUS_OK;
  // It is encoded by recursion too.
  system::StackThread sender(kStack, [&] {
    status = amqp_basic_publish(session.get(), kOneChannel, amqp_empty_bytes, amqp_text(queue), 0,
                                0, &properties, amqp_text("{}"));
  });
  sender.join();
  if (status != AMQP_STATUS_OK) throw std::runtime_error(amqp_error_string2(status));
  wait_confirmed(session, 1);
}

void RabbitmqServer::publish_bodies(const std::string& queue,
                                    const std::vector<std::string>& bodies) const {
  std::vector<Post> posts;
  posts.reserve(bodies.size());
  for (const std::string& body : bodies) posts.push_back({.body = body});
  publish(queue, posts);
}

std::vector<RabbitmqServer::Post> RabbitmqServer::take_all(const std::string& queue) const {
  const AmqpSession session(port());
  std::vector<Post> posts;
  for (;;) {
    const auto reply = amqp_basic_get(session.get(), kOneChannel, amqp_text(queue), 1);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) throw std::runtime_error("get");
    if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD) return posts;
    amqp_message_t message;
    if (amqp_read_message(session.get(), kOneChannel, &message, 0).reply_type !=
        AMQP_RESPONSE_NORMAL) {
      throw std::runtime_error("get: no message");
    }
    posts.push_back(post_of(message));
    amqp_destroy_message(&message);
    amqp_maybe_release_buffers(session.get());
  }
}

bool RabbitmqServer::hangs_up_on_the_silent(std::chrono::seconds heartbeat) const {
  constexpr int kPatienceMs = 60'000;
  const AmqpSession session(port(), heartbeat);
  std::array<char, 4096> heard{};
  for (pollfd says{amqp_get_sockfd(session.get()), POLLIN, 0};;) {
    if (::poll(&says, 1, kPatienceMs) != 1) return false;
    if (::recv(says.fd, heard.data(), heard.size(), 0) <= 0) return true;
  }
}

std::string RabbitmqServer::eval(const std::string& expression) const {
  auto arguments = command("eval");
  arguments.push_back(expression);
  const TempDir folder;
  const std::string out = folder.file("out");
  const auto code = run_to_end({.arguments = arguments,
                                .folder = folder.path().string(),
                                .output = out,
                                .user = {},
                                .group = {}});
  const std::string said = read_file(out);
  constexpr std::string_view kBefore = "{ok, ";
  if (code != 0 || said.rfind(kBefore, 0) != 0 || said.back() != '}') {
    throw std::runtime_error(fmt::format("the broker does not tell {}: {}", expression, said));
  }
  return said.substr(kBefore.size(), said.size() - kBefore.size() - 1);
}

void RabbitmqServer::limit_memory(std::int64_t bytes) const {
  eval(fmt::format("vm_memory_monitor:set_vm_memory_high_watermark({{absolute, {}}}).", bytes));
}

std::string RabbitmqServer::of_queue(const std::string& queue, std::string_view what) const {
  return eval(fmt::format(
      "case rabbit_amqqueue:lookup({{resource, <<\"/\">>, queue, <<\"{}\">>}}) of "
      "{{ok, Q}} -> case rpc:call(amqqueue:qnode(Q), rabbit_amqqueue, info, [Q, [{}]]) of "
      "[{{_, V}}] -> V; {{badrpc, _}} -> none end; "
      "{{error, not_found}} -> none end.",
      queue, what));
}

}  // namespace semel::test
