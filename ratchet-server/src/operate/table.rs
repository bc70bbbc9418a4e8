//! Columns for people.

use std::io::{self, Write};

use crate::terminal::harmless;

/// Writes rows in columns that are as wide as their longest cell; the last one is left as it is.
pub(crate) fn write(out: &mut dyn Write, header: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let header = header.iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<String>> = std::iter::once(&header)
        .chain(rows)
        .map(|row| row.iter().map(|cell| harmless(cell).replace('\n', " ")).collect())
        .collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let rows =
            [vec!["a".to_owned(), "long\u{1B}[2J".to_owned()], vec!["schlüssel".to_owned(), "b".to_owned()]];
        let mut out = Vec::new();
        super::write(&mut out, &["ONE", "TWO"], &rows).unwrap();
        let expected = "ONE        TWO\na          long\u{FFFD}[2J\nschlüssel  b\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
