//! Where a person is, on the map and in the network, and what they carry along.

use super::topic;
use crate::lexicon::Category;
use crate::lexicon::entities::{ADDRESSES, MACHINES, SENDINGS, THINGS};
use crate::lexicon::rule::{List, Rule, Scope, Topic};

/// Where a person is: the parts of an address that do not reach the door.
const WHEREABOUTS: List = "\
    city, town, village, town village, suburb, district, county, county district, city village, state, \
    state province, province, region, country, country code, country iso, country name, state code, \
    state name, province code, city name, zip, zip code, zipcode, postal code, postalcode, postcode, \
    pincode, neighborhood, neighbourhood, building, landmark, municipality, prefecture, locality, \
    sublocality, hometown, location, current location, last location, coordinates, coords, geo, \
    geolocation, geopoint, point, parish, ciudad, cidade, ville, ort, stadt, wohnort, plz, \
    postleitzahl, code postal, codigo postal, cep, cap, citta, città, miasto, kod pocztowy, woonplaats, \
    land, pais, país, pays, bairro, estado, cp, commune, localite, localidad, municipio, provincia, \
    comune, departamento, canton, emirate, miejscowosc, plus four, zip plus four, city code, \
    city locality";

pub(in crate::lexicon) const TOPIC: Topic = topic(
    Category::IndirectPii,
    "\
        value, raw, str, text, number, no, num, nr, encrypted, enc, ciphertext, cipher, bidx, hash, \
        address, addr",
    &[
        // Networks and devices.
        Rule {
            scope: Scope::Unless(MACHINES),
            phrases: "\
                ip, ips, ipaddress, ipv, remote addr, remoteaddr, lastip, lastloginip, clientip, \
                userip, loginip, ipaddr, remoteip, ip adresse, remote address",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                client ip, user ip, customer ip, visitor ip, user agent, useragent, \
                browser fingerprint, device fingerprint, browser info, forwarded for, advertising id, \
                idfa, gaid, imei, imsi, iccid, device info, user location, client hostname",
        },
        Rule {
            scope: Scope::OfPerson,
            phrases: "ua, mac address, browser, device model, device name, last ip, ip",
        },
        // Position on the map.
        Rule {
            scope: Scope::Unless(THINGS),
            phrases: "\
                latitude, longitude, geolocation, lat, lng, lon, latlng, gps, gps coordinates, \
                gps position, gps location, coordinates",
        },
        // Vehicles lead to their owners.
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                license plate, licence plate, vehicle no, vehicle number, plate number, plate no, \
                number plate, reg plate, registration plate, vehicle registration, vehicle plate, vin, \
                chassis no, chassis number, kennzeichen, matricula, immatriculation, targa",
        },
        // Whereabouts.
        Rule { scope: Scope::OfPerson, phrases: WHEREABOUTS },
        Rule { scope: Scope::OfBut(ADDRESSES, THINGS), phrases: WHEREABOUTS },
        Rule {
            scope: Scope::Of(SENDINGS),
            phrases: "\
                city, zip, zip code, zipcode, postal code, postcode, district, province, country, \
                country code",
        },
        Rule {
            scope: Scope::Anywhere,
            phrases: "\
                shipping city, billing city, shipping zip, billing zip, billing postal code, \
                shipping postal code, shipping country, billing country, shipping state, billing state, \
                billing postcode, shipping postcode, billing company, shipping company, billing region, \
                shipping region, billing province, shipping province, ship city, ship country, \
                ship zip, ship postal code, ip country, ip city",
        },
    ],
);
