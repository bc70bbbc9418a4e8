//! What is said of a person: birth, gender and belief, family, pictures, accounts elsewhere.

use super::topic;
use crate::lexicon::Category;
use crate::lexicon::entities::{INVENTED, PERSON_OR_NOT, THINGS};
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Where other accounts of a person are.
const PLATFORMS: List = "\
    facebook, fb, google, github, gitlab, bitbucket, apple, steam, discord, twitter, linkedin, \
    telegram, whatsapp, slack, instagram, tiktok, twitch, wechat, qq, weibo, kakao, naver, vk, reddit, \
    spotify, microsoft, azure, xbox, psn, playstation, nintendo, epic, gamecenter, game center, \
    facebook instant game, instant game, oauth, openid, oidc, saml, sso, ldap, keycloak, okta, orcid, \
    skype, snapchat, pinterest, youtube, viber, dropbox, paypal, yahoo, clerk, supabase, firebase, \
    huawei, garena, zalo, mastodon, bluesky, roblox, riot, minecraft, battlenet, patreon, strava, \
    fitbit, garmin, zoom, github com, google play";

/// What is on a platform without being a person.
const POSTS: List = "\
    story, post, message, comment, page, ad, campaign, channel, server, guild, group, event, thread, \
    media, video, product, order, repository, repo, issue, webhook, integration, app, application, bot, \
    company, organization, shop, store, invoice, payment, subscription, deployment, build, commit, \
    installation, workspace, team, topic";

pub(in crate::lexicon) const TOPIC: Topic = topic(
    Category::IndirectPii,
    "\
        value, raw, str, text, number, no, num, nr, encrypted, enc, ciphertext, cipher, bidx, hash, \
        url, uri, path, file, remote, cooked",
    &[
        // Birth and death.
        Rule {
            scope: Scope::Unless(INVENTED),
            phrases: "\
                dob, date of birth, dateofbirth, birth date, birthdate, birthday, birth day, \
                birth month, birth year, year of birth, birthtime, place of birth, birth place, \
                birthplace, country of birth, city of birth, born on, born at, date of death, \
                death date, deceased date, deceased at, date deceased, deceased datetime",
        },
        // The same in other languages.
        Rule {
            scope: Scope::Unless(INVENTED),
            phrases: "\
                geburtsdatum, geburtsjahr, ddn, geburtstag, geburtsort, date de naissance, \
                date naissance, lieu de naissance, fecha de nacimiento, fecha nacimiento, \
                data nascimento, data de nascimento, data di nascita, data nascita, geboortedatum, \
                data urodzenia, geschlecht, sexe, sexo, sesso, genero, plec, płeć, geslacht, \
                staatsangehoerigkeit, nationalite, nacionalidad, nacionalidade, estado civil, \
                familienstand",
        },
        // Gender, descent and belief.
        Rule {
            scope: Scope::Unless(INVENTED),
            phrases: "\
                sex, sex code, sex id, gender, gender code, gender identity, gender identity code, \
                gender cv id, gender id, pronouns, sexual orientation, ethnicity, ethnicity id, \
                ethnicity code, ethnic group, ethnoracial, race code, race color, skin color, \
                nation code, nationality, nationality code, nationality id, citizenship, religion, \
                religion id, caste, political affiliation, political party, marital status, \
                maritalstatus, marital status id, marital status cv id, profession cv id, \
                occupation cv id, marital, civil status, mother tongue, native language, \
                immigration status, veteran status, visa status, visa type",
        },
        // Accounts elsewhere.
        Rule {
            scope: Scope::After(PLATFORMS, POSTS),
            phrases: "\
                id, uid, user id, userid, user uid, username, user name, handle, sub, subject, \
                account id, openid, identifier, profile id, user, profile, login, nickname, member id, \
                player id",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                openid identifier, social link, social links, social profile, social profiles, \
                federated user id, federated username, linkedin profile, linkedin url, unionid, openid, \
                identity provider id, provider user id, provider account id, provider uid, \
                external account id",
        },
        Rule {
            scope: Scope::Of(
                "\
                    identity, authentication, user authentication, external login, user identity, \
                    social account, linked account, federated identity, oauth account, user oauth, \
                    user login",
            ),
            phrases: "\
                uid, provider uid, provider user id, provider account id, external uid, provider key, \
                subject, extern uid, user name",
        },
        // Family.
        Rule {
            scope: Scope::Unless("entity, field, table, type"),
            phrases: "\
                reln, reln cv id, relationship cv id, relation to patient, relationship to patient, \
                kinship, relationship to applicant, relationship to employee",
        },
        Rule { scope: Scope::Of("relationship"), phrases: "relationship, relationship type" },
        Rule {
            scope: Scope::OfPerson,
            phrases: "relationship, relation, relationship type, relation type, relationship code",
        },
        // Pictures and bodies.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                selfie, fingerprint template, face embedding, faceprint, voiceprint, retina scan, \
                signature image, profile picture, profile photo, profile image, profile pic, headshot, \
                passport photo, id photo",
        },
        Rule {
            scope: Scope::Of("=proof, proof of delivery, delivery proof"),
            phrases: "data, raw data, photo, signature",
        },
        Rule {
            scope: Scope::OfPerson,
            phrases: "\
                image, photo, avatar, picture, avatar url, gravatar, userpic, foto, signature, \
                message signature, email signature, bio, biography, about me, about, portrait",
        },
        Rule {
            scope: Scope::OfBut(PERSON_OR_NOT, THINGS),
            phrases: "avatar, photo, gender, birthday, bio, location, city, headline",
        },
    ],
);
