// AWS Signature Version 4: signs a request with a key derived from its date, region and service.
// Pure.
#pragma once

#include <string>

#include <semel/bytes.h>
#include <semel/message.h>

#include "base/iso_time.h"
#include "core/sqs_spec.h"

namespace semel::sqs {

// "20150830T123600Z", the form of the X-Amz-Date header.
std::string amz_date(UtcTime time);

// The signed parts of a request. Its headers must include Host and X-Amz-Date, each name once.
struct Signable {
  std::string method;
  std::string path = "/";  // already encoded, as it is sent
  std::string query = {};  // also encoded, with the parameters in order
  Headers headers;
  BytesView body;
};

struct SigningScope {
  std::string region;
  std::string service;
};

// The value of the Authorization header. `date`: that of X-Amz-Date.
std::string authorization(const core::SqsKeys& keys, const SigningScope& scope,
                          const std::string& date, const Signable& request);

}  // namespace semel::sqs
