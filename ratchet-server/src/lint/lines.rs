//! Reads the input line by line, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::str;

use crate::error::Error;

/// The longest line, in bytes, without its end.
pub(crate) const MAX_LINE_BYTES: usize = 65_536;

const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// The lines of a file or of standard input.
pub(super) struct Lines {
    source_name: String,
    reader: BufReader<Box<dyn Read>>,
    buffer: Vec<u8>,
    number: u64,
}

/// One line, without its end.
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: u64,
    pub(super) text: &'a str,
}

impl Lines {
    /// Opens the file; `-` or none is standard input.
    pub(super) fn open(file: Option<&Path>) -> Result<Self, Error> {
        let (source_name, reader): (_, Box<dyn Read>) = match file.filter(|file| *file != Path::new("-")) {
            None => ("<stdin>".to_owned(), Box::new(io::stdin())),
            Some(path) => {
                let source_name = path.display().to_string();
                match File::open(path) {
                    Ok(file) => (source_name, Box::new(file)),
                    Err(reason) => return Err(Error::Unreadable { source_name, reason }),
                }
            }
        };
        Ok(Self { source_name, reader: BufReader::new(reader), buffer: Vec::new(), number: 0 })
    }

    /// How messages call the input.
    pub(super) fn source_name(&self) -> String {
        self.source_name.clone()
    }

    /// Whether the next line has to be fetched, which can take as long as its writer takes.
    pub(super) fn may_wait(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, Error> {
        // Room for the mark before the text and the two bytes after it.
        let longest = MAX_LINE_BYTES + BYTE_ORDER_MARK.len() + 2;
        self.buffer.clear();
        let read = self.reader.by_ref().take(longest as u64).read_until(b'\n', &mut self.buffer);
        let read =
            read.map_err(|reason| Error::Unreadable { source_name: self.source_name.clone(), reason })?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let bytes = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let mark = if self.number == 1 { BYTE_ORDER_MARK } else { b"" };
        self.text(bytes.strip_prefix(mark).unwrap_or(bytes)).map(Some)
    }

    fn text<'a>(&self, bytes: &'a [u8]) -> Result<Line<'a>, Error> {
        let (source_name, line) = (self.source_name.clone(), self.number);
        if bytes.len() > MAX_LINE_BYTES {
            return Err(Error::LineTooLong { source_name, line });
        }
        match str::from_utf8(bytes) {
            Ok(text) => Ok(Line { number: line, text }),
            Err(error) => Err(Error::NotUtf8 { source_name, line, byte: error.valid_up_to() + 1 }),
        }
    }
}
