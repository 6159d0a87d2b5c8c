use std::path::Path;

use ouro_net::WeightsMeta;

use super::*;
use crate::config::{AlphaZeroConfig, ReinforceConfig};
use crate::loss::slow_log_policy;
use crate::testing::{config, evaluate, journalled, searched_game};

/// AlphaZero without augmentation in `directory`.
fn alphazero(directory: &Path) -> Config {
    let mut config = config();
    config.training_states.directory = directory.into();
    config.train.algorithm = AlgorithmConfig::AlphaZero(AlphaZeroConfig::default());
    config.train.augment = false;
    config
}

/// Weights of this generation for the run.
fn weights(config: &Config, generation: u32) -> Weights {
    let meta =
        WeightsMeta { game: config.game_identity(), generation: Generation(generation), step: 0 };
    Weights::initialize(config.net_spec().unwrap(), meta, 11).unwrap()
}

/// Cross-entropy, entropy of the targets and value loss of the game's two positions by a plain computation.
fn expected(config: &Config, weights: &Weights) -> [f64; 3] {
    let rules = rules(config).unwrap();
    let payload = searched_game().encode().unwrap();
    let (game, _) = rules.restore(&payload, Generation(0)).unwrap();
    let item = Arc::new(game);
    let draw = |position| Draw { item: Arc::clone(&item), number: 0, position };
    let batch = rules.positions(&[draw(0), draw(1)], &mut Rng::new(1, "test")).unwrap();
    let (logits, values) = evaluate(weights, &batch.planes);
    let AlgorithmConfig::AlphaZero(AlphaZeroConfig { root_value_share, .. }) =
        config.train.algorithm
    else {
        unreachable!("the configuration is AlphaZero's")
    };
    let share = f64::from(root_value_share);
    let (mut sums, actions) = ([0.0; 3], batch.shape().actions);
    for (row, &value) in values.iter().enumerate() {
        let cells = row * actions..(row + 1) * actions;
        let log = slow_log_policy(&logits[cells.clone()], &batch.legal[cells.clone()]);
        for (log, &target) in log.iter().zip(&batch.policy[cells]).filter(|cell| *cell.1 > 0.0) {
            let target = f64::from(target);
            sums[0] -= target * log;
            sums[1] -= target * target.ln();
        }
        let (outcome, root) = (f64::from(batch.outcomes[row]), f64::from(batch.root_values[row]));
        sums[2] += (f64::from(value) - (1.0 - share) * outcome - share * root).powi(2);
    }
    sums.map(|sum| sum / 2.0)
}

#[test]
fn rows_hold_the_games_of_their_ages_with_the_loss_of_a_plain_computation() {
    let directory = tempfile::tempdir().unwrap();
    let config = alphazero(directory.path());
    drop(journalled(&config, &[0, 3, 4, 5, 6, 6, 8, 9]));
    let weights = weights(&config, 6);
    let expected = expected(&config, &weights);
    let LossByAge { generation, rows } = loss_by_age(&config, Some(weights), 100).unwrap();
    assert_eq!(generation, Generation(6));
    let places: Vec<_> =
        rows.iter().map(|row| (row.first, row.last, row.games, row.positions)).collect();
    let [later, own, one, two, old] =
        [(-3, -2, 2, 4), (0, 0, 2, 4), (1, 1, 1, 2), (2, 3, 2, 4), (6, 6, 1, 2)];
    assert_eq!(places, [later, own, one, two, old]);
    for row in rows {
        for (got, expected) in [row.policy, row.target_entropy, row.value].iter().zip(expected) {
            assert!((got - expected).abs() < 1e-5, "{row:?} {expected:?}");
        }
    }
}

#[test]
fn a_row_measures_at_most_as_many_positions_as_asked_and_no_purged_game() {
    let directory = tempfile::tempdir().unwrap();
    let config = alphazero(directory.path());
    let mut journal = journalled(&config, &[4; 10]);
    let measure = || loss_by_age(&config, Some(weights(&config, 5)), 7);
    let in_use = measure().unwrap_err();
    assert!(matches!(in_use, LossByAgeError::Journal(_)), "{in_use}");
    let purges = journal.purge(&["tester"], "a test", 0);
    drop(journal);
    assert_eq!((purges.unwrap().len(), measure().unwrap().rows), (1, vec![]));

    let directory = tempfile::tempdir().unwrap();
    let config = alphazero(directory.path());
    drop(journalled(&config, &[4; 10]));
    let row = loss_by_age(&config, Some(weights(&config, 5)), 7).unwrap().rows.remove(0);
    assert_eq!((row.games, row.positions), (10, 7));
}

#[test]
fn what_cannot_be_measured_is_refused_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = alphazero(directory.path());
    drop(journalled(&config, &[0]));
    let refusal =
        |config: &Config, weights| loss_by_age(config, weights, 10).unwrap_err().to_string();
    let said = refusal(&config, None);
    assert!(said.contains("no training state yet") && said.contains("name weights"), "{said}");
    let mut other = config.clone();
    other.net = ouro_net::Architecture::Conv { channels: 3, layers: 1, hidden: 8 };
    let said = refusal(&config, Some(weights(&other, 1)));
    assert!(said.contains("another network"), "{said}");
    let foreign = weights(&config, 1);
    let meta = WeightsMeta { game: "another".to_owned(), ..foreign.meta().clone() };
    let (spec, tensors) = (foreign.spec().clone(), foreign.tensors().to_vec());
    let said = refusal(&config, Some(Weights::from_tensors(spec, meta, tensors).unwrap()));
    assert!(said.contains("another game"), "{said}");
    config.train.algorithm = AlgorithmConfig::Reinforce(ReinforceConfig::default());
    let said = refusal(&config, Some(weights(&config, 1)));
    assert!(said.contains("reinforce") && said.contains("no search targets"), "{said}");
}

#[test]
fn rows_double_in_width() {
    assert_eq!([-7, -1, 0, 1, 2, 3, 4, 7, 8].map(row_of), [0, 0, 1, 2, 3, 3, 4, 4, 5]);
    assert_eq!(spread(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4), [0, 2, 5, 7]);
    assert_eq!(spread(&[0, 1], 4), [0, 1]);
}
