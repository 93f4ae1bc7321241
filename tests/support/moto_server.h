// MotoServer: a moto, which speaks the API of Amazon SNS, and of SQS for what subscribes to a
// topic. All of it is in memory: a kill takes it along. It looks at no signature.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/message.h>

#include "tests/support/database_server.h"
#include "tests/support/elasticmq_server.h"

namespace semel::test {

class MotoServer final : public DatabaseServer {
 public:
  // Why there is none on this machine; nothing where there is.
  static std::optional<std::string> why_absent();
  // For tests that leave it as it is.
  static const MotoServer& shared();

  MotoServer();
  ~MotoServer() override { end(); }

  // Where its services are; nothing is named.
  std::string url(std::string_view) const override;
  // There is no SQL.
  std::string query(const std::string&, const std::string&) const override { return {}; }

  // The ARN of a topic that was not there before.
  std::string new_topic() const;
  std::string new_fifo_topic() const;
  // The ARN that a topic of this name has, whether it is there or not.
  static std::string arn_of(const std::string& topic);
  void make_topic(const std::string& name) const;
  // The URL of a new queue, of its topic's kind, that gets all messages of it as they are.
  std::string new_subscriber(const std::string& topic_arn) const;
  // Receives and deletes what is in a queue.
  std::vector<ElasticmqServer::Post> take_all(const std::string& queue_url) const;

 private:
  // The body of a good answer; throws std::runtime_error about `what` without one.
  std::string post(Headers headers, std::string body, const std::string& what) const;
  std::string sns(const std::string& form) const;
  std::string sqs(const std::string& action, const std::string& body) const;

  std::vector<std::string> maker() const override { return {"/bin/mkdir", "-p", data()}; }
  std::vector<std::string> server() const override;
  std::string socket_path() const override { return {}; }
  bool answers() const override;
  std::string home_database() const override { return {}; }
  std::string drop_statement(const std::string&) const override { return {}; }
};

}  // namespace semel::test
