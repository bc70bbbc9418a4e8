//! Cards and bank accounts.

use super::topic;
use crate::lexicon::Category;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Entities whose cards are made of paper.
const GAMES: List = "\
    board, deck, game, hand, kanban, gift, loyalty, report, business, sim, id, identity, health, \
    membership";

const CARDS: List = "\
    card, credit card, debit card, payment card, bank card, cc, stored card, payment method";

const BANK_ACCOUNTS: List = "\
    bank, bank account, external account, payout account, bank detail, bank transfer, direct debit, \
    sepa, ach, payment detail, payout method";

pub(in crate::lexicon) const TOPIC: Topic = topic(
    Category::FinancialAccount,
    "\
        address, number, num, no, nr, numero, value, raw, text, str, encrypted, enc, ciphertext, hash, \
        hashed, digest, bidx, masked, plain, data, details, mask",
    &[
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                iban, cardnumber, cc num, cc number, ccnum, cc no, credit card, credit cards, \
                creditcard, debit card, payment card, card exp, card expiry, card expiration, \
                card expiration date, card exp date, card bin, card iin, card isin, card last, \
                card last four, last digits, last four digits, card data, card details, card mask, \
                first digits, payment method data, payment instrument data, card info, pan masked, \
                masked pan, card pan, card track, track data, cc exp, cc expiry, cc last, exp month, \
                exp year, expiry month, expiry year, expiration month, expiration year, bank account, \
                bankaccount, bank acct, bank ac, acct no, acct num, acct number, bank details, \
                bank number, beneficiary account, payee account, bank account holder, upi id, vpa id, \
                pix key, chave pix, clabe, cbu, kontonummer, bankkonto, bankverbindung, \
                numero de cuenta, cuenta bancaria, conta bancaria, numero de compte, rekeningnummer, \
                numer konta, numero di conto, credit score, micr code, micr",
        },
        Rule { scope: Scope::Unless(GAMES), phrases: "card number, card no" },
        Rule {
            scope: Scope::Unless("loan, share, gl, ledger, company, organization, utility, customer, meter"),
            phrases: "account number, account no, accountnumber",
        },
        Rule { scope: Scope::Alone, phrases: "last" },
        Rule {
            scope: Scope::OfBut(CARDS, GAMES),
            phrases: "\
                number, month, year, expiry, expiration, expiry date, expiration date, expires at, exp, \
                bin, last, last digits, fingerprint data, track, expires",
        },
        Rule {
            scope: Scope::Of(BANK_ACCOUNTS),
            phrases: "number, account, account number, iban, mask, last, numero",
        },
        Rule { scope: Scope::OfPerson, phrases: "iban, bank account name, vpa, upi" },
    ],
);
