// RunnerSetup: everything that a Runner is given before it runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <semel/consumer.h>
#include <semel/handler.h>
#include <semel/step_spec.h>

#include "compose/compose.h"
#include "compose/traces.h"
#include "config/config.h"

namespace semel::compose {

// The calls throw like those of Runner, and then change nothing.
struct RunnerSetup {
  config::Config config;
  std::vector<std::string> values;  // from code: the values of which the config was made
  bool from_code = false;
  ServiceOptions options;
  OwnTraces traces;
  bool takes_signals = true;
  bool prints = true;

  void add(ConsumerOptions consumer);
  void set_handler(std::string_view name, Handler handler, ApplyHandler apply);
  void set_steps(std::string_view name, StepSpecs steps);
  void set_source(std::string_view name, FromOwn source);
  void set_key(std::string_view consumer, KeyFunction function);
  void set_traces(SpanSink& sink, double sample);

 private:
  void check_handler(const config::ConsumerConfig& consumer, bool transactional,
                     bool has_apply) const;
  // The config is read before the traits of native sources are known.
  void give_traits();
};

}  // namespace semel::compose
