//! How a live store moves to another one, and nothing is sent twice.
//!
//! Two stores take part, and [`StoreStanding`] says in each of them, durably and for every program, what it does. At no
//! moment do both of them let an attempt begin:
//!
//! 1. The target stands as `Filling`: it takes nothing but what is carried into it.
//! 2. The source stands as `Draining`: nothing is submitted, leased, started or pinned there any more. What runs may report.
//! 3. When nothing runs, the source stands as `Frozen`: no row of it changes any more.
//! 4. Everything is carried in batches. The target keeps, in the transaction of each, where the next one begins.
//! 5. Both sides are read once more and compared.
//! 6. The source stands as `Moved`, for ever. Up to here the move can be taken back.
//! 7. The target stands as `Open`.
//!
//! A move that is interrupted leaves a source that takes nothing, a target that takes nothing, or both. It is begun again
//! where it was, as [`Move`] finds out from the two standings. A target opens only for the move in whose name the source has
//! gone for good, and each name is given to one source and one target.

mod address;
mod carried;
mod run;
mod standing;
mod sums;

pub use address::without_credentials;
pub use carried::{Batch, Carried, DocumentPlace, Import, Page, Place};
pub use run::{Move, MoveError, Moved, Progress};
pub use standing::{MoveId, StandingChange, StandingRefused, StoreStanding};
pub use sums::{Kind, Sums};
