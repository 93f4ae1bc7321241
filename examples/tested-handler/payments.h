// The handlers of a consumer, as the program registers them: runner.on("payments", pay).
#pragma once

#include <semel/handler.h>

#include <functional>
#include <string>

inline semel::Verdict pay(const semel::Message& m, semel::Transaction& tx) {
  tx.exec("UPDATE account SET balance = balance + ? WHERE id = ?", m.json<int>("/amount"),
          m.json<std::string>("/account"))
      .expect_rows(1, semel::dead("no such account"));
  return semel::done();
}

// Sends a mail from inside of the transaction: it has left, whatever becomes of that.
inline semel::Verdict pay_and_mail(const semel::Message& m, semel::Transaction& tx,
                                   const std::function<void(const std::string&)>& send_mail) {
  send_mail("receipt of " + m.key().text);
  return pay(m, tx);
}

// The mail is a message of its own, which leaves when the payment is recorded.
inline semel::Verdict pay_and_publish(const semel::Message& m, semel::Transaction& tx) {
  semel::OutgoingMessage mail;
  mail.payload = "receipt of " + m.key().text;
  tx.publish("mails", std::move(mail));
  return pay(m, tx);
}
