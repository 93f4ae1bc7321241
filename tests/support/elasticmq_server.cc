#include "tests/support/elasticmq_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>

#include "base/json.h"
#include "clients/curl/transfers.h"
#include "clients/sqs/json_walk.h"
#include "tests/support/inputs.h"
#include "tests/support/waiting.h"

namespace semel::test {

namespace {

constexpr std::size_t kSendsAtOnce = 10;
constexpr const char* kNoAnswer = "(no answer)";
constexpr std::size_t kBytesAtOnce = 200'000;

void add_attributes(json::Writer& writer,
                    const std::vector<std::pair<std::string, std::string>>& headers) {
  if (headers.empty()) return;
  writer.name("MessageAttributes").begin_object();
  for (const auto& [name, value] : headers) {
    writer.name(name)
        .begin_object()
        .member("DataType", "String")
        .member("StringValue", value)
        .end_object();
  }
  writer.end_object();
}

// As it was sent.
ElasticmqServer::Post sqs_post_of(std::string_view message) {
  ElasticmqServer::Post made;
  made.body = sqs::text_of(sqs::member_of(message, "Body"));
  sqs::each_member(sqs::member_of(message, "MessageAttributes"), [&](const std::string& name,
                                                                     std::string_view value) {
    const std::string_view binary = sqs::member_of(value, "BinaryValue");
    made.headers.emplace_back(
        name, sqs::text_of(binary.empty() ? sqs::member_of(value, "StringValue") : binary));
  });
  const std::string_view own = sqs::member_of(message, "Attributes");
  made.group = sqs::text_of(sqs::member_of(own, "MessageGroupId"));
  made.deduplication = sqs::text_of(sqs::member_of(own, "MessageDeduplicationId"));
  return made;
}

}  // namespace

std::optional<std::string> ElasticmqServer::why_absent() {
  const std::string why = SEMEL_TEST_ELASTICMQ_ABSENT;
  return why.empty() ? std::nullopt : std::optional(why);
}

const ElasticmqServer& ElasticmqServer::shared() {
  static const ElasticmqServer server(find_shared_server("elasticmq"));
  return server;
}

ElasticmqServer::ElasticmqServer(Begins begins) : DatabaseServer("elasticmq", {}, false) {
  if (begins == Begins::kAway) {
    be_away();
  } else {
    start();
  }
}

ElasticmqServer::ElasticmqServer(const std::optional<ServerAddress>& found)
    : DatabaseServer("elasticmq", found, {}) {
  if (!found) start();
}

std::vector<std::string> ElasticmqServer::server() const {
  if (const auto why = why_absent()) throw std::runtime_error(*why);
  std::vector<std::string> command = {input("tests/support/elasticmq_broker"), data(),
                                      SEMEL_TEST_ELASTICMQ, std::to_string(port())};
  command.insert(command.end(), first_queues_.begin(), first_queues_.end());
  return command;
}

std::string ElasticmqServer::url(std::string_view queue) const {
  return fmt::format("http://127.0.0.1:{}/000000000000/{}", port(), queue);
}

std::string ElasticmqServer::call(const std::string& action, const std::string& body) const {
  curl::Request request;
  request.url = fmt::format("http://127.0.0.1:{}/", port());
  request.through_proxy = false;
  request.headers = {{"Content-Type", "application/x-amz-json-1.0"},
                     {"X-Amz-Target", "AmazonSQS." + action}};
  request.body = body;
  const auto answer = curl::fetch(request);
  return answer ? answer->body : kNoAnswer;
}

std::string ElasticmqServer::checked(const std::string& action, const std::string& body) const {
  std::string answer = call(action, body);
  // Some actions have an empty answer.
  if (answer == kNoAnswer || answer.find("\"__type\"") != std::string::npos ||
      answer.find("\"Failed\":[{") != std::string::npos) {
    throw std::runtime_error(action + ": " + answer);
  }
  return answer;
}

std::string ElasticmqServer::Post::header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (each == name) return value;
  }
  return "(none)";
}

bool ElasticmqServer::answers() const {
  return call("ListQueues", "{}").find("QueueUrls") != std::string::npos;
}

std::string ElasticmqServer::unused_name() {
  static std::atomic<int> made{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count() / 1'000'000;
  return fmt::format("test_{}_{}_{}", ::getpid(), now, made++);
}

std::string ElasticmqServer::new_queue(const Attributes& attributes) const {
  std::string name = unused_name();
  make_queue(name, attributes);
  return name;
}

std::string ElasticmqServer::new_fifo_queue() const {
  std::string name = unused_name() + ".fifo";
  make_queue(name, {{"FifoQueue", "true"}});
  return name;
}

void ElasticmqServer::make_queue(const std::string& name, const Attributes& attributes) const {
  json::Writer writer;
  writer.begin_object().member("QueueName", name);
  if (!attributes.empty()) {
    writer.name("Attributes").begin_object();
    for (const auto& [attribute, value] : attributes) writer.member(attribute, value);
    writer.end_object();
  }
  checked("CreateQueue", writer.end_object().text());
}

void ElasticmqServer::delete_queue(const std::string& name) const {
  checked("DeleteQueue", fmt::format(R"({{"QueueUrl":"{}"}})", url(name)));
}

void ElasticmqServer::send(const std::string& queue, const std::vector<Post>& posts) const {
  for (std::size_t first = 0; first < posts.size();) {
    json::Writer writer;
    writer.begin_object().member("QueueUrl", url(queue)).name("Entries").begin_array();
    std::size_t bytes = 0;
    std::size_t i = first;
    for (; i < posts.size() && i - first < kSendsAtOnce; ++i) {
      const Post& post = posts[i];
      bytes += post.body.size();
      if (i > first && bytes > kBytesAtOnce) break;
      writer.begin_object().member("Id", std::to_string(i)).member("MessageBody", post.body);
      if (!post.group.empty()) writer.member("MessageGroupId", post.group);
      if (!post.deduplication.empty()) {
        writer.member("MessageDeduplicationId", post.deduplication);
      }
      add_attributes(writer, post.headers);
      writer.end_object();
    }
    checked("SendMessageBatch", writer.end_array().end_object().text());
    first = i;
  }
}

void ElasticmqServer::send_bodies(const std::string& queue,
                                  const std::vector<std::string>& bodies) const {
  std::vector<Post> posts;
  posts.reserve(bodies.size());
  for (const std::string& body : bodies) posts.push_back({.body = body});
  send(queue, posts);
}

std::int64_t ElasticmqServer::count(const std::string& queue, const std::string& attribute) const {
  const std::string body =
      fmt::format(R"({{"QueueUrl":"{}","AttributeNames":["All"]}})", url(queue));
  // A busy server may answer late; a question can be repeated.
  std::string answer;
  comes_true([&] { return (answer = call("GetQueueAttributes", body)) != kNoAnswer; });
  if (sqs::member_of(answer, "Attributes").empty()) {
    throw std::runtime_error("GetQueueAttributes: " + answer);
  }
  return sqs::number_of(sqs::member_of(sqs::member_of(answer, "Attributes"), attribute)).value();
}

std::int64_t ElasticmqServer::ready(const std::string& queue) const {
  return count(queue, "ApproximateNumberOfMessages");
}

std::int64_t ElasticmqServer::in_flight(const std::string& queue) const {
  return count(queue, "ApproximateNumberOfMessagesNotVisible");
}

std::string ElasticmqServer::take_one(const std::string& queue, int visibility_seconds) const {
  const std::string answer =
      checked("ReceiveMessage",
              fmt::format(R"({{"QueueUrl":"{}","MaxNumberOfMessages":1,"VisibilityTimeout":{}}})",
                          url(queue), visibility_seconds));
  std::string body;
  sqs::each_item(sqs::member_of(answer, "Messages"), [&](std::string_view message) {
    body = sqs::text_of(sqs::member_of(message, "Body"));
  });
  return body;
}

std::vector<ElasticmqServer::Post> ElasticmqServer::take_all(const std::string& queue) const {
  return take_all_at(url(queue), [this](const std::string& action, const std::string& body) {
    return checked(action, body);
  });
}

std::vector<ElasticmqServer::Post> ElasticmqServer::take_all_at(const std::string& queue_url,
                                                                const Caller& call) {
  std::vector<Post> made;
  for (std::size_t before = 1; before != 0;) {
    const std::string answer =
        call("ReceiveMessage",
             fmt::format(R"({{"QueueUrl":"{}","MaxNumberOfMessages":10,"VisibilityTimeout":600,)"
                         R"("MessageAttributeNames":["All"],"AttributeNames":["All"]}})",
                         queue_url));
    json::Writer writer;
    writer.begin_object().member("QueueUrl", queue_url).name("Entries").begin_array();
    before = 0;
    sqs::each_item(sqs::member_of(answer, "Messages"), [&](std::string_view message) {
      made.push_back(sqs_post_of(message));
      writer.begin_object()
          .member("Id", std::to_string(before++))
          .member("ReceiptHandle", sqs::text_of(sqs::member_of(message, "ReceiptHandle")))
          .end_object();
    });
    if (before > 0) call("DeleteMessageBatch", writer.end_array().end_object().text());
  }
  return made;
}

}  // namespace semel::test
