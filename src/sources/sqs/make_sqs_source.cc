#include "sources/sqs/make_sqs_source.h"

#include <utility>

#include "sources/sqs/source.h"

namespace semel::sqs {

std::unique_ptr<Source> make_sqs_source(SqsOptions options, Environment& environment) {
  return std::make_unique<SqsSource>(std::move(options), environment);
}

}  // namespace semel::sqs
