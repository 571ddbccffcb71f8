#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A database whose committed transactions are logged where no crash reaches.

database.py make KIND WHERE
database.py write KIND WHERE LOG
    Commits numbered transactions one after the other, endlessly. Each is a row, and moves its
    amount between two accounts. LOG gets a line before each transaction begins and another
    one after its COMMIT has returned; each tenth ends with ROLLBACK. Goes on where LOG ends.
    Status 3 when the database fails.
database.py check KIND WHERE LOG
    Every transaction whose COMMIT has returned is there exactly once, no transaction is there
    without a COMMIT, the accounts are the sums of the rows, and the database's own check
    finds nothing.

KIND: sqlite-wal or sqlite-rollback, and WHERE is the file; postgres, and WHERE is the
directory of the server's socket.
"""

import collections
import os
import sqlite3
import subprocess
import sys

ACCOUNTS = 50
TABLES = [
    "CREATE TABLE done (n BIGINT, a INTEGER, b INTEGER, m INTEGER, pad TEXT)",
    "CREATE INDEX done_n ON done (n)",
    "CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT)",
]


class Failed(Exception):
    """The database reports an error."""


class Sqlite:
    """EXTRA: the rollback journal's removal is durable when COMMIT returns."""

    def __init__(self, kind, where):
        mode = "WAL" if kind == "sqlite-wal" else "DELETE"
        self.db = sqlite3.connect(where, timeout=60, isolation_level=None)
        self.query(f"PRAGMA journal_mode={mode}")
        self.query("PRAGMA synchronous=EXTRA")
        self.query("PRAGMA wal_autocheckpoint=50")
        self.query("PRAGMA cache_size=-100")

    def query(self, statement):
        try:
            return self.db.execute(statement).fetchall()
        except sqlite3.Error as error:
            raise Failed(error) from error

    def run(self, statements):
        for statement in statements:
            self.query(statement)

    def faults(self):
        return [row[0] for row in self.query("PRAGMA integrity_check")
                if row[0] != "ok"]


class Postgres:
    """One psql, which ends at the first error."""

    def __init__(self, _kind, where):
        # pylint: disable=consider-using-with
        self.psql = subprocess.Popen(
            [os.environ["PSQL"], "-qAtX", "-v", "ON_ERROR_STOP=1", "-h", where,
             "-U", "postgres", "postgres"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def query(self, statement):
        rows = []
        try:
            self.psql.stdin.write(statement + ";\n\\echo end\n")
            self.psql.stdin.flush()
        except OSError as error:
            raise Failed(error) from error
        for line in self.psql.stdout:
            if line == "end\n":
                return rows
            rows.append([int(word) for word in line.split("|")])
        raise Failed("psql has ended")

    def run(self, statements):
        self.query(";\n".join(statements))

    def faults(self):
        return []


def database(kind, where):
    return (Postgres if kind == "postgres" else Sqlite)(kind, where)


def make(db):
    db.run(["BEGIN"] + TABLES +
           [f"INSERT INTO account VALUES ({n}, 0)" for n in range(ACCOUNTS)] +
           ["COMMIT"])


def statements_of(number):
    a, b, m = number * 7 % ACCOUNTS, (number * 11 + 1) % ACCOUNTS, number % 97
    pad = f"{number:08x}" * (number % 50)
    return ["BEGIN",
            f"INSERT INTO done VALUES ({number}, {a}, {b}, {m}, '{pad}')",
            f"UPDATE account SET balance = balance - {m} WHERE id = {a}",
            f"UPDATE account SET balance = balance + {m} WHERE id = {b}",
            "COMMIT" if is_committed(number) else "ROLLBACK"]


def is_committed(number):
    return number % 10 != 9


def read_log(path):
    """Returns the numbers of begun transactions, and of those whose COMMIT has returned."""
    begun, committed = set(), set()
    with open(path, encoding="ascii") as log:
        for line in log:
            word, number = line.split()
            (begun if word == "b" else committed).add(int(number))
    return begun, committed


def write(db, path):
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    number = max(read_log(path)[0], default=0)
    while True:
        number += 1
        os.write(log, b"b %d\n" % number)
        db.run(statements_of(number))
        if is_committed(number):
            os.write(log, b"c %d\n" % number)


def judge(rows, accounts, begun, committed):
    """Returns what is wrong."""
    there = collections.Counter(row[0] for row in rows)
    balance = collections.Counter()
    for _, a, b, m in rows:
        balance[a] -= m
        balance[b] += m
    return [f"{n} is missing" for n in sorted(committed) if n not in there] + \
        [f"{n} is there {count} times" for n, count in there.items() if count > 1] + \
        [f"{n} was not committed" for n in there
         if n not in begun or not is_committed(n)] + \
        [f"account {n} has {have}, not {balance[n]}" for n, have in accounts
         if have != balance[n]]


def check(db, path):
    begun, committed = read_log(path)
    rows = db.query("SELECT n, a, b, m FROM done")
    accounts = db.query("SELECT id, balance FROM account")
    bad = db.faults() + judge(rows, accounts, begun, committed)
    for text in bad[:20]:
        print(text)
    print(f"{len(committed)} were committed, {len(rows)} are there, {len(bad)} faults")
    return 1 if bad or not committed or len(accounts) != ACCOUNTS else 0


def main():
    command, kind, where, *log = sys.argv[1:]
    try:
        db = database(kind, where)
        if command == "make":
            make(db)
        elif command == "write":
            write(db, *log)
        else:
            return check(db, *log)
    except Failed as error:
        print(f"{kind}: {error}", file=sys.stderr)
        return 3
    return 0


sys.exit(main())
