//! `net`: a player that follows a network's policy.
//!
//! A network learns the symmetries of a board only approximately, so its policies for the images
//! of one position differ. The option `symmetric` plays their mean, as `AlphaGo Zero` and
//! `KataGo` can do at the root (Silver et al. 2017, "Mastering the game of Go without human
//! knowledge", methods; Wu 2019).

use std::sync::Arc;

use ouro_game::{ActionMask, Game, Symmetry};
use ouro_net::{Engine, Scratch};

use crate::game_specific::BuildResult;
use crate::net_evaluator::masked_softmax;
use crate::net_fit::{FitError, fits};
use crate::player::{Choice, Player, Request};
use crate::registry::{BuildContext, Options, PlayerSyntax};
use crate::selection::{Selection, Selector};

/// Syntax of the name.
pub(crate) const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: "net",
    options: &["weights", "temperature", "argmax", "symmetric"],
    defaults: &[],
    usage: &[
        "net{weights=NAME}",
        "net{weights=NAME,temperature=T}",
        "net{weights=NAME,argmax}",
        "net{weights=NAME,argmax,symmetric}",
    ],
};

/// Builds a player for any game that the weights fit. The default is to sample the policy at
/// temperature 1.
pub(crate) fn build<G: Game>(
    options: Options<'_>,
    context: &mut BuildContext<'_, G>,
) -> BuildResult<G> {
    options.exclusive("temperature", "argmax")?;
    let temperature = options.number("temperature", 1e-6..=1e6)?;
    let selection = if options.flag("argmax")? {
        Selection::Argmax
    } else {
        Selection::Sample { temperature: temperature.unwrap_or(1.0) }
    };
    let weights = options.text("weights")?.ok_or_else(|| options.missing("weights", &SYNTAX))?;
    let engine = context.engine(&options, weights)?;
    let player = NetPlayer::new(options.name(), engine, selection, context.game)?;
    Ok(Box::new(if options.flag("symmetric")? { player.symmetric() } else { player }))
}

/// Plays softmax over the legal logits of an [`Engine`], one batch per call.
#[derive(Debug)]
pub struct NetPlayer {
    name: String,
    engine: Arc<Engine>,
    selection: Selection,
    /// Whether the policy is the mean over all images of a position.
    is_symmetric: bool,
    selector: Selector,
    scratch: Scratch,
    viable: ActionMask,
    planes: Vec<f32>,
    logits: Vec<f32>,
    values: Vec<f32>,
    /// Sums over the images of a position, then their logarithms, `[actions]`.
    mean: Vec<f32>,
    /// The policy for one image, `[actions]`.
    policy: Vec<f32>,
}

impl NetPlayer {
    /// A player of `game`. The error says why the network does not fit.
    pub fn new<G: Game>(
        name: impl Into<String>,
        engine: Arc<Engine>,
        selection: Selection,
        game: &G,
    ) -> Result<Self, FitError> {
        let name = name.into();
        selection.validate()?;
        fits(&name, &engine, game)?;
        Ok(Self {
            name,
            engine,
            selection,
            is_symmetric: false,
            selector: Selector::default(),
            scratch: Scratch::new(),
            viable: ActionMask::default(),
            planes: Vec::new(),
            logits: Vec::new(),
            values: Vec::new(),
            mean: Vec::new(),
            policy: Vec::new(),
        })
    }

    /// The same player with the mean policy over all images of a position under the
    /// [symmetries](Game::symmetries) of the game. Each image takes one row of the network.
    #[must_use]
    pub fn symmetric(self) -> Self {
        Self { is_symmetric: true, ..self }
    }

    /// The network.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// How actions are selected from the policy.
    pub fn selection(&self) -> Selection {
        self.selection
    }
}

impl<G: Game> Player<G> for NetPlayer {
    fn name(&self) -> &str {
        &self.name
    }

    fn batches(&self) -> bool {
        true
    }

    /// Chooses nothing under rules that do not fit the network, which a
    /// [`GameBatch`](crate::GameBatch) reports. The rules of [`new`](Self::new) fit.
    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>) {
        let spec = self.engine.spec();
        if !game.accepts(spec.planes) || spec.actions != game.action_count() {
            return;
        }
        let (input, actions, outputs) = (spec.planes.len(), spec.actions, spec.logits());
        let symmetries =
            if self.is_symmetric { game.symmetries() } else { &[Symmetry::Identity][..] };
        let rows = requests.len() * symmetries.len();
        self.planes.resize(rows * input, 0.0);
        self.logits.resize(rows * outputs, 0.0);
        self.values.resize(rows * spec.value_width(), 0.0);
        let mut planes = self.planes.chunks_exact_mut(input);
        for request in requests.iter() {
            for (&symmetry, planes) in symmetries.iter().zip(&mut planes) {
                if symmetry == Symmetry::Identity {
                    game.observe(request.state, request.player, planes);
                } else {
                    let image = game.transform(request.state, symmetry);
                    game.observe(&image, request.player, planes);
                }
            }
        }
        self.engine.evaluate(&mut self.scratch, &self.planes, &mut self.logits, &mut self.values);
        let images = self.logits.chunks_exact(outputs * symmetries.len());
        for (request, images) in requests.iter_mut().zip(images) {
            game.viable(request.state, request.player, &mut self.viable);
            let logits = if self.is_symmetric {
                self.mean.clear();
                self.mean.resize(actions, 0.0);
                for (&symmetry, logits) in symmetries.iter().zip(images.chunks_exact(outputs)) {
                    self.policy.clear();
                    self.policy.resize(actions, 0.0);
                    masked_softmax(game, symmetry, logits, &self.viable, &mut self.policy);
                    self.mean.iter_mut().zip(&self.policy).for_each(|(mean, p)| *mean += p);
                }
                // Clamped, so that a share that underflows f32 still has a finite logarithm.
                let logarithm = |mean: &mut f32| *mean = libm::logf(mean.max(f32::MIN_POSITIVE));
                self.mean.iter_mut().for_each(logarithm);
                &self.mean
            } else {
                &images[..actions]
            };
            choices.push(self.selector.choose(self.selection, logits, &self.viable, request.rng));
        }
    }
}
