//! R005: secrets and bearer tokens.

use crate::finding::Code;
use crate::lexicon::Category;
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Words that make a token a cursor, a count, a collectible or the number of an attempt.
const HARMLESS_TOKENS: List = "\
    next, prev, previous, page, cursor, continuation, sync, prompt, completion, input, output, cached, \
    total, max, parser, lexer, nft, erc, crypto, coin, swap, pair, pool, liquidity, collateral, reward, \
    gas, stake, asset, website, widget, fencing, lease, attempt, css, design, used, remaining, billed, \
    base, quote, native, sell, buy";

/// Whose `pin` is a secret.
const ACCOUNTS: List = "\
    account, card, user, customer, member, employee, staff, driver, login, security, sim, device, \
    transaction, atm";

/// What a code opens or proves.
const LOCKS: List = "\
    recovery, backup, verification, otp, factor, mfa, login, magic, magic link, access, reset, \
    activation, oauth, oauth authorization, device, door, gate, alarm, security, security access, \
    unlock, lock, entry, sms, pairing, email confirmation, invite, invitation, otp code, otp challenge, \
    invite code, invitation code, signup, enrollment";

/// Keys that are records, where the secret is a column.
const KEYS: List = "\
    api, api key, auth, auth token, access, access token, access key, authtoken token, license, agent, \
    runner";

pub(super) const TOPIC: Topic = Topic {
    code: Code::R005,
    category: Some(Category::Credential),
    neutral_tails: "\
        value, raw, str, string, hash, hashed, digest, sha, bcrypt, plain, plaintext, cleartext, \
        header, encrypted, enc, cipher, ciphertext, crypted, iv, text, current, previous, old, new, \
        live, test, sandbox, production, base, pem, history, bidx",
    rules: &[
        // Passwords.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                password, passwords, passwd, pwd, pw, passphrase, passcode, password salt, pass hash, \
                passhash, passwordhash, userpassword, user pass, smtp pass, db pass, auth pass, \
                mot de passe, mdp, contrasena, contraseña, clave de acceso, senha, passwort, kennwort, \
                wachtwoord, haslo, hasło, auth config, auth data, auth settings, auth header, \
                auth headers",
        },
        // Secrets and private keys.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                secret, secrets, client secret, secret key, secretkey, api key, api keys, apikey, \
                apisecret, access key, auth key, authkey, authentication key, private key, privatekey, \
                private keys, privkey, priv key, private pem, signing key, encryption key, \
                encrypted key, decryption key, master key, dek, kek, activation key, hmac, hmac key, \
                hmac token, session key, service account json, sas key, license key, provisioning key, \
                shared key, preshared key, psk, wifi key, app key, appkey, nwk key, nwkkey, app s key, \
                appskey, nwk s key, nwkskey, network key, signature key, consumer key, token key, \
                keystore, xpriv, xprv, spend key, invite key, session key auth, secret data, \
                credential data, connector account details, connector webhook details, security stamp, \
                fs uniquifier, connection string, private jwk, client assertion, secret token, \
                secret answer, security answer, security answers, mnemonic, seed phrase, seedphrase, \
                wallet seed, keypair, geheimnis, cle secrete, chave secreta, clave secreta, \
                response hash key",
        },
        // Bearer tokens, of which a few are written without the word.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                bearer, jwt, access token, accesstoken, refresh token, refreshtoken, auth token, \
                authtoken, session token, id token, bearer token, csrf token, session cookie, \
                auth cookie, cookies, remember me token, device token, push token, fcm token, \
                apns token, registration token, access tokens, refresh tokens, auth tokens, \
                push tokens, device tokens, fcm tokens, magic link, sas url, presigned url, signed url",
        },
        Rule { scope: Scope::NotOf(HARMLESS_TOKENS), phrases: "token" },
        // Proofs that are used once.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                cvv, cvc, otp, otp seed, otp secret, totp, totp seed, totp secret, mfa seed, \
                recovery code, recovery codes, backup code, backup codes, scratch codes, \
                verification code, security code, one time code, reset code, login code, code verifier, \
                validation hash, confirmation hash, verification hash, reset hash, remember digest, \
                remember hash, reset digest, activation digest, pin hash, pin code hash, refresh hash",
        },
        Rule { scope: Scope::Of(LOCKS), phrases: "code, codes" },
        Rule { scope: Scope::Of(KEYS), phrases: "key, display key" },
        // What proves the second factor.
        Rule {
            scope: Scope::After("two fa, fa, tfa, mfa, two factor, second factor, factor auth, totp", ""),
            phrases: "settings, config, data, key, seed",
        },
        Rule {
            scope: Scope::Of("authenticator, second factor, two factor, mfa device"),
            phrases: "config, data, seed",
        },
        Rule { scope: Scope::Of("account, login, auth"), phrases: "salt, verifier, pass, hash" },
        // The half of a browser's push subscription that signs.
        Rule { scope: Scope::Of("push subscription, key"), phrases: "auth, auth key, key auth" },
        Rule { scope: Scope::Unless("expired, nonexpired, type"), phrases: "credential, credentials" },
        // The id of device credentials is what the device shows.
        Rule { scope: Scope::Of("credential"), phrases: "credentials id, key, config, salt" },
        // The key with which an agent or an integration signs in.
        Rule {
            scope: Scope::Of("edge, integration, pagerduty, opsgenie"),
            phrases: "routing key, integration key",
        },
        // A payment has an authorization too; the secret one is a header.
        Rule { scope: Scope::Alone, phrases: "authorization, pin" },
        Rule { scope: Scope::Of("header, headers, proxy"), phrases: "authorization, cookie" },
        Rule { scope: Scope::OfPerson, phrases: "salt, tokens, pass, hash, uniquifier, security question" },
        Rule { scope: Scope::Of(ACCOUNTS), phrases: "pin, pin code" },
    ],
    why: "is a credential, and keys are copied into logs, error reports and the records of the destination, where \
          anyone who reads them could use it",
    help: "an id from your own records tells them apart, and the worker hands credentials to the handler as `ratchet::State`",
};
