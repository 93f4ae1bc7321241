#include <semel/testing/deliver.h>

#include <iostream>
#include <vector>

#include "payments.h"

using semel::testkit::deliver;

int main() {
  semel::testkit::TestStore bank(
      "CREATE TABLE account(id TEXT PRIMARY KEY, balance INTEGER NOT NULL);"
      "INSERT INTO account VALUES ('ada', 100), ('eve', 100);");
  const std::vector<semel::testkit::TestMessage> messages = {
      {.key = "p-1", .payload = R"({"account": "ada", "amount": 5})"},
      {.key = "p-2", .payload = R"({"account": "eve", "amount": 20})"},
      {.key = "p-3", .payload = R"({"account": "bob", "amount": 1})"},
  };

  const auto paid = deliver(pay, messages, {.store = &bank, .may_give_up = true});
  std::cout << "pay: " << paid << "\n";

  semel::testkit::Outside mails("mails");
  const auto mailed = deliver(
      [&](const semel::Message& m, semel::Transaction& tx) {
        return pay_and_mail(m, tx, [&](const std::string& mail) { mails.add(mail); });
      },
      messages, {.store = &bank, .outside = {&mails}, .may_give_up = true});
  std::cout << "pay_and_mail: " << mailed << "\n";

  const auto published = deliver(pay_and_publish, messages,
                                 {.store = &bank, .receivers = {"mails"}, .may_give_up = true});
  std::cout << "pay_and_publish: " << published << "\n";
  return paid && !mailed && published ? 0 : 1;
}
