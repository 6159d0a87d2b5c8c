//! A 3×3 convolution whose filters change in every optimiser step.

use crate::engine::grid::Grid;
use crate::engine::isa::Isa;
use crate::engine::layer::{Activation, Epilogue, Layer};
use crate::engine::winograd::{Frequencies, Winograd};

/// A convolution without bias and activation between framed boards.
#[derive(Debug)]
pub(super) struct Convolution {
    grids: [Grid; 2],
    /// Channels in and out.
    channels: [usize; 2],
    /// Whether results are added to the output's contents.
    epilogue: Epilogue,
    algorithm: Algorithm,
}

#[derive(Debug)]
enum Algorithm {
    /// Packed with the filters, hence `None` before the first.
    Direct(Option<Layer>),
    Winograd(Box<Winograd>),
}

impl Convolution {
    pub(super) fn new(
        isa: Isa,
        input: &Grid,
        output: &Grid,
        channels: [usize; 2],
        adds: bool,
    ) -> Self {
        let epilogue = Epilogue { activation: Activation::Identity, residual: adds };
        let [inputs, outputs] = channels;
        let algorithm = if Winograd::is_faster(input.height, input.width, inputs, outputs) {
            let (weight, bias) = (vec![0.0; 9 * inputs * outputs], vec![0.0; outputs]);
            Algorithm::Winograd(Box::new(Winograd::new(
                isa,
                [&weight, &bias],
                input,
                output,
                epilogue,
            )))
        } else {
            Algorithm::Direct(None)
        };
        Self { grids: [*input, *output], channels, epilogue, algorithm }
    }

    /// Sets the filters, `[outputs, inputs, 3, 3]`.
    ///
    /// If `is_backward`, `weight` is that of the forward convolution, `[inputs, outputs, 3, 3]`,
    /// and this method transposes and rotates it.
    pub(super) fn set(&mut self, isa: Isa, weight: &[f32], is_backward: bool) {
        let [inputs, outputs] = self.channels;
        let mut turned = Vec::new();
        let weight = if is_backward {
            turned.resize(weight.len(), 0.0);
            let (from, to) = (weight.as_chunks::<9>().0, turned.as_chunks_mut::<9>().0);
            for output in 0..outputs {
                for input in 0..inputs {
                    let mut filter = from[input * outputs + output];
                    filter.reverse();
                    to[output * inputs + input] = filter;
                }
            }
            &turned[..]
        } else {
            weight
        };
        match &mut self.algorithm {
            Algorithm::Winograd(winograd) => winograd.set(weight),
            Algorithm::Direct(layer) => {
                let [input, output] = &self.grids;
                let bias = vec![0.0; outputs];
                let tensors = [weight, &bias[..]];
                *layer = Some(Layer::convolution(isa, tensors, input, output, self.epilogue));
            }
        }
    }

    /// Convolves `boards` boards. Filters must be set.
    pub(super) fn run(
        &self,
        isa: Isa,
        boards: usize,
        input: &[f32],
        output: &mut [f32],
        between: &mut Frequencies,
    ) {
        match &self.algorithm {
            Algorithm::Winograd(winograd) => winograd.run(isa, boards, input, output, between),
            Algorithm::Direct(Some(layer)) => layer.run(isa, boards, input, output),
            Algorithm::Direct(None) => debug_assert!(false, "filters are set before they are used"),
        }
    }
}
