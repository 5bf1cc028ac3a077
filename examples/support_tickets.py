"""Write the support tickets of eight customers, one CSV file each, to plan an order for them from the shell.

    python examples/support_tickets.py tickets
    taskorder plan tickets --text subject --text body

The tickets are made up, but they are as one finds them: queues overlap between customers, every customer asks about
things of its own, one in seventeen tickets lies in any queue, and there are columns that nobody should learn from.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

QUEUES = {
    "billing": [
        "the invoice for {month} shows {thing} twice", "I was charged {amount} although I cancelled {thing}",
        "please send the receipt of {month} to our accounting", "why did the price of {thing} go up in {month}?",
        "my card was declined when paying for {thing}",
    ],
    "refund": [
        "I want my money back for {thing}", "when will the refund of {amount} arrive?",
        "returned {thing} in {month} and the {amount} are still missing", "please reverse the payment of {amount}",
    ],
    "login": [
        "cannot log in since {month}, the password is refused", "the reset mail for my account never arrives",
        "two factor code is wrong every time", "my account is locked after three attempts",
    ],
    "delivery": [
        "where is {thing}, ordered in {month}?", "the parcel with {thing} is marked delivered but nobody got it",
        "please deliver {thing} to another address", "tracking of {thing} has not moved for days",
    ],
    "outage": [
        "{thing} is down for all of our users", "since this morning {thing} answers with an error",
        "{thing} is very slow and times out", "no connection in the whole building",
    ],
    "fraud": [
        "there is a transfer of {amount} that I did not make", "somebody ordered {thing} in my name",
        "I got a call asking for my pin, is it you?", "please block my card, it was stolen",
    ],
    "cancel": [
        "please cancel my contract at the end of {month}", "how do I close my account?",
        "stop {thing}, I do not need it any more", "I want to leave before the contract renews in {month}",
    ],
    "data": [
        "send me all data you have stored about me", "please delete my personal data",
        "export of {thing} as a file fails", "who can see the data of {thing}?",
    ],
}  # fmt: skip
"""Ways to ask, by queue."""
CUSTOMERS = {
    "acme bank": (["billing", "login", "fraud", "cancel"], ["the savings account", "the credit card", "the loan"]),
    "borealis": (["billing", "refund", "delivery"], ["the winter coat", "the boots", "the gift voucher"]),
    "cloudnine": (["billing", "login", "outage", "data"], ["the storage bucket", "the api", "the virtual machine"]),
    "dynaphone": (["billing", "outage", "cancel"], ["the roaming pass", "the sim card", "the router"]),
    "edukate": (["login", "refund", "data"], ["the spanish course", "the certificate", "the class room"]),
    "finlink": (["fraud", "data", "login"], ["the wallet", "the transfer", "the debit card"]),
    "gadgeto": (["delivery", "refund", "billing", "cancel"], ["the tablet", "the headphones", "the smart watch"]),
    "helios": (["outage", "billing", "cancel"], ["the solar panel", "the meter", "the green tariff"]),
}
"""What every customer is asked, and about what."""
SIZES = dict(zip(CUSTOMERS, (240, 130, 90, 160, 100, 90, 300, 80), strict=True))
"""Tickets of each customer."""
OPENINGS = ["Hello,", "Hi team,", "Good morning,", "Dear support,", "", "URGENT:"]
ENDINGS = ["Thanks.", "Kind regards", "Please help, this is the second time I write.", "", "Waiting for your answer."]
MONTHS = ["January", "March", "May", "August", "October"]
WRONG = 0.06
"""Share of tickets that somebody has put into any queue."""
HEADER = ["ticket_id", "created", "subject", "body", "priority", "queue"]


def ticket_rows(customer: str, count: int, seed: int = 0) -> list[list[str]]:
    """Rows under `HEADER`, the first queues of a customer more often than its last."""
    rng = random.Random(f"{customer} {seed}")
    queues, things = CUSTOMERS[customer]
    rows = []
    for number in range(count):
        queue = rng.choices(queues, weights=range(len(queues) + 1, 1, -1))[0]
        words = {"thing": rng.choice(things), "month": rng.choice(MONTHS), "amount": f"{rng.randint(5, 400)} EUR"}
        first, second = (text.format(**words) for text in rng.sample(QUEUES[queue], 2))
        subject = first if rng.random() < 0.6 else f"question about {words['thing']}"
        body = " ".join(filter(None, [rng.choice(OPENINGS), second + ".", rng.choice(ENDINGS)]))
        if rng.random() < WRONG:
            queue = rng.choice(queues)
        created = (
            f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02} {rng.randint(7, 19):02}:{rng.randint(0, 59):02}"
        )
        rows.append(
            [f"{customer[:2].upper()}-{1000 + number}", created, subject, body, rng.choice(["low", "high"]), queue]
        )
    return rows


def write_tickets(folder: Path) -> None:
    """One CSV file for each customer."""
    folder.mkdir(exist_ok=True)
    for customer, count in SIZES.items():
        with open(folder / f"{customer}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([HEADER, *ticket_rows(customer, count)])


if __name__ == "__main__":
    write_tickets(Path(sys.argv[1]))
