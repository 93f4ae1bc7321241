// The Redis store: records and the messages that wait for them, fast, with expiry by the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <semel/environment.h>
#include <semel/front.h>
#include <semel/result.h>
#include <semel/spi/store.h>

namespace semel {

// A Redis server, version 6 or newer, or a Cluster of them.
//
// Completed and dead records expire by the server's clock when their consumer's ttl is over;
// unfinished ones never do. A record that Redis forgets, by a crash between two writes of its log,
// FLUSHALL or eviction, is handled again; a late holder is refused all the same. A held message has
// no other copy: if the server loses its log, the message is lost.
struct RedisOptions {
  // redis://user:password@host:port/database?name=value&…, rediss://… with TLS, or
  // redis+unix:///path/to/socket?… for a unix socket. Characters other than letters and digits may
  // be percent-encoded (%41). For a Cluster give any node, or several: redis://a:7001,b:7002.
  //   db=                the number of the database
  //   connect-timeout=   seconds, until the server has let us in
  //   timeout=           seconds without a byte of an answer, until a connection counts as lost
  //   tls=               verify: the certificate must name the host, as with rediss://; on:
  //                      encrypted; the certificate is not verified
  //   tls-ca=, tls-cert=, tls-key=   files in PEM format
  std::string url;
  // Begins the name of everything that is stored. It has no brace, since braces choose the node of
  // a Cluster. Stores with different prefixes on one database do not affect each other.
  std::string prefix = "semel:";
  // Open the store even where the server may evict records to make room (maxmemory with a policy
  // other than noeviction): a completed key may then be handled again at any time, and a message
  // that waits may be lost.
  bool accept_eviction = false;
  // This many replicas must confirm a claim, a finish or a stored message before the call returns.
  // If too few confirm in time, which is never more than half of `timeout`, the call is in doubt
  // (R268): done on the master, and lost if another server takes over. 0: no call waits; a negative
  // number is refused (E015).
  int wait_replicas = 0;
  // Idle connections that stay open; on a Cluster, to each of its nodes.
  std::size_t connections = 8;
  Environment* environment = nullptr;  // null: system_environment()
};

// A server that may evict forgets as well, and one without a log is not durable.
inline constexpr StoreTraits kRedisTraits{.name = "redis", .durable = true, .takes_back = true};

// Opens the store. Facets: all but `transactional`: no statement of a handler commits with a
// record. Where eviction is accepted and may remove keys without an expiry (allkeys-…), `held`,
// `dead_letters` and `runs` are missing too, and finish is refused (kRejected, R267, and nothing of
// the call is applied) for messages to hold, `keep` or `ack`, and for a Finish without a lease.
// There is no inbox: Finish::inbox is ignored. HeldMessages::wake_fd returns -1. The end of a
// process that runs consumers is noticed by the connection that it keeps open. Calls that look at
// more than one record (RecordInspector::list, stats, verify) read every name of the prefix, in
// pages. StoreTraits::durable says whether the server kept a log (appendonly) when the store was
// opened; on a Cluster, whether all masters did. The journal of a message's steps is part of its
// record and lives as long; a Semel older than steps on Redis refuses such a record (R210).
//
// On a Cluster any of its nodes may be named; the others are found, and followed when slots move or
// a replica takes over, for as long as `timeout`. Records are spread over a fixed number of slots;
// the messages that wait for one consumer are in one slot, and so are all dead letters. A finish
// that concerns two of those slots is done in steps: if it is interrupted, there is one row or
// letter too many, never one too few.
//
// Errors: R259 the URL cannot be read, R250 cannot be reached, R251 login refused, R252 no such
// database, R253 rights missing, R254 no connection left, R203 a replica, R258 server too old, R264
// a Cluster given a database number, or reached by a unix socket, R265 it may evict records, R266
// busy with a script.
Result<std::unique_ptr<Store>> open_redis(RedisOptions options);

// A window in front of the records of another store (semel/front.h), on a Redis server or a Cluster
// that may forget.
struct RedisFrontOptions {
  std::string url;  // as RedisOptions::url; its connect-timeout and timeout are ignored
  std::string prefix = "semel:front:";
  std::chrono::milliseconds ttl = kUsualFrontTtl;
  // For connecting, and without a byte of an answer: a slower server counts as unavailable.
  std::chrono::milliseconds timeout{100};
  std::size_t connections = 8;         // idle ones that stay open, to each node
  Environment* environment = nullptr;  // null: system_environment()
};

// Does not connect yet: the first look fails where there is no server. Errors: R259 the URL cannot
// be read.
Result<std::unique_ptr<FrontWindow>> open_redis_front(RedisFrontOptions options);

}  // namespace semel
