"""Places an order and has it shipped, in one transaction, as docs/sql.md shows."""

import json
import sys

import psycopg
from psycopg.rows import namedtuple_row
from psycopg.types.json import Json

url, order, end = sys.argv[1:]
order = json.loads(order)

with psycopg.connect(url, row_factory=namedtuple_row) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS orders (id bigint)")
    connection.commit()
    with connection.transaction() as transaction:
        connection.execute("INSERT INTO orders VALUES (%s)", [order["id"]])
        told = connection.execute(
            "SELECT * FROM ratchet.enqueue('ship', '1', %s)", [Json(order)]
        ).fetchone()
        print(told.answer)
        if told.answer == "conflict" or end == "rollback":
            raise psycopg.Rollback(transaction)
    print("orders:", connection.execute("SELECT count(*) AS count FROM orders").fetchone().count)
