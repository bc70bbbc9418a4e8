//! What a run shows at its end.

use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// Different invoices in the file.
    pub(crate) invoices: usize,
    /// Recorded for execution.
    pub(crate) enqueued: usize,
    /// The same invoice again, recognised by its key.
    pub(crate) duplicates: usize,
    /// The same invoice with another amount, refused.
    pub(crate) conflicts: usize,
    /// Executions that were started.
    pub(crate) attempts: u64,
    /// Times that the worker was killed.
    pub(crate) kills: usize,
    /// Requests that reached the payment service.
    pub(crate) requests: i64,
    /// Charges that it made.
    pub(crate) charges: i64,
    /// Invoices that were charged more than once.
    pub(crate) double_charges: i64,
    /// Invoices that were not charged.
    pub(crate) uncharged: i64,
}

impl Report {
    /// What must hold: with a key every invoice is charged exactly once; without one nothing is lost, and the repeated
    /// charges show what the key is for.
    pub(crate) fn holds(&self, without_key: bool) -> bool {
        let recorded = self.enqueued == self.invoices && self.duplicates > 0 && self.conflicts == 1;
        let charged = self.uncharged == 0 && (self.double_charges == 0) != without_key;
        recorded && charged && self.kills > 0
    }

    pub(crate) fn print(&self, without_key: bool) {
        let rows: [(&str, i128); 10] = [
            ("invoices in the file", self.invoices as i128),
            ("enqueued", self.enqueued as i128),
            ("duplicates recognised", self.duplicates as i128),
            ("conflicts refused (same invoice, other amount)", self.conflicts as i128),
            ("attempts", self.attempts.into()),
            ("times the worker was killed", self.kills as i128),
            ("requests that reached the payment service", self.requests.into()),
            ("charges made", self.charges.into()),
            ("charged twice", self.double_charges.into()),
            ("not charged", self.uncharged.into()),
        ];
        println!();
        for (name, value) in rows {
            println!("  {name:<48}{value:>6}");
        }
        println!();
        println!("{}", self.verdict(without_key));
    }

    fn verdict(&self, without_key: bool) -> &'static str {
        match (self.holds(without_key), without_key) {
            (true, false) => "Every invoice was charged exactly once: each attempt carried the same key.",
            (true, true) => {
                "Nothing was lost, but without a key the payment service charged again for each repetition."
            }
            (false, _) => "FAILED: the figures above do not hold what this example promises.",
        }
    }
}
