//! XML bodies as the texts of their elements: enough for the errors of providers, which are small and plain.

/// The deepest nesting that is read.
const DEEPEST: usize = 32;

/// The text of each element that has no other element in it, with the names that lead to it, such as
/// `Response.Errors.Error.Code`. `None` for what is no XML, or uses more of it than errors do.
pub(super) fn texts(body: &[u8]) -> Option<Vec<(String, String)>> {
    let mut reading = Reading::default();
    let mut rest = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}').trim();
    while let Some(start) = rest.find('<') {
        let (text, markup) = rest.split_at(start);
        reading.text(text)?;
        rest = reading.markup(markup)?;
    }
    (rest.is_empty() && reading.open.is_empty() && reading.is_begun).then_some(reading.found)
}

#[derive(Default)]
struct Reading {
    /// There is an element: a declaration alone is cut off.
    is_begun: bool,
    open: Vec<Element>,
    found: Vec<(String, String)>,
}

struct Element {
    name: String,
    text: String,
    is_leaf: bool,
}

impl Reading {
    fn text(&mut self, text: &str) -> Option<()> {
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            // Nothing stands outside of the outermost element.
            None if !text.trim().is_empty() => return None,
            None => {}
        }
        Some(())
    }

    /// Takes what begins with `<`, and gives back what comes after it.
    fn markup<'a>(&mut self, markup: &'a str) -> Option<&'a str> {
        if let Some(comment) = markup.strip_prefix("<!--") {
            return comment.split_once("-->").map(|(_, rest)| rest);
        }
        if let Some(section) = markup.strip_prefix("<![CDATA[") {
            let (text, rest) = section.split_once("]]>")?;
            self.text(text)?;
            return Some(rest);
        }
        if let Some(instruction) = markup.strip_prefix("<?") {
            return instruction.split_once("?>").map(|(_, rest)| rest);
        }
        if let Some(end) = markup.strip_prefix("</") {
            let (name, rest) = end.split_once('>')?;
            self.close(name.trim_end())?;
            return Some(rest);
        }
        let (tag, rest) = split_tag(markup.strip_prefix('<')?)?;
        self.open_tag(tag)?;
        Some(rest)
    }

    fn open_tag(&mut self, tag: &str) -> Option<()> {
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split(|char: char| char.is_ascii_whitespace()).next()?;
        // A declaration can say that a name stands for any text.
        if name.is_empty() || name.starts_with('!') || self.open.len() == DEEPEST {
            return None;
        }
        self.is_begun = true;
        if let Some(parent) = self.open.last_mut() {
            parent.is_leaf = false;
        }
        self.open.push(Element { name: name.to_owned(), text: String::new(), is_leaf: true });
        if is_empty { self.close(name) } else { Some(()) }
    }

    fn close(&mut self, name: &str) -> Option<()> {
        let path: Vec<&str> = self.open.iter().map(|element| local(&element.name)).collect();
        let path = path.join(".");
        let element = self.open.pop().filter(|element| element.name == name)?;
        // What stands for another character is not read, so it is not compared.
        if element.is_leaf && !element.text.contains('&') {
            self.found.push((path, element.text.trim().to_owned()));
        }
        Some(())
    }
}

/// A name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Splits at the `>` that ends a tag: one in quotes is part of a value.
fn split_tag(tag: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, char) in tag.char_indices() {
        match (quote, char) {
            (None, '>') => return Some((&tag[..at], &tag[at + 1..])),
            (None, '"' | '\'') => quote = Some(char),
            (Some(open), _) if open == char => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Option<Vec<(String, String)>> {
        texts(body.as_bytes())
    }

    fn one(path: &str, text: &str) -> Vec<(String, String)> {
        vec![(path.to_owned(), text.to_owned())]
    }

    #[test]
    fn elements_are_found_by_the_names_that_lead_to_them() {
        let body = "<?xml version=\"1.0\"?>\n<Response a='>'><Errors><Error><Code>A</Code><Message/></Error>\
                    <Error><Code> B\n</Code></Error></Errors></Response>\n";
        let path = |name| format!("Response.Errors.Error.{name}");
        let expected = [(path("Code"), "A"), (path("Message"), ""), (path("Code"), "B")];
        assert_eq!(read(body).unwrap(), expected.map(|(path, text)| (path, text.to_owned())));
        assert_eq!(read("<s:a xmlns:s=\"x\"><s:b>1</s:b></s:a>"), Some(one("a.b", "1")));
    }

    #[test]
    fn what_only_looks_like_an_element_is_none() {
        assert_eq!(read("<a><!-- <b>1</b> --><c><![CDATA[<b>1</b>]]></c></a>"), Some(one("a.c", "<b>1</b>")));
        assert_eq!(read("<a>&lt;b&gt;</a>"), Some(vec![]));
    }

    #[test]
    fn what_is_no_plain_xml_is_not_read() {
        let deep = format!("{}{}", "<a>".repeat(33), "</a>".repeat(33));
        for refused in [
            "{}",
            "x",
            "<?xml version=\"1.0\"?>\n",
            "<a>",
            "<a></b>",
            "</a>",
            "<a",
            "<a></a>x",
            "<!DOCTYPE a><a></a>",
            "<a b='>",
            "< ></ >",
            &deep,
        ] {
            assert_eq!(read(refused), None, "{refused}");
        }
        assert_eq!(texts(&[b'<', 0xff]), None);
    }
}
