//! Every kind of damage to a file, and the error that names it.

use ouro_net::weights::{MAX_GAME_BYTES, MAX_HEADER_BYTES};
use ouro_net::{Weights, WeightsMeta};
use serde_json::{Value, json};

use super::good::{document, families, header, join, parts, spec, weights};

/// A valid tower, except for one channel whose norm multiplies by 3e40.
fn folds_to_infinity() -> Vec<u8> {
    let spec = families().swap_remove(1);
    let mut bytes = Weights::initialize(spec, WeightsMeta::default(), 1).unwrap().to_safetensors();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    for (name, value) in [("stem.norm.weight", 1e38_f32), ("stem.norm.running_var", 0.0)] {
        let begin = header[name]["data_offsets"][0].as_u64().unwrap() as usize;
        bytes[8 + length + begin + 4..][..4].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// The good file with the four bytes of one value changed.
fn value(index: usize, value: f32) -> Vec<u8> {
    let (header, mut values) = parts();
    values[4 * index..4 * index + 4].copy_from_slice(&value.to_le_bytes());
    join(header.to_string().as_bytes(), &values)
}

/// The good file with a piece of its header's text replaced.
fn text(from: &str, to: &str) -> Vec<u8> {
    let (header, values) = parts();
    let header = header.to_string();
    assert!(header.contains(from), "{header}");
    join(header.replacen(from, to, 1).as_bytes(), &values)
}

/// A header whose last tensor ends eight bytes before 2^64, and no values.
fn offsets_near_overflow() -> Vec<u8> {
    let size = (1_u64 << 61) - 1;
    let tensor =
        |i| json!({"dtype": "U8", "shape": [size], "data_offsets": [i * size, (i + 1) * size]});
    let tensors = (0..8).map(|i| (format!("t{i}"), tensor(i)));
    join(Value::Object(tensors.collect()).to_string().as_bytes(), &[])
}

/// The header's entry of a tensor without values.
const EMPTY: &str = r#"{"dtype":"F32","shape":[0],"data_offsets":[0,0]}"#;

/// The good file with one tensor more, and its value.
fn extra(name: &str) -> Vec<u8> {
    let (mut header, mut values) = parts();
    let end = values.len();
    values.extend([0; 4]);
    header[name] = json!({"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]});
    join(header.to_string().as_bytes(), &values)
}

/// The good file cut to a length.
fn cut(length: usize) -> Vec<u8> {
    weights().to_safetensors()[..length].to_vec()
}

#[test]
fn every_kind_of_damage_is_refused_by_its_own_name() {
    let whole = weights().to_safetensors().len();
    let (good_header, good_values) = parts();
    let huge = |length: u64| [&length.to_le_bytes()[..], &[b' '; 64]].concat();
    let nested = join("[".repeat(100_000).as_bytes(), &[]);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", vec![], "cannot hold the header's length"),
        ("seven bytes", cut(7), "cannot hold the header's length"),
        ("length alone", cut(8), "not a whole safetensors file"),
        ("half a header", cut(60), "not a whole safetensors file"),
        ("one byte short", cut(whole - 1), "not a whole safetensors file"),
        ("no values", join(good_header.to_string().as_bytes(), &[]), "not a whole"),
        ("a byte too many", [cut(whole), vec![0]].concat(), "not a whole safetensors file"),
        ("header of 2^64 - 1", huge(u64::MAX), "the header has 18446744073709551615 bytes"),
        ("header over the bound", huge(MAX_HEADER_BYTES as u64 + 1), "the header has 262145"),
        ("header past the end", huge(65), "not a whole safetensors file"),
        ("header not UTF-8", join(&[0xff; 16], &good_values), "not a whole safetensors file"),
        ("header not JSON", join(b"{\"a\":", &good_values), "not a whole safetensors file"),
        ("header a list", join(b"[1,2,3]", &good_values), "not a whole safetensors file"),
        ("header deeply nested", nested, "not a whole safetensors file"),
        (
            "no metadata",
            header(|header| drop(header.as_object_mut().unwrap().remove("__metadata__"))),
            "metadata entry \"ouro\" is missing",
        ),
        (
            "other metadata",
            header(|header| header["__metadata__"] = json!({"format": "pt"})),
            "metadata entry \"ouro\" is missing",
        ),
        (
            "more metadata",
            header(|header| header["__metadata__"]["format"] = json!("pt")),
            "2 metadata entries",
        ),
        (
            "document not JSON",
            header(|header| header["__metadata__"]["ouro"] = json!("spec")),
            "metadata is not readable",
        ),
        ("version 0", document(|d| d["version"] = json!(0)), "format version 0"),
        ("version 3", document(|d| d["version"] = json!(3)), "format version 3"),
        ("version 1 with a hash", document(|d| d["version"] = json!(1)), "version 1 has no"),
        (
            "no hash",
            document(|d| drop(d.as_object_mut().unwrap().remove("content"))),
            "content is missing",
        ),
        ("hash a number", document(|d| d["content"] = json!(7)), "metadata is not readable"),
        ("another hash", document(|d| d["content"] = json!("00")), "the metadata says 00"),
        (
            "endless hash",
            document(|d| d["content"] = json!("0\n".repeat(20_000))),
            "the metadata says 0\\n0\\n",
        ),
        ("another value", value(0, 0.5), "the file is damaged"),
        (
            "values of another file",
            {
                let (header, _) = parts();
                let other = Weights::initialize(spec(), WeightsMeta::default(), 8).unwrap();
                let other = other.to_safetensors();
                join(header.to_string().as_bytes(), &other[other.len() - good_values.len()..])
            },
            "the file is damaged",
        ),
        ("unknown field", document(|d| d["extra"] = json!(1)), "metadata is not readable"),
        (
            "unknown field of two lines",
            document(|d| d["two\nlines"] = json!(1)),
            "metadata is not readable: unknown field `two\\nlines`",
        ),
        (
            "no spec",
            document(|d| drop(d.as_object_mut().unwrap().remove("spec"))),
            "metadata is not readable",
        ),
        (
            "unknown architecture",
            document(|d| d["spec"]["architecture"]["kind"] = json!("tower")),
            "metadata is not readable",
        ),
        (
            "negative generation",
            document(|d| d["meta"]["generation"] = json!(-1)),
            "metadata is not readable",
        ),
        (
            "long game",
            document(|d| d["meta"]["game"] = json!("x".repeat(MAX_GAME_BYTES + 1))),
            "description has 16385 bytes",
        ),
        (
            "no channels",
            document(|d| d["spec"]["architecture"]["channels"] = json!(0)),
            "architecture.channels is 0",
        ),
        (
            "endless layers",
            document(|d| d["spec"]["architecture"]["layers"] = json!(u64::MAX)),
            "architecture.layers is 18446744073709551615",
        ),
        (
            "widest everything",
            document(|d| {
                d["spec"]["planes"] = json!({"channels": 1024, "height": 64, "width": 64});
                d["spec"]["architecture"] =
                    json!({"kind": "conv", "channels": 1024, "layers": 64, "hidden": 4096});
            }),
            "make a layer narrower",
        ),
        (
            "large spec, small file",
            document(|d| d["spec"]["architecture"]["hidden"] = json!(4_096)),
            "tensor hidden.weight has shape [4, 18]; the spec has [4096, 18]",
        ),
        (
            "more layers than tensors",
            document(|d| d["spec"]["architecture"]["layers"] = json!(2)),
            "tensor conv.1.weight is missing",
        ),
        (
            "renamed tensor",
            header(|header| {
                let tensor = header.as_object_mut().unwrap().remove("policy.bias").unwrap();
                header["policy.offset"] = tensor;
            }),
            "tensor policy.bias is missing",
        ),
        ("tensor too many", extra("extra"), "tensor extra is not part of the spec"),
        ("name of two lines", extra("a\nb"), "tensor a\\nb is not part of the spec"),
        ("endless name", extra(&"x".repeat(100_000)), "xxx … xxx"),
        (
            "name of two lines past the end",
            header(|header| {
                let offsets = json!([0, 1_u64 << 40]);
                header["a\nb"] = json!({"dtype": "F32", "shape": [1], "data_offsets": offsets});
            }),
            "tensor a\\nb ends at byte 1099511627776 of ",
        ),
        (
            "transposed tensor",
            header(|header| header["hidden.weight"]["shape"] = json!([18, 4])),
            "tensor hidden.weight has shape [18, 4]",
        ),
        (
            "flat tensor",
            header(|header| header["hidden.weight"]["shape"] = json!([72])),
            "tensor hidden.weight has shape [72]",
        ),
        (
            "endless shape",
            header(|header| {
                let mut shape = vec![1; 50_000];
                shape[0] = 4;
                header["hidden.bias"]["shape"] = json!(shape);
            }),
            "has shape [4, 1, 1, 1, 1, 1, 1, 1] and 49992 more dimensions; the spec has [4]",
        ),
        (
            "integers",
            header(|header| header["hidden.bias"]["dtype"] = json!("I32")),
            "tensor hidden.bias is stored as I32",
        ),
        (
            "shape overflows",
            header(|header| header["hidden.bias"]["shape"] = json!([u64::MAX, 2])),
            "not a whole safetensors file",
        ),
        (
            "offsets backwards",
            header(|header| header["hidden.bias"]["data_offsets"] = json!([16, 0])),
            "not a whole safetensors file",
        ),
        (
            "offsets overlap",
            header(|header| {
                header["hidden.bias"]["data_offsets"] =
                    header["policy.bias"]["data_offsets"].clone();
            }),
            "not a whole safetensors file",
        ),
        (
            "offsets near 2^64",
            offsets_near_overflow(),
            "not a whole safetensors file: tensor t7 ends at byte 18446744073709551608 of 0",
        ),
        (
            "a tensor twice",
            text("\"hidden.bias\":", &format!("\"hidden.bias\":{EMPTY},\"hidden.bias\":")),
            "the header has \"hidden.bias\" twice",
        ),
        (
            "a tensor twice, once with an escape",
            text("\"hidden.bias\":", &format!("\"hidden\\u002ebias\":{EMPTY},\"hidden.bias\":")),
            "the header has \"hidden.bias\" twice",
        ),
        (
            "an endless name twice",
            {
                let name = "y".repeat(100_000);
                let twice = format!("\"{name}\":{EMPTY},\"{name}\":{EMPTY},\"hidden.bias\":");
                text("\"hidden.bias\":", &twice)
            },
            "yyy … yyy",
        ),
        (
            "metadata twice",
            text("\"__metadata__\":", "\"__metadata__\":{},\"__metadata__\":"),
            "the header has \"__metadata__\" twice",
        ),
        (
            "a metadata entry twice",
            text("\"ouro\":", "\"ouro\":\"\",\"ouro\":"),
            "the header has \"ouro\" twice",
        ),
        (
            "a field of a tensor twice",
            text("\"dtype\":", "\"dtype\":\"F16\",\"dtype\":"),
            "duplicate field `dtype`",
        ),
        (
            "a field of the document twice",
            text("\\\"spec\\\":", "\\\"version\\\":2,\\\"spec\\\":"),
            "duplicate field `version`",
        ),
        (
            "half precision",
            header(|header| {
                header["hidden.bias"]["dtype"] = json!("F16");
                header["hidden.bias"]["shape"] = json!([8]);
            }),
            "tensor hidden.bias is stored as F16",
        ),
        (
            "another family",
            document(|d| {
                d["spec"]["architecture"] = json!({"kind": "mlp", "layers": 1, "hidden": 4})
            }),
            "tensor hidden.0.weight is missing",
        ),
        (
            "value range of another family",
            document(|d| d["spec"]["architecture"]["value"] = json!("tanh")),
            "metadata is not readable",
        ),
        (
            "board too small to pool",
            document(|d| {
                d["spec"]["planes"]["width"] = json!(1);
                d["spec"]["architecture"] =
                    json!({"kind": "two_conv", "channels": 1, "hidden": 1, "narrow": 1});
            }),
            "cannot be pooled 2×2",
        ),
        (
            "endless blocks",
            document(|d| {
                d["spec"]["architecture"] = json!({
                    "kind": "residual", "channels": 1, "blocks": 1_u64 << 40, "policy_channels": 1,
                    "value_channels": 1, "value_hidden": 1
                });
            }),
            "architecture.blocks is 1099511627776",
        ),
        (
            "more pooled than there are",
            document(|d| {
                d["spec"]["architecture"] = json!({
                    "kind": "residual", "channels": 2, "blocks": 1, "policy_channels": 1,
                    "value_channels": 1, "value_hidden": 1,
                    "global_pooling": {"channels": 3, "every": 1}
                });
            }),
            "architecture.global_pooling.channels is 3",
        ),
        (
            "pooling never",
            document(|d| {
                d["spec"]["architecture"] = json!({
                    "kind": "residual", "channels": 2, "blocks": 1, "policy_channels": 1,
                    "value_channels": 1, "value_hidden": 1,
                    "global_pooling": {"channels": 1, "every": 0}
                });
            }),
            "architecture.global_pooling.every is 0",
        ),
        (
            "batch norm folds to infinity",
            folds_to_infinity(),
            "tensor stem.conv.weight is not finite at index 18 once batch norm is folded in",
        ),
        ("not a number", value(0, f32::NAN), "holds NaN at index 0"),
        ("infinite", value(1, f32::INFINITY), "holds inf at index 1"),
        ("minus infinite", value(2, f32::NEG_INFINITY), "conv.0.weight holds -inf at index 0"),
    ];
    assert!(cases.len() >= 50);
    for (name, bytes, expected) in cases {
        let error = Weights::from_safetensors(&bytes).expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
        assert!(error.lines().count() == 1 && error.len() < 1_000, "{name}: {error}");
        let remedies = [
            "fetch or export it again",
            "use other weights",
            "only files written by Ouro are read",
        ];
        let has_remedy = remedies.iter().any(|remedy| error.ends_with(remedy))
            || error.contains("this program reads versions 1 to ");
        // The bounds of a spec are their own remedy.
        assert!(has_remedy || error.starts_with("net "), "{name}: {error}");
    }
}
