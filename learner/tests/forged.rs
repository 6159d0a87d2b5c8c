//! Forged, malformed and hostile input over the wire, against a whole learner on loopback.
//!
//! The learner refuses the input or ends the stream, with a reason that names the thing and the
//! value. Meanwhile an honest actor keeps pushing. At the end exactly its games are accepted.

mod forged {
    pub(super) mod actor;
    mod bytes;
    mod forgeries;
    mod games;
    mod limits;
    mod searches;
    mod snakes;
    mod streams;
    mod tls;
}
