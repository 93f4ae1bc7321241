// AWS Signature Version 4: a request is signed with a key that its date, region and service go
// into. Pure.
#pragma once

#include <string>

#include <semel/bytes.h>
#include <semel/message.h>

#include "base/iso_time.h"
#include "core/sqs_spec.h"

namespace semel::sqs {

// "20150830T123600Z", as the header X-Amz-Date has it.
std::string amz_date(UtcTime time);

// The parts of a request that are signed. Its headers have Host and X-Amz-Date among them; each
// name once.
struct Signable {
  std::string method;
  std::string path = "/";  // encoded already, as it is sent
  std::string query = {};  // likewise, its parameters in order
  Headers headers;
  BytesView body;
};

struct SigningScope {
  std::string region;
  std::string service;
};

// The value of the header Authorization. `date`: that of X-Amz-Date.
std::string authorization(const core::SqsKeys& keys, const SigningScope& scope,
                          const std::string& date, const Signable& request);

}  // namespace semel::sqs
