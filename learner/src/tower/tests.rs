use burn_tensor::Distribution;
use burn_tensor::module::conv2d;
use burn_tensor::ops::ConvOptions;

use super::*;
use crate::testing;

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.try_to_vec_as().unwrap()
}

fn assert_close(one: &[f32], two: &[f32], what: &str) {
    assert_eq!(one.len(), two.len(), "{what}");
    let largest = two.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    for (one, two) in one.iter().zip(two) {
        assert!((one - two).abs() < 1e-4 * largest, "{what}: {one} {two}, largest {largest}");
    }
}

#[test]
fn filter_gradients_are_those_of_burn_for_every_number_of_boards() {
    let device = Device::flex();
    let spec = testing::tower();
    let PlaneShape { height, width, .. } = spec.planes;
    let random = |channels: usize, boards: usize| {
        let distribution = Distribution::Normal(0.0, 1.0);
        Tensor::<4>::random([boards, channels, height, width], distribution, &device)
    };
    for (boards, side, column_bytes) in
        [(1, 3, COLUMN_BYTES), (5, 3, 1), (12, 3, 20_000), (64, 3, 200_000), (64, 1, 1), (7, 1, 1)]
    {
        let mut tower = Tower { column_bytes, ..Tower::new(&spec).unwrap() };
        let (x, gradient) = (random(3, boards), random(2, boards));
        let filter = Tensor::<4>::from_inner(Tensor::zeros([2, 3, side, side], &device));
        let filter = filter.require_grad();
        let options = ConvOptions::new([1, 1], [side / 2; 2], [1, 1], 1);
        let y = conv2d(Tensor::from_inner(x.clone()), filter.clone(), None, options);
        let mut gradients = (y * Tensor::from_inner(gradient.clone())).sum().backward();
        let expected = numbers(filter.grad_remove(&mut gradients).unwrap());
        let rows = |x: Tensor<4>| -> Tensor<2> {
            let channels = x.dims()[1];
            x.permute([0, 2, 3, 1]).reshape([boards * height * width, channels])
        };
        let got = tower.filter_gradient(boards, &rows(x), &rows(gradient), side);
        assert_close(&numbers(got), &expected, &format!("{boards} boards, side {side}"));
    }
}

#[test]
fn columns_and_their_products_take_at_most_the_bytes_that_an_adapter_binds() {
    // 1,031 boards have no divisor, so a group is one board of 49 cells.
    for (rows, width, outputs) in [(49, 9 * 128, 128), (49, 9 * 128, 4), (4_096, 9 * 64, 64)] {
        let count = groups_at_once(COLUMN_BYTES, rows, width, outputs);
        assert!(4 * count * width * rows.max(outputs) <= COLUMN_BYTES);
        assert!(4 * (count + 1) * width * rows.max(outputs) > COLUMN_BYTES);
    }
    assert_eq!(groups_at_once(1, 49, 9, 1), 1);
}

#[test]
fn sums_in_stages_have_every_row() {
    let device = Device::flex();
    let spec = testing::tower();
    let tower = Tower::new(&spec).unwrap();
    for boards in [1, 2, 32, 37, 96, 1_000] {
        let rows = boards * tower.cells();
        let values: Vec<f32> = (0..2 * rows).map(|index| (index % 5) as f32).collect();
        let expected = [0, 1].map(|channel| values.iter().skip(channel).step_by(2).sum::<f32>());
        let x = Tensor::from_data(TensorData::new(values, [rows, 2]), &device);
        assert_eq!(numbers(tower.sum(boards, x)), expected, "{boards} boards");
    }
}

#[test]
fn only_towers_without_pooling_have_passes() {
    let count = testing::architectures().into_iter().filter(|architecture| {
        let spec = NetSpec { architecture: architecture.clone(), ..testing::spec() };
        let is_plain =
            matches!(spec.architecture, Architecture::Residual { global_pooling: None, .. });
        assert_eq!(Tower::new(&spec).is_some(), is_plain);
        is_plain
    });
    assert!(count.count() > 0);
}
