//! Bytes of hostile clients: requests of HTTP/1, frames of HTTP/2, messages of gRPC.

/// What opens a connection of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames (RFC 9113, section 6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// The flag of a complete header block.
const END_HEADERS: u8 = 4;

/// A frame.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(body);
    frame
}

/// The preface with empty settings.
pub(super) fn opening() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, b"")].concat()
}

/// The preface of a client that grants a window of no bytes, so that no answer can be sent.
pub(super) fn opening_without_window() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])].concat()
}

/// Half of the preface.
pub(super) fn half_preface() -> Vec<u8> {
    PREFACE[..12].to_vec()
}

/// A header field that is not indexed, by the index of its name or by name (RFC 7541, section 6.2.2).
fn field(index: u8, name: &str, value: &str) -> Vec<u8> {
    let mut field = Vec::new();
    match index {
        0 => {
            field.extend([0, name.len() as u8]);
            field.extend(name.bytes());
        }
        1..15 => field.push(index),
        _ => field.extend([15, index - 15]),
    }
    field.push(value.len() as u8);
    field.extend(value.bytes());
    field
}

/// The header block of a gRPC call.
fn block(path: &str) -> Vec<u8> {
    // Indexed: POST, http. By name: path, authority, content type; a literal name: te.
    let mut block = vec![0x83, 0x86];
    block.extend(field(4, "", path));
    block.extend(field(1, "", "localhost"));
    block.extend(field(31, "", "application/grpc"));
    block.extend(field(0, "te", "trailers"));
    block
}

/// A call without its message.
pub(super) fn call(path: &str, stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &block(path))
}

/// The start of a header block that does not end.
pub(super) fn endless_call(path: &str) -> Vec<u8> {
    frame(HEADERS, 0, 1, &block(path))
}

/// A message of a call.
pub(super) fn message(stream: u32, message: &[u8], ends: bool) -> Vec<u8> {
    let mut body = vec![0];
    body.extend((message.len() as u32).to_be_bytes());
    body.extend(message);
    frame(DATA, u8::from(ends), stream, &body)
}

/// A complete unary call.
pub(super) fn unary(path: &str, stream: u32, request: &[u8]) -> Vec<u8> {
    [call(path, stream), message(stream, request, true)].concat()
}

/// The client's streams are numbered 1, 3, 5 ….
pub(super) fn stream(index: u32) -> u32 {
    2 * index + 1
}
