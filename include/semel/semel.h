// Everything that a user's program includes. Adapters include the ports they implement from
// semel/spi, operators' tools from semel/admin, tests of handlers from semel/testing.
#pragma once

#include <semel/consumer.h>
#include <semel/front.h>
#include <semel/guarantee.h>
#include <semel/guard.h>
#include <semel/guard_claim.h>
#include <semel/handler.h>
#include <semel/json.h>
#include <semel/memory.h>
#include <semel/message.h>
#include <semel/metrics.h>
#include <semel/mysql.h>
#include <semel/observer.h>
#include <semel/outcome.h>
#include <semel/postgres.h>
#include <semel/producer.h>
#include <semel/queues.h>
#include <semel/redis.h>
#include <semel/runner.h>
#include <semel/spi/store.h>
#include <semel/sqlite.h>
#include <semel/step_spec.h>
#include <semel/steps.h>
#include <semel/trace.h>
#include <semel/transaction.h>
#include <semel/verdict.h>
#include <semel/version.h>
