#include <chrono>

#include "clients/sqs/client.h"
#include "sources/sqs/make_sqs_source.h"
#include "sources/sqs/requests.h"

namespace semel::sqs {

Result<QueueFacts> look_at_queue(const core::SqsSpec& spec) {
  constexpr std::chrono::seconds kPatience{5};
  Client client(spec);
  const auto answer = ask(client, "GetQueueAttributes", attributes_request(spec), kPatience);
  if (!answer) return failure(answer.error());
  return read_facts(*answer, spec.queue.name);
}

}  // namespace semel::sqs
