//! The frame of every page.

use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::session::Session;

/// A place in the navigation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Overview,
    Records,
    Uncertain,
    Decisions,
}

impl Place {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Overview, "/", "Overview"),
        (Self::Records, "/records", "Records"),
        (Self::Uncertain, "/uncertain", "Uncertain"),
        (Self::Decisions, "/decisions", "Decisions"),
    ];
}

/// What a page shows.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    pub(super) place: Place,
    /// After how many seconds what is marked as live is fetched anew.
    pub(super) refresh: Option<u32>,
    pub(super) body: Markup,
}

impl Page<'_> {
    pub(super) fn render(self, session: &Session) -> Markup {
        let header = html! {
            header.bar {
                a.brand href="/" { img src=(assets::ICON.path()) alt="" width="22" height="22"; "Ratchet" }
                nav aria-label="Pages" {
                    @for (place, path, name) in Place::ALL {
                        a href=(path) aria-current=[(place == self.place).then_some("page")] { (name) }
                    }
                }
                div.who {
                    span title="The separate world of records that your key is for" { (session.operator.grant.namespace) }
                    span title={ "Signed in with the key " (session.operator.grant.name) } { (session.operator.name) }
                    form method="post" action="/sign-out" { (form_token(session)) button.quiet { "Sign out" } }
                }
            }
        };
        document(self.title, self.refresh, &html! { (header) main id="main" { (self.body) } })
    }
}

/// A page without anybody signed in.
pub(super) fn document(title: &str, refresh: Option<u32>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) " · Ratchet" }
                link rel="icon" type="image/svg+xml" href=(assets::ICON.path());
                link rel="stylesheet" href=(assets::STYLE.path());
                @if refresh.is_some() { script defer src=(assets::SCRIPT.path()) {} }
            }
            body data-refresh=[refresh] {
                a.skip href="#main" { "Skip to the content" }
                (body)
                p #live role="status" {}
            }
        }
    }
}

/// What proves that a form is of this session.
pub(super) fn form_token(session: &Session) -> Markup {
    html! { input type="hidden" name="form_token" value=(session.form_token.as_str()); }
}
