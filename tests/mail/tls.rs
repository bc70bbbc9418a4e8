//! STARTTLS and SMTPS, against aiosmtpd with a certificate that was made for the test.

use ratchet::mail::lettre::transport::smtp::client::{Certificate, TlsParameters};
use ratchet::mail::{Mailer, Relay};
use ratchet::{CauseKind, OutcomeKind};
use rcgen::CertifiedKey;
use tempfile::TempDir;

use crate::independent::Aiosmtpd;
use crate::relay::Scripted;
use crate::{context, receipt};

const HOST: &str = "127.0.0.1";

struct Certified {
    folder: TempDir,
    pem: String,
}

fn certified() -> Certified {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(folder.path().join("key.pem"), signing_key.serialize_pem()).unwrap();
    Certified { folder, pem: cert.pem() }
}

impl Certified {
    async fn server(&self, kind: &str) -> Aiosmtpd {
        let file = |name| self.folder.path().join(name).display().to_string();
        Aiosmtpd::start(&[kind, &file("cert.pem"), &file("key.pem")]).await
    }

    /// What trusts it.
    fn trusted(&self) -> TlsParameters {
        let certificate = Certificate::from_pem(self.pem.as_bytes()).unwrap();
        TlsParameters::builder(HOST.to_owned()).add_root_certificate(certificate).build().unwrap()
    }
}

fn relay(kind: &str) -> Relay {
    if kind == "smtps" { Relay::smtps(HOST).unwrap() } else { Relay::starttls(HOST).unwrap() }
}

#[tokio::test]
async fn a_message_goes_encrypted_to_a_relay_that_is_trusted_and_not_at_all_to_another() {
    for kind in ["starttls", "smtps"] {
        let certified = certified();
        let mut server = certified.server(kind).await;
        let stranger = Mailer::new(relay(kind).port(server.port), "shop.example").unwrap();
        let failure = stranger.send(&context(), receipt(7)).await.unwrap_err();
        assert_eq!(failure.outcome().kind(), OutcomeKind::NotApplied, "{kind}");
        assert_eq!(failure.outcome().cause().unwrap().kind(), CauseKind::Connect, "{kind}");

        let way = relay(kind).port(server.port).tls_parameters(certified.trusted());
        Mailer::new(way, "shop.example").unwrap().send(&context(), receipt(7)).await.unwrap();
        assert_eq!(server.taken().await["encrypted"], true, "{kind}");
    }
}

#[tokio::test]
async fn a_relay_without_starttls_gets_neither_credentials_nor_a_message() {
    let relay = Scripted::playing(&[]).await;
    let way = Relay::starttls(HOST).unwrap().port(relay.port).credentials("shop", "hunter2");
    let mailer = Mailer::new(way, "shop.example").unwrap();
    let failure = mailer.send(&context(), receipt(7)).await.unwrap_err();
    assert_eq!(failure.outcome().kind(), OutcomeKind::NotApplied);
    assert!(relay.heard().iter().all(|line| line.starts_with("EHLO")), "{:?}", relay.heard());
}
