CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE payment (id text NOT NULL, account bigint NOT NULL, amount bigint NOT NULL);
