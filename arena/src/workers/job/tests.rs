//! Jobs and results as text.

use ouro_net::Generation;

use super::*;
use crate::player_id::PlayerId;

/// A job of tic-tac-toe between random players.
pub(crate) fn job(cluster: u32) -> Job {
    let game = GameConfig::by_name("tic_tac_toe").unwrap();
    let key = MatchKey::gate(Generation(1), PlayerId::random());
    let shape = ClusterShape { seats: 2 };
    let games = MatchGames { config: &game, key: &key, number: 3, shape };
    let side = || JobSide::Anchor("random".into());
    let head = JobHead::new(games, [side(), side()], 2, 300);
    let seed = key.seed(7, cluster);
    Job { head, cluster, seed }
}

fn refusal(text: &str) -> String {
    let game = job(0).head.game;
    Job::read(text.as_bytes(), &game).unwrap_err().to_string()
}

#[test]
fn a_job_survives_its_stream() {
    let job = job(4);
    assert_eq!(Job::read(job.to_json().as_bytes(), &job.head.game).unwrap(), job);
    for id in [JobId { session: 1, cluster: 0 }, JobId { session: 1 << 50, cluster: u32::MAX }] {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    for text in ["", "1", "1-0", "1-x", "-1-1", "1-4294967297"] {
        assert_eq!(text.parse::<JobId>(), Err(()), "{text}");
    }
}

#[test]
fn a_job_of_another_version_game_or_form_is_refused_in_one_line() {
    let text = job(0).to_json();
    for (old, new, said) in [
        (PROGRAM, "9.9.9", "the arena is version 9.9.9 (jobs of form 1), this worker is"),
        ("\"form\":1", "\"form\":2", "(jobs of form 2)"),
        ("\"cluster\":0", "\"cluster\":0,\"more\":1", "unknown field `more`"),
        ("tic_tac_toe", "connect_four", "the arena plays {\"game\":\"connect_four\""),
        ("tic_tac_toe", "chess", "a job cannot be read"),
        ("tic_tac_toe", "che\\nss", "unknown variant `che\\nss`"),
        (PROGRAM, "9\\n9", "the arena is version 9\\n9"),
        ("\"seats\":2", "\"seats\":4294967295", "a game has at most 16"),
        ("{", "", "a job cannot be read"),
    ] {
        assert!(text.contains(old));
        let error = refusal(&text.replacen(old, new, 1));
        assert!(error.contains(said) && error.lines().count() == 1, "{new}: {error}");
    }
    // The version is named even if the rest has another form.
    let newer = "{\"head\":{\"form\":7,\"program\":\"8.0.0\",\"x\":1}}";
    assert!(refusal(newer).contains("8.0.0"));
}
