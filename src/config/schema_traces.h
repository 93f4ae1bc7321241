// The schema of `traces:`.
#pragma once

#include "config/member.h"
#include "config/schema.h"
#include "config/schema_handler.h"
#include "config/schema_units.h"
#include "core/traces_spec.h"

namespace semel::config {

inline constexpr Field kTracesFields[] = {
    {.name = "otlp",
     .shape = Shape::kText,
     .meaning = "A collector's endpoint for OTLP over HTTP, as `http://127.0.0.1:4318`: without a "
                "path spans go to `/v1/traces` there.",
     .required = true,
     .address = true},
    {.name = "headers",
     .shape = Shape::kDictionary,
     .meaning = "Sent with every request to it. Their values are never shown.",
     .fields = kHeaderField},
    {.name = "service",
     .shape = Shape::kText,
     .meaning = "The name under which a tracing system shows this program: `service.name`.",
     .member = &kMember<&core::TracesSpec::service>},
    {.name = "sample",
     .shape = Shape::kNumber,
     .meaning = "The part that is traced of the messages that came without a `traceparent`. One "
                "that has it is traced where its sampled flag says so.",
     .member = &kMember<&core::TracesSpec::sample>,
     .low = 0,
     .high = 1},
    {.name = "queue",
     .shape = Shape::kInteger,
     .meaning = "Spans that wait for the collector; what finds no room is dropped and counted.",
     .member = &kMember<&core::TracesSpec::queue>,
     .low = 1,
     .high = 1'000'000},
    {.name = "timeout",
     .shape = Shape::kDuration,
     .meaning = "Of one request to it.",
     .member = &kMember<&core::TracesSpec::timeout>,
     .low = 1,
     .high = kHour},
    {.name = "ca_file",
     .shape = Shape::kPath,
     .meaning = "Certificates (PEM) that are trusted in place of the system's.",
     .member = &kMember<&core::TracesSpec::ca_file>},
};

}  // namespace semel::config
