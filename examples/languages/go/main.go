// Payments from a list: a line of standard input names one, which is made once however often it comes.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
)

func pay(ctx context.Context, connection *pgx.Conn, line string) (payment, outcome string, err error) {
	var account, amount int64
	if _, err := fmt.Sscan(line, &payment, &account, &amount); err != nil {
		return payment, "", err
	}
	err = pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		claimed := tx.QueryRow(ctx, "SELECT outcome FROM semel.claim('payments', $1::text, $2::text)", payment, line)
		if err := claimed.Scan(&outcome); err != nil || outcome != "new" {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO payment (id, account, amount) VALUES ($1, $2, $3)",
			payment, account, amount); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE account SET balance = balance + $1 WHERE id = $2", amount, account)
		return err
	})
	return payment, outcome, err
}

func main() {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		payment, outcome, err := pay(ctx, connection, lines.Text())
		if err != nil {
			log.Fatal(err)
		}
		// After the commit. A message that is left comes again.
		switch outcome {
		case "new", "duplicate", "dead":
			fmt.Println("acknowledge", payment, outcome)
		default:
			fmt.Println("leave", payment, outcome)
		}
	}
}
