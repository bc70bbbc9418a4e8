//! R005: secrets and bearer tokens.

use crate::finding::Code;
use crate::lexicon::Category;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Words that make a token a cursor, a count, a collectible or the number of an attempt.
const HARMLESS_TOKENS: List = "\
    next, prev, previous, page, cursor, continuation, prompt, completion, parser, lexer, nft, erc, crypto, \
    input, output, sync, asset, website, widget, fencing, lease, attempt";

/// Whose `pin` or `code` is a secret.
const ACCOUNTS: List = "account, card, user, customer, member, login, security, sim, device";

pub(super) const TOPIC: Topic = Topic {
    code: Code::R005,
    category: Some(Category::Credential),
    neutral_tails: "value, raw, str, string, hash, digest, plain, plaintext, header",
    rules: &[
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                password, passwd, passphrase, passcode, secret, client secret, secret key, api key, \
                apikey, access key, private key, privatekey, signing key, encryption key, activation key, \
                bearer, jwt, access token, refresh token, auth token, session token, id token, \
                bearer token, session cookie, hmac token, cvv, cvc, otp, totp, otp seed, secret answer, \
                mnemonic, seed phrase, recovery code, backup code, encrypted password, password salt, \
                mot de passe, contrasena, senha, passwort, kennwort",
        },
        Rule { scope: Scope::Unless(HARMLESS_TOKENS), phrases: "token" },
        Rule { scope: Scope::Unless("expired, nonexpired"), phrases: "credential, credentials" },
        // A payment has an authorization too; the secret one is a header.
        Rule { scope: Scope::Alone, phrases: "authorization, pin" },
        Rule { scope: Scope::Of("header, headers, proxy"), phrases: "authorization" },
        Rule { scope: Scope::OfPerson, phrases: "salt, tokens" },
        Rule { scope: Scope::Of(ACCOUNTS), phrases: "pin, pin code" },
    ],
    why: "is a credential, and keys are copied into logs, error reports and the records of the destination, where \
          anyone who reads them could use it",
    help: "an opaque id from your own records, such as `<session_id>`, tells records apart as well",
};
