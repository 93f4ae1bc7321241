// Payments from a list: a line of standard input names one, which is made once however often it comes.
"use strict";
const readline = require("node:readline");
const { Client } = require("pg");

async function main() {
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [payment, account, amount] = line.split(" ");
    await client.query("BEGIN");
    const claimed = await client.query("SELECT outcome FROM semel.claim('payments', $1::text, $2::text)",
      [payment, line]);
    const { outcome } = claimed.rows[0];
    if (outcome === "new") {
      await client.query("INSERT INTO payment (id, account, amount) VALUES ($1, $2, $3)",
        [payment, account, amount]);
      await client.query("UPDATE account SET balance = balance + $1 WHERE id = $2", [amount, account]);
    }
    await client.query("COMMIT");
    // After the commit. A message that is left comes again.
    const settled = ["new", "duplicate", "dead"].includes(outcome);
    process.stdout.write(`${settled ? "acknowledge" : "leave"} ${payment} ${outcome}\n`);
  }
  await client.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
