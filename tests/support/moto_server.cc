#include "tests/support/moto_server.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "clients/curl/transfers.h"
#include "clients/sqs/json_walk.h"
#include "clients/sqs/query_protocol.h"

namespace semel::test {

namespace {

constexpr const char* kRegion = "eu-west-1";
constexpr const char* kAccount = "123456789012";

// The scope of a signature is how it tells its services apart.
Header scope_of(const char* service) {
  return {"Authorization",
          fmt::format("AWS4-HMAC-SHA256 Credential=AKID/20260101/{}/{}/aws4_request, "
                      "SignedHeaders=host, Signature=0",
                      kRegion, service)};
}

bool is_of_fifo(std::string_view name) { return name.ends_with(".fifo"); }

}  // namespace

std::optional<std::string> MotoServer::why_absent() {
  const std::string why = SEMEL_TEST_MOTO_ABSENT;
  return why.empty() ? std::nullopt : std::optional(why);
}

const MotoServer& MotoServer::shared() {
  static const MotoServer server;
  return server;
}

MotoServer::MotoServer() : DatabaseServer("moto", {}, false) { start(); }

std::vector<std::string> MotoServer::server() const {
  if (const auto why = why_absent()) throw std::runtime_error(*why);
  return {"/usr/bin/env",
          "PYTHONPATH=" SEMEL_TEST_MOTO,
          "PYTHONDONTWRITEBYTECODE=1",
          "/usr/bin/python3",
          "-m",
          "moto.server",
          "-H",
          "127.0.0.1",
          "-p",
          std::to_string(port())};
}

std::string MotoServer::url(std::string_view) const {
  return fmt::format("http://127.0.0.1:{}", port());
}

std::string MotoServer::post(Headers headers, std::string body, const std::string& what) const {
  curl::Request request;
  request.url = url({}) + "/";
  request.through_proxy = false;
  request.headers = std::move(headers);
  request.body = std::move(body);
  const auto answer = curl::fetch(request);
  if (!answer || answer->status != 200) {
    throw std::runtime_error(what + ": " + (answer ? answer->body : answer.error().message));
  }
  return answer->body;
}

std::string MotoServer::sns(const std::string& form) const {
  return post({{"Content-Type", "application/x-www-form-urlencoded"}, scope_of("sns")},
              form + "&Version=2010-03-31", form);
}

std::string MotoServer::sqs(const std::string& action, const std::string& body) const {
  return post({{"Content-Type", "application/x-amz-json-1.0"},
               {"X-Amz-Target", "AmazonSQS." + action},
               scope_of("sqs")},
              body, action);
}

bool MotoServer::answers() const {
  try {
    return sns("Action=ListTopics").find("ListTopicsResponse") != std::string::npos;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string MotoServer::arn_of(const std::string& topic) {
  return fmt::format("arn:aws:sns:{}:{}:{}", kRegion, kAccount, topic);
}

void MotoServer::make_topic(const std::string& name) const {
  sns("Action=CreateTopic&Name=" + name +
      (is_of_fifo(name) ? "&Attributes.entry.1.key=FifoTopic&Attributes.entry.1.value=true" : ""));
}

std::string MotoServer::new_topic() const {
  const std::string name = ElasticmqServer::unused_name();
  make_topic(name);
  return arn_of(name);
}

std::string MotoServer::new_fifo_topic() const {
  const std::string name = ElasticmqServer::unused_name() + ".fifo";
  make_topic(name);
  return arn_of(name);
}

std::string MotoServer::new_subscriber(const std::string& topic_arn) const {
  const bool fifo = is_of_fifo(topic_arn);
  const std::string name = ElasticmqServer::unused_name() + (fifo ? ".fifo" : "");
  const std::string queue_url = semel::sqs::text_of(semel::sqs::member_of(
      sqs("CreateQueue", fmt::format(R"({{"QueueName":"{}"{}}})", name,
                                     fifo ? R"(,"Attributes":{"FifoQueue":"true"})" : "")),
      "QueueUrl"));
  sns(fmt::format(
      "Action=Subscribe&Protocol=sqs&TopicArn={}&Endpoint={}"
      "&Attributes.entry.1.key=RawMessageDelivery&Attributes.entry.1.value=true",
      semel::sqs::form_encoded(topic_arn),
      semel::sqs::form_encoded(fmt::format("arn:aws:sqs:{}:{}:{}", kRegion, kAccount, name))));
  return queue_url;
}

std::vector<ElasticmqServer::Post> MotoServer::take_all(const std::string& queue_url) const {
  return ElasticmqServer::take_all_at(
      queue_url,
      [this](const std::string& action, const std::string& body) { return sqs(action, body); });
}

}  // namespace semel::test
