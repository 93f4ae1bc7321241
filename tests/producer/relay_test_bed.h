// The relay of an outbox, killed between publishing a message and marking it as sent.
#pragma once

#include <string>

#include "tests/producer/consumption.h"

namespace semel::test {

// `handler`: of the consumer that relays, as in YAML. Kills it again and again, each time when some
// of what it publishes is taken and not yet marked, and then lets it come to its end.
void kill_a_relay(const std::string& handler);

// The published messages, read by a consumer with a record: doubles came, each mail had its
// effect once, and none is lost.
void expect_each_mail_once(const Consumption& seen);

}  // namespace semel::test
