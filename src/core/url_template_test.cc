#include "core/url_template.h"

#include <gtest/gtest.h>

#include "core/http_spec.h"

namespace semel::core {
namespace {

const StepAnswers kAnswers = {{"lock", R"({"id":17})"}, {"charge", R"({"id":"ch/1 ?","n":1.50})"}};

Message message_of(BytesView payload, Headers headers = {}) {
  Message::Parts parts;
  parts.payload = Bytes(payload);
  parts.headers = std::move(headers);
  return Message(std::move(parts));
}

std::string url_of(std::string_view url, const Message& message) {
  return UrlTemplate::parse(url).value().url(message, kAnswers);
}

TEST(UrlTemplate, PutsWhatMessageHeaderAndAnswersSayIntoItsPlaces) {
  const Message message = message_of(R"({"order":"A-7","paid":true})", {{"Region", "eu~1"}});
  EXPECT_EQ(url_of("http://a/b?c=d", message), "http://a/b?c=d");
  EXPECT_EQ(url_of("http://a/orders/{json:/order}?paid={json:/paid}", message),
            "http://a/orders/A-7?paid=true");
  EXPECT_EQ(url_of("http://a/{header:region}/{answer:lock/id}{answer:charge/n}", message),
            "http://a/eu~1/171.50");
}

TEST(UrlTemplate, AValueStaysWithinItsPlace) {
  const Message message = message_of(R"({"a":"../x?y=1&z#é%2F","dots":"...","two":".."})");
  EXPECT_EQ(url_of("http://a/{json:/a}/b", message), "http://a/..%2Fx%3Fy%3D1%26z%23%C3%A9%252F/b");
  EXPECT_EQ(url_of("http://a/{answer:charge/id}", message), "http://a/ch%2F1%20%3F");
  EXPECT_EQ(url_of("http://a/{json:/dots}", message), "http://a/...");
  EXPECT_THROW(url_of("http://a/{json:/two}/b", message), PayloadInvalid);
}

TEST(UrlTemplate, WithoutASingleValueThereIsNoUrl) {
  const Message message = message_of(R"({"list":[1],"none":null,"empty":""})", {{"blank", ""}});
  for (const char* place :
       {"json:/list", "json:/none", "json:/empty", "json:/absent", "json:", "header:absent",
        "header:blank", "answer:lock/absent", "answer:later/id"}) {
    const std::string url = std::string("http://a/{") + place + "}";
    try {
      url_of(url, message);
      ADD_FAILURE() << url;
    } catch (const PayloadInvalid& invalid) {
      EXPECT_NE(std::string(invalid.what()).find(place), std::string::npos) << invalid.what();
    }
  }
  EXPECT_THROW(url_of("http://a/{json:/x}", message_of("no json")), PayloadInvalid);
}

TEST(UrlTemplate, WhatIsNoPlaceIsRefused) {
  for (const char* url : {"http://a/{json:/x", "http://a/json:/x}", "http://a/{}", "http://a/{x}",
                          "http://a/{json:x}", "http://a/{header:}", "http://a/{answer:/x}",
                          "http://a/{answer:x}", "http://{json:/host}/", "{json:/url}",
                          "http://a{header:b}", "http://user:{json:/p}@host/"}) {
    EXPECT_FALSE(UrlTemplate::parse(url)) << url;
    EXPECT_TRUE(url_flaw(url)) << url;
  }
  for (const char* url :
       {"http://a/{json:/x}", "http://a?b={header:c}", "https://u@a/{answer:b/c}"}) {
    EXPECT_FALSE(url_flaw(url)) << url;
  }
}

TEST(UrlTemplate, PlacesForAnswersAreKnownByTheirSteps) {
  const std::string url = "http://a/{json:/x}/{answer:lock/id}/{answer:charge/id}";
  EXPECT_EQ(place_for_answer(url), "{answer:lock/id}");
  EXPECT_EQ(place_for_answer(url, {"lock"}), "{answer:charge/id}");
  EXPECT_EQ(place_for_answer(url, {"charge", "lock"}), std::nullopt);
}

}  // namespace
}  // namespace semel::core
