//! The subcommands about games and records, run as processes.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use ouro_testkit::process::{Ended, run};

fn ouro(arguments: &[&str]) -> Ended {
    run(Command::new(env!("CARGO_BIN_EXE_ouro")).args(arguments))
}

fn fails(arguments: &[&str], code: i32, expected: &str) {
    let output = ouro(arguments);
    let error = &output.stderr;
    assert_eq!(output.code, Some(code), "{arguments:?}: {error}");
    assert!(error.contains(expected), "{arguments:?}: {error}");
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a temporary path is text").to_owned()
}

#[test]
fn games_lists_the_box_as_text_and_as_json() {
    let text = ouro(&["games"]).success();
    let rows: serde_json::Value =
        serde_json::from_str(&ouro(&["games", "--json"]).success()).expect("JSON");
    let rows = rows.as_array().expect("a list");
    assert!(rows.len() >= 3);
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        assert!(text.contains(name), "{name} is missing in:\n{text}");
        assert_eq!(row["config"]["game"], name);
        assert!(row["state_bytes"].as_u64() > Some(0));
    }
}

#[test]
fn what_record_writes_show_prints_ply_by_ply() {
    let folder = tempfile::tempdir().expect("a folder");
    for game in ["tic_tac_toe", "connect_four", "battlesnake", "snake", "maze_dash", "snakgame"] {
        for name in ["game.json", "game.json.gz"] {
            let file = path(folder.path(), name);
            ouro(&["record", game, "--seed", "3", "--max-plies", "40", "--out", &file]).success();
            let json = ouro(&["show", &file, "--json"]).success();
            let plies = json.lines().count();
            let text = ouro(&["show", &file, "--all"]).success();
            assert!(text.starts_with(&format!("ply 0 of {}\n", plies - 1)), "{text}");
            assert_eq!(text.matches("ply ").count(), plies);
            let one = ouro(&["show", &file, "--step", "1"]).success();
            let mover = match game {
                "tic_tac_toe" | "connect_four" => "X ",
                "battlesnake" | "snakgame" => "A ",
                _ => "",
            };
            assert!(one.starts_with(&format!("ply 1 of {}: {mover}", plies - 1)), "{one}");
            assert!(text.contains(&one) && !text.contains("player"), "{text}");
        }
    }
}

#[test]
fn a_record_is_shown_from_standard_input_and_players_have_the_letters_of_the_board() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path(folder.path(), "game.json");
    let duel = r#"{"game":"battlesnake","snakes":2,"width":7,"height":7}"#;
    ouro(&["record", duel, "--out", &file]).success();
    let from_file = ouro(&["show", &file, "--all"]).success();
    let mut show = Command::new(env!("CARGO_BIN_EXE_ouro"));
    show.args(["show", "-"]).stdin(std::fs::File::open(&file).expect("it is there"));
    assert_eq!(run(&mut show).success(), from_file);
    let first = from_file.lines().find(|line| line.starts_with("ply 1 of ")).expect("a ply");
    let (_, moves) = first.split_once(": ").expect("moves");
    let movers: Vec<&str> = moves.split(", ").filter_map(|one| one.split(' ').next()).collect();
    assert_eq!(movers, ["A", "B"], "{first}");
    let end = from_file.lines().find(|line| line.starts_with("over: ")).expect("an end");
    assert!(end.starts_with("over: A ") && end.contains(", B "), "{end}");

    let mut show = Command::new(env!("CARGO_BIN_EXE_ouro"));
    show.args(["show", "-"]).stdin(std::process::Stdio::null());
    run(&mut show).assert_refused(65, &["standard input: record is not readable"]);
}

#[test]
fn a_record_replaces_a_record_and_no_other_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, notes) = (path(folder.path(), "game.json"), path(folder.path(), "notes.md"));
    for seed in ["1", "2"] {
        ouro(&["record", "tic_tac_toe", "--seed", seed, "--out", &file]).success();
    }
    std::fs::write(&notes, "# Notes\n").expect("written");
    fails(&["record", "tic_tac_toe", "--out", &notes], 64, "notes.md is not a record of a game");
    assert_eq!(std::fs::read_to_string(&notes).expect("it is still there"), "# Notes\n");
    let here = path(folder.path(), "");
    fails(&["record", "tic_tac_toe", "--out", &here], 74, "it is a folder; name a file with --out");
}

#[cfg(target_os = "linux")]
#[test]
fn a_standard_output_without_space_is_named() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let mut games = Command::new(env!("CARGO_BIN_EXE_ouro"));
    let ended = run(games.arg("games").stdout(full));
    ended.assert_refused(74, &["error: cannot write to standard output: No space left"]);
}

#[test]
fn lists_are_shown_as_they_are_written() {
    for (verb, expected) in [
        ("maze-dash", "[default: 5,6,10,15,20,30,50]"),
        ("snakgame", "[default: 250,550]"),
        ("learner", "[default: small,medium]"),
        ("gpu", "[default: 256,1024,4096]"),
        ("ingest", "[default: duel-7x7,connect4]"),
    ] {
        let help = ouro(&["bench", verb, "--help"]).success();
        assert!(help.contains(expected) && help.contains("separated by commas"), "{help}");
    }
}

#[test]
fn the_same_seed_records_the_same_game_and_standard_output_takes_it_too() {
    let game = r#"{"game":"connect_four","width":5,"height":4}"#;
    let first = ouro(&["record", game, "--seed", "9"]).success();
    assert_eq!(first, ouro(&["record", game, "--seed", "9", "--json"]).success());
    assert_ne!(first, ouro(&["record", game, "--seed", "10"]).success());
}

#[test]
fn wrong_arguments_and_damaged_records_say_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    fails(&["record", "go"], 64, "known are tic_tac_toe");
    fails(&["record", r#"{"game":"connect_four","width":2}"#], 64, "must be at least 4");
    fails(&["bench", "game", "--seconds", "0"], 64, "above 0");
    fails(&["bench", "ingest", "--replay-threads", "0"], 64, "--replay-threads");
    fails(&["show", &path(folder.path(), "none.json")], 66, "none.json");
    let nowhere = path(folder.path(), "none/game.json");
    fails(
        &["record", "tic_tac_toe", "--out", &nowhere],
        74,
        "none; make it or name another file with --out",
    );
    fails(&["record", "tic_tac_toe", "--seed", "-1"], 64, "it is a whole number 0 to 18446744");

    let file = path(folder.path(), "game.json");
    let record = ouro(&["record", "tic_tac_toe"]).success();
    std::fs::write(&file, &record).expect("written");
    fails(&["show", &file, "--step", "99"], 65, "there is no ply 99");
    std::fs::write(&file, record.replace("\"version\":1", "\"version\":2")).expect("written");
    fails(&["show", &file], 65, "record version is 2");
    std::fs::write(&file, &record[..record.len() / 2]).expect("written");
    fails(&["show", &file], 65, "record is not readable");
    std::fs::write(&file, [0x1f, 0x8b, 8, 0]).expect("written");
    fails(&["show", &file], 65, "game.json");

    // A record with an invalid ply is shown up to that ply.
    let mut damaged: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    damaged["plies"][2] = damaged["plies"][0].clone();
    std::fs::write(&file, damaged.to_string()).expect("written");
    fails(&["show", &file], 65, "ply 2: action");
    let shown = ouro(&["show", &file]).stdout;
    assert_eq!(shown.matches("ply ").count(), 3);
}

#[test]
fn a_record_that_is_too_large_is_refused_with_its_size_and_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let most = 64 << 20;
    let plain = path(folder.path(), "game.json");
    let file = std::fs::File::create(&plain).expect("a file");
    file.set_len(most + 1).expect("a file may have a hole");
    fails(&["show", &plain], 65, "it has more than 67108864 bytes; record the game with a smaller");

    let packed = path(folder.path(), "game.json.gz");
    let file = std::fs::File::create(&packed).expect("a file");
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    std::io::copy(&mut std::io::repeat(b' ').take(most + 1), &mut encoder).expect("written");
    encoder.finish().expect("written");
    let size = std::fs::metadata(&packed).expect("it is there").len();
    let expected = format!("its {size} bytes unpack to more than 67108864; record the game with");
    fails(&["show", &packed], 65, &expected);
}

#[test]
fn bench_reports_machine_and_spread_for_every_configuration() {
    let output = ouro(&["bench", "game", "--json", "--seconds", "0.01", "--runs", "3"]);
    let report: serde_json::Value = serde_json::from_str(&output.success()).expect("JSON");
    assert!(report["machine"]["cores"].as_u64() >= Some(1));
    let results = report["results"].as_array().expect("a list");
    assert_eq!(results.len(), 5);
    for result in results {
        for cores in ["one_core", "all_cores"] {
            let [low, middle, high] =
                ["min", "median", "max"].map(|key| result[cores][key].as_f64().expect("a number"));
            assert!(0.0 < low && low <= middle && middle <= high, "{result}");
        }
    }
}

#[test]
fn bench_net_and_search_report_figures_of_every_case() {
    let report = |verb: &str, seconds: &str| -> serde_json::Value {
        let output = ouro(&["bench", verb, "--json", "--seconds", seconds, "--runs", "1"]);
        serde_json::from_str(&output.success()).expect("JSON")
    };
    let net = report("net", "0.001");
    let networks = net["networks"].as_array().expect("a list");
    for preset in ["tiny", "small", "medium"] {
        let network = networks.iter().find(|network| network["name"] == preset).expect(preset);
        for batch in network["batches"].as_array().expect("a list") {
            assert!(batch["microseconds_per_position"].as_f64() > Some(0.0), "{network}");
        }
    }
    let search = report("search", "0.001");
    let results = search["results"].as_array().expect("a list");
    assert_eq!(results.len(), 13);
    for result in results {
        assert!(result["simulations_per_second"]["median"].as_f64() > Some(0.0), "{result}");
        assert!((0.0..=1.0).contains(&result["batch_fill"].as_f64().expect("a share")), "{result}");
    }
}

#[test]
fn bench_learner_tells_the_cost_of_a_step_and_names_what_it_does_not_know() {
    let arguments = ["--network", "tower_10x1", "--batch", "8", "--seconds", "0.001"];
    for more in [&[][..], &["--burn-alone"]] {
        let fixed = ["bench", "learner", "--json", "--device", "cpu", "--runs", "1"];
        let output = ouro(&[&fixed[..], &arguments, more].concat());
        let report: serde_json::Value = serde_json::from_str(&output.success()).expect("JSON");
        let measured = &report["measured"][0];
        assert_eq!((&measured["network"], &measured["batch"]), (&"tower_10x1".into(), &8.into()));
        assert!(measured["ms_per_step"]["median"].as_f64() > Some(0.0), "{report}");
        assert!(measured["samples_per_second"].as_f64() > Some(0.0), "{report}");
    }
    fails(&["bench", "learner", "--network", "huge"], 64, "known are tiny");
    fails(&["bench", "learner", "--device", "tpu"], 64, "possible values: auto");
    fails(&["bench", "learner", "--batch", "0"], 64, "--batch is 0");
    // The system reports its memory.
    if cfg!(target_os = "linux") {
        for verb in ["learner", "gpu"] {
            let large = ["--device", "cpu", "--network", "medium", "--batch", "8,1048576"];
            let expected = "network medium: --batch is 1048576; it takes up to ";
            fails(&[&["bench", verb][..], &large].concat(), 64, expected);
        }
    }
}

#[test]
fn bench_gpu_prints_a_line_per_finding() {
    let output = ouro(&[
        "bench",
        "gpu",
        "--json",
        "--device",
        "cpu",
        "--network",
        "tiny",
        "--batch",
        "8,4",
        "--seconds",
        "0.001",
        "--parity-rows",
        "8",
        "--parity-steps",
        "1",
    ]);
    let lines = output.success();
    let findings: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<_> = findings.iter().map(|one| one["finding"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["device", "parity", "steps", "steps"]);
    assert_eq!(findings[1]["agrees"], true, "{}", findings[1]);
    assert_eq!(findings[1]["steps"], 1);
    for (steps, batch) in findings[2..].iter().zip([8, 4]) {
        assert_eq!(steps["batch"], batch);
        assert!(steps["samples_per_second"].as_f64() > Some(0.0), "{steps}");
        // A CPU has no kernels.
        assert_eq!((&steps["kernels"], &steps["between_kernels"]), (&0.0.into(), &().into()));
    }
    fails(&["bench", "gpu", "--network", "huge"], 64, "tower_128x10");
}
