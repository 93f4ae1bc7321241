#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "config/test_load.h"

namespace semel::config {
namespace {

Loaded load_traces(const std::string& traces) {
  return load_text("version: 1\n" + traces +
                       "consumers:\n"
                       "  - name: payments\n"
                       "    source: { queue: {} }\n"
                       "    handler: { native: pay }\n",
                   "semel.yaml", with_env({{"TOKEN", "abc"}}));
}

std::string url_of(const std::string& otlp) {
  const Loaded loaded = load_traces("traces: " + otlp + "\n");
  if (loaded.config) return loaded.config->traces->url;
  return loaded.diagnostics.front().code;
}

bool says(const Loaded& loaded, std::string_view code) {
  return std::ranges::find(loaded.diagnostics, code, &Diagnostic::code) != loaded.diagnostics.end();
}

TEST(TracesBuild, NothingIsTracedWithoutIt) {
  const Loaded loaded = load_traces("");
  ASSERT_TRUE(loaded.config);
  EXPECT_FALSE(loaded.config->traces);
}

TEST(TracesBuild, AnEndpointWithoutAPathGetsTheUsualOne) {
  EXPECT_EQ(url_of("http://127.0.0.1:4318"), "http://127.0.0.1:4318/v1/traces");
  EXPECT_EQ(url_of("http://127.0.0.1:4318/"), "http://127.0.0.1:4318/v1/traces");
  EXPECT_EQ(url_of("https://example.com/otlp/v1/traces"), "https://example.com/otlp/v1/traces");
  EXPECT_EQ(url_of("https://example.com/?tenant=7"), "https://example.com/?tenant=7");
}

TEST(TracesBuild, WhatCannotBeCalledIsRefused) {
  for (const char* bad : {"localhost:4318", "grpc://localhost:4317", "http://", "http://a b/",
                          "'http://h/{json:/tenant}'", "http://user:secret@h:4318"}) {
    EXPECT_EQ(url_of(bad), "E056") << bad;
  }
  const Loaded loaded = load_traces("traces: http://user:secret@h:4318\n");
  ASSERT_FALSE(loaded.diagnostics.empty());
  EXPECT_EQ(format(loaded.diagnostics.front(), false).find("secret"), std::string::npos);
}

TEST(TracesBuild, ReadsAllOfIt) {
  const Loaded loaded = load_traces(
      "traces:\n"
      "  otlp: http://127.0.0.1:4318\n"
      "  headers: { Authorization: 'Bearer ${TOKEN}' }\n"
      "  service: shop\n"
      "  sample: 0.25\n"
      "  queue: 100\n"
      "  timeout: 2s\n"
      "  ca_file: ca.pem\n");
  ASSERT_TRUE(loaded.config);
  ASSERT_TRUE(loaded.config->traces);
  const core::TracesSpec& traces = *loaded.config->traces;
  ASSERT_EQ(traces.headers.size(), 1U);
  EXPECT_EQ(traces.headers[0].name, "Authorization");
  EXPECT_EQ(traces.headers[0].value, "Bearer abc");
  EXPECT_EQ(traces.service, "shop");
  EXPECT_EQ(traces.sample, 0.25);
  EXPECT_EQ(traces.queue, 100U);
  EXPECT_EQ(traces.timeout, std::chrono::seconds(2));
  EXPECT_TRUE(traces.ca_file.ends_with("ca.pem"));
  EXPECT_FALSE(says(loaded, "W031"));
}

TEST(TracesBuild, TheUsualIsAllOfWhatBringsNoTrace) {
  const Loaded loaded = load_traces("traces: http://127.0.0.1:4318\n");
  ASSERT_TRUE(loaded.config && loaded.config->traces);
  EXPECT_EQ(loaded.config->traces->sample, 1.0);
  EXPECT_EQ(loaded.config->traces->service, "semel");
}

TEST(TracesBuild, APartIsBetweenNoneAndAll) {
  EXPECT_FALSE(load_traces("traces: { otlp: 'http://h', sample: 1.5 }\n").config);
  EXPECT_FALSE(load_traces("traces: { otlp: 'http://h', sample: -1 }\n").config);
  EXPECT_TRUE(load_traces("traces: { otlp: 'http://h', sample: 0 }\n").config);
}

TEST(TracesBuild, ASecretInTheFileIsWarnedOf) {
  EXPECT_TRUE(
      says(load_traces("traces: { otlp: 'http://h', headers: { Authorization: Bearer abc } }\n"),
           "W031"));
  EXPECT_TRUE(load_traces("traces: { otlp: 'http://h', timeout: 1m }\n").config);
  EXPECT_FALSE(load_traces("traces: { otlp: 'http://h', timeout: 61s }\n").config);
  EXPECT_TRUE(
      says(load_traces("traces: { otlp: 'http://h', headers: { Host: other } }\n"), "E051"));
}

// A collector does not receive messages, so its headers are not those of an HTTP handler's calls.
TEST(TracesBuild, HeadersOfTheExportAreItsOwn) {
  for (const char* const name :
       {"semel-team", "ce-source", "idempotency-key", "x-honeycomb-team"}) {
    const auto loaded =
        load_traces(fmt::format("traces: {{ otlp: 'http://h', headers: {{ {}: a }} }}\n", name));
    EXPECT_FALSE(says(loaded, "E051")) << name;
    ASSERT_TRUE(loaded.config) << name;
    EXPECT_EQ(loaded.config->traces->headers.front().name, name);
  }
  for (const char* const name : {"Content-Type", "content-encoding", "Host", "a b"}) {
    EXPECT_TRUE(says(
        load_traces(fmt::format("traces: {{ otlp: 'http://h', headers: {{ '{}': a }} }}\n", name)),
        "E051"))
        << name;
  }
}

}  // namespace
}  // namespace semel::config
