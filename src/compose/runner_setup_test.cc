#include "compose/runner_setup.h"

#include <gtest/gtest.h>

namespace semel::compose {
namespace {

constexpr const char* kTwoOfOneSource =
    "store: { memory: {} }\nconsumers:\n"
    "  - { name: payments, source: { native: spool }, key: json:/id }\n"
    "  - { name: refunds, source: { native: spool }, key: json:/id }\n";

RunnerSetup setup_of_two() {
  RunnerSetup setup;
  setup.config = loaded_or_throw(config::load_text(kTwoOfOneSource, "config"));
  return setup;
}

TEST(RunnerSetup, AKeyForNoConsumerNamesThoseThereAre) {
  RunnerSetup setup = setup_of_two();
  try {
    setup.set_key("payment", [](const Arrival&) { return std::optional<Bytes>(); });
    ADD_FAILURE() << "it was taken";
  } catch (const SemelError& refused) {
    EXPECT_EQ(refused.error().code, "E062");
    EXPECT_EQ(refused.error().hint, "name one of its consumers: payments, refunds");
  }
}

}  // namespace
}  // namespace semel::compose
