//! Forged, malformed and hostile input over the wire, against a whole learner on loopback.
//!
//! Whatever comes in is refused or ended with a reason that names the thing and the value. Beside
//! it an honest actor pushes on, and in the end exactly its games are in the journal.

mod forged {
    pub(super) mod actor;
    mod bytes;
    mod forgeries;
    mod games;
    mod snakes;
    mod streams;
}
