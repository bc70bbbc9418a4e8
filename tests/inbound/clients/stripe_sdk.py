"""Charges with Stripe's official SDK, pointed at the service, and prints what the SDK saw."""

import json
import sys

import stripe

client = stripe.StripeClient("sk_test_123", base_addresses={"api": sys.argv[1]}, max_network_retries=2)


def charge(amount):
    params = {"amount": amount, "currency": "eur", "source": "tok_visa"}
    return client.v1.charges.create(params, {"idempotency_key": "sdk-7"})


charges = [charge(1400), charge(1400)]
try:
    refused = charge(1500)
except stripe.StripeError as error:
    refused = error.http_status
print(
    json.dumps(
        {
            "charges": [one.id for one in charges],
            "replayed": [one.last_response.headers.get("idempotent-replayed") for one in charges],
            "other_amount": refused,
        }
    )
)
