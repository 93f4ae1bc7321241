#include "sources/kafka/make_kafka_source.h"

#include <utility>

#include "clients/kafka/errors.h"
#include "sources/kafka/client.h"
#include "sources/kafka/settings.h"
#include "sources/kafka/source.h"

namespace semel::kafka {

namespace {

constexpr std::chrono::milliseconds kLookStep{300};

// Keeps the first error that waiting cannot resolve, and the text of the last other error.
class Looker final : public Client::Watcher {
 public:
  void on_assigned(const std::vector<TopicPartition>&) override {}
  void on_revoked(const std::vector<TopicPartition>&, bool) override {}
  void on_error(int code, std::string_view said) override {
    said_ = said;
    Error error = error_of(code, said, false);
    if (!final_ && is_final(error)) final_ = std::move(error);
  }
  void on_all_brokers_down(std::string_view said) override {
    if (!said.empty()) said_ = said;
  }
  void on_committed(const Client::Offsets&, std::optional<int>) override {}

  const std::optional<Error>& final() const noexcept { return final_; }
  const std::string& said() const noexcept { return said_; }

 private:
  std::optional<Error> final_;
  std::string said_;
};

Error cannot_be_read(const std::string& topic, int code) {
  Error error = error_of(code, topic, true);
  return error.code == "R303" ? no_such_topic(topic) : error;
}

// A client whose broker has answered, and whose topics can be read.
Result<std::unique_ptr<Client>> answering(const core::KafkaSpec& spec, Looker& looker,
                                          std::chrono::milliseconds patience) {
  auto client = Client::create(spec, looker);
  if (!client) return client;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < until) {
    const auto wrong = (*client)->look(kLookStep);
    if (wrong && !wrong->empty()) {
      return failure(cannot_be_read(wrong->front().first, wrong->front().second));
    }
    if (wrong) return client;
    (*client)->serve(kLookStep);
    if (looker.final()) return failure(*looker.final());
  }
  return failure(brokers_away(spec.brokers, looker.said()));
}

}  // namespace

Result<std::unique_ptr<Source>> make_kafka_source(const core::KafkaSpec& spec,
                                                  Environment& environment, Commits commits) {
  auto source = std::make_unique<KafkaSource>(spec, environment, commits);
  if (auto opened = source->open(); !opened) return failure(std::move(opened.error()));
  return source;
}

Result<void> check_properties(const core::KafkaSpec& spec) {
  const auto settings = settings_of(spec);
  if (!settings) return failure(settings.error());
  return {};
}

Result<BrokerRetention> look_at_retention(const core::KafkaSpec& spec,
                                          std::chrono::milliseconds patience) {
  Looker looker;
  auto client = answering(spec, looker, patience);
  if (!client) return failure(std::move(client.error()));
  return BrokerRetention{(*client)->ask_horizon(patience),
                         (*client)->ask_offsets_retention(patience)};
}

Result<std::int64_t> look_at_lag(const core::KafkaSpec& spec, std::chrono::milliseconds patience) {
  Looker looker;
  auto client = answering(spec, looker, patience);
  if (!client) return failure(std::move(client.error()));
  const auto lag = (*client)->ask_lag(patience);
  if (!lag) return failure(brokers_away(spec.brokers, looker.said()));
  return *lag;
}

}  // namespace semel::kafka
