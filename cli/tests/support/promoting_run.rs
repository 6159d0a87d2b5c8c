//! A run of tic-tac-toe that promotes.

/// Settings of a run that promotes within seconds, with a tiny network.
pub(crate) const SETTINGS: &str = r#"
preset = "reinforce-duel"
seed = 5
generation_steps = 20

[game]
game = "tic_tac_toe"

[net]
kind = "conv"
channels = 8
layers = 1
hidden = 32

[actor]
games_per_thread = 32

[train]
batch_moves = 256
learning_rate = 0.01

[arena.gate]
games = 60
"#;
