#include "clients/sqs/query_protocol.h"

#include <gtest/gtest.h>

#include <vector>

namespace semel::sqs {
namespace {

TEST(QueryProtocol, AFormHasAllButPlainCharactersInPercent) {
  EXPECT_EQ(form_encoded("aZ09-_.~"), "aZ09-_.~");
  EXPECT_EQ(form_encoded("a b+&=\xC3\xBC\n"), "a%20b%2B%26%3D%C3%BC%0A");
}

TEST(QueryProtocol, ElementsAreFoundByTheirNames) {
  constexpr std::string_view kXml = "<r><m><Id>0</Id></m><m><Id>1</Id></m><none/></r>";
  std::vector<std::string_view> ids;
  each_between(kXml, "m", [&](std::string_view each) { ids.push_back(between_tags(each, "Id")); });
  EXPECT_EQ(ids, (std::vector<std::string_view>{"0", "1"}));
  EXPECT_EQ(between_tags(kXml, "Id"), "0");
  EXPECT_EQ(between_tags(kXml, "none"), "");
  EXPECT_EQ(between_tags("<Id>cut off", "Id"), "");
}

TEST(QueryProtocol, EscapesAreTheirCharacters) {
  EXPECT_EQ(xml_text("&lt;a&gt; &amp;amp; &quot;&apos; & &x;"), "<a> &amp; \"' & &x;");
}

}  // namespace
}  // namespace semel::sqs
