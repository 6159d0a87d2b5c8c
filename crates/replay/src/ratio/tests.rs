//! Tests that the error stays within its bounds and that neither side blocks forever.

use proptest::prelude::*;

use super::*;

fn settings() -> Settings {
    Settings {
        samples_per_insert: 4.0,
        warmup: 1_000,
        tolerance: 1_000.0,
        largest_insert: 200,
        largest_sample: 256,
    }
}

fn ratio() -> Ratio {
    Ratio::new(settings()).expect("possible")
}

#[test]
fn sampling_waits_for_the_warm_up_and_inserting_does_not() {
    let mut ratio = ratio();
    for _ in 0..10 {
        assert!(ratio.may_insert(100, 0) && !ratio.may_sample(1));
        ratio.insert(100);
    }
    assert!(ratio.may_sample(256));
}

#[test]
fn either_side_waits_at_its_bound_until_the_other_moves() {
    let mut ratio = ratio();
    ratio.insert(1_000);
    assert_eq!((ratio.error(), ratio.bounds()), (0.0, (-1_000.0, 1_000.0)));
    // 250 positions raise the error exactly to its upper bound.
    ratio.insert(50);
    assert!(ratio.may_insert(200, 0));
    ratio.insert(200);
    assert!(!ratio.may_insert(1, 0));
    ratio.sample(4);
    assert!(ratio.may_insert(1, 0) && !ratio.may_insert(2, 0));
    for _ in 0..7 {
        assert!(ratio.may_sample(256));
        ratio.sample(256);
    }
    // 1000 − 4 − 1792 = −796: another full batch would fall below −1000.
    assert!(!ratio.may_sample(256) && ratio.may_sample(204) && !ratio.may_sample(205));
    ratio.insert(13);
    assert!(ratio.may_sample(256));
    assert_eq!(ratio.counters(), Counters { inserts: 1_263, samples: 1_796 });
}

#[test]
fn so_many_samples_in_a_row_are_allowed_as_each_of_them_would_be() {
    let mut ratio = ratio();
    assert!(!ratio.may_sample_repeatedly(1, 256));
    ratio.insert(1_137);
    let fits = |ratio: &Ratio, times| ratio.may_sample_repeatedly(times, 256);
    let often = (1..20).take_while(|&times| fits(&ratio, times)).count();
    assert_eq!(often, 6);
    for left in (0..often as u64).rev() {
        ratio.sample(256);
        assert_eq!((fits(&ratio, left.max(1)), fits(&ratio, left + 1)), (left > 0, false));
    }
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let said = |change: fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        Ratio::new(settings).expect_err("impossible").to_string()
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Settings { samples_per_insert: bad, ..settings() }.check();
        assert!(matches!(refused, Err(RatioError::SamplesPerInsert(_))), "{bad}");
    }
    assert_eq!(said(|settings| settings.warmup = 0), "warmup is 0; it must be at least 1");
    assert!(said(|settings| settings.largest_insert = 0).starts_with("largest_insert is 0"));
    assert!(said(|settings| settings.largest_sample = 0).starts_with("largest_sample is 0"));
    assert_eq!(
        said(|settings| settings.tolerance = 500.0),
        "tolerance is 500; with 4 samples per insert, games of up to 200 positions and batches \
         of 256 it must be at least 528, or inserting and sampling would wait for each other for ever"
    );
    assert!(said(|settings| settings.tolerance = f64::NAN).starts_with("tolerance is NaN"));
    assert!(said(|settings| settings.tolerance = f64::INFINITY).starts_with("tolerance is inf"));
    let least = Settings { tolerance: settings().least_tolerance(), ..settings() };
    assert_eq!(least.check(), Ok(()));
}

#[test]
fn counters_come_back_exactly_as_they_were() {
    let mut ratio = ratio();
    ratio.insert(12_345);
    ratio.sample(67_890);
    let stored = serde_json::to_string(&ratio.counters()).expect("plain numbers");
    assert_eq!(stored, r#"{"inserts":12345,"samples":67890}"#);
    let counters = serde_json::from_str(&stored).expect("it was just written");
    let pace = serde_json::to_string(&ratio.pace()).expect("plain numbers");
    let pace = serde_json::from_str(&pace).expect("it was just written");
    assert_eq!(Ratio::resume(settings(), counters, Some(pace), 9), Ok(ratio.clone()));
    // A state of version 1, without a pace.
    assert_eq!(Ratio::resume(settings(), counters, None, 9), Ok(ratio));
}

/// A run with a million positions that kept its ratio of 4.
fn long_run() -> Ratio {
    let counters = Counters { inserts: 1_000_000, samples: 3_995_500 };
    let ratio = Ratio::resume(settings(), counters, None, 1_000_000).expect("possible");
    assert_eq!(ratio.error(), 500.0);
    ratio
}

fn changed(ratio: &Ratio, settings: Settings, held: u64) -> Ratio {
    Ratio::resume(settings, ratio.counters(), Some(ratio.pace()), held).expect("possible")
}

#[test]
fn another_ratio_holds_from_where_a_run_is_and_not_for_what_is_past() {
    for samples_per_insert in [0.5, 2.0, 8.0] {
        let settings = Settings { samples_per_insert, ..settings() };
        let mut ratio = changed(&long_run(), settings, 500_000);
        assert_eq!(ratio.error(), 500.0);
        assert!(ratio.may_sample(256) && ratio.may_insert(1, 0));
        let before = ratio.counters();
        for _ in 0..10_000 {
            if ratio.may_insert(100, 0) {
                ratio.insert(100);
            }
            if ratio.may_sample(200) {
                ratio.sample(200);
            }
        }
        let after = ratio.counters();
        let inserted = (after.inserts - before.inserts) as f64;
        let achieved = (after.samples - before.samples) as f64 / inserted;
        assert!((achieved / samples_per_insert - 1.0).abs() < 0.01, "{achieved}");
        // The change back to the first setting.
        let back = changed(&ratio, self::settings(), 500_000);
        assert_eq!(back.error(), ratio.error());
    }
}

#[test]
fn an_error_beyond_new_bounds_is_forgotten() {
    let mut ratio = long_run();
    ratio.insert(100);
    let narrow = Settings { samples_per_insert: 2.0, tolerance: 600.0, ..settings() };
    assert_eq!((ratio.error(), changed(&ratio, narrow, 1_000).error()), (900.0, 600.0));
}

#[test]
fn a_longer_warm_up_waits_for_what_is_missing_and_no_more() {
    let ratio = long_run();
    let settings = Settings { warmup: 60_000, ..settings() };
    let mut ratio = changed(&ratio, settings, 50_000);
    for _ in 0..100 {
        assert!(ratio.may_insert(100, 0) && !ratio.may_sample(1));
        ratio.insert(100);
    }
    assert_eq!(ratio.error(), 0.0);
    assert!(ratio.may_sample(256) && ratio.may_insert(200, 0));
    // With enough positions held there is no second warm-up.
    assert!(changed(&long_run(), settings, 60_000).may_sample(256));
    // A warm-up that becomes shorter ends at once.
    let mut early = Ratio::new(settings).expect("possible");
    early.insert(30_000);
    let short = Settings { warmup: 20_000, ..settings };
    let early = changed(&early, short, 30_000);
    assert!(early.may_sample(256) && early.may_insert(100, 0));
}

proptest! {
    #[test]
    fn no_order_of_games_and_batches_locks_up_or_leaves_the_bounds(
        samples_per_insert in prop_oneof![Just(1.0), 0.05_f64..20.0],
        warmup in 1_u64..5_000,
        slack in prop_oneof![Just(0.0), 0.0_f64..500.0],
        largest_insert in 1_u64..400,
        largest_sample in 1_u64..600,
        sizes in proptest::collection::vec((any::<bool>(), 0.0_f64..=1.0), 1..300),
    ) {
        let mut settings =
            Settings { samples_per_insert, warmup, tolerance: 0.0, largest_insert, largest_sample };
        settings.tolerance = settings.least_tolerance() + slack;
        let mut ratio = Ratio::new(settings).expect("possible");
        for (inserts_first, share) in sizes {
            let insert = 1 + ((largest_insert - 1) as f64 * share) as u64;
            let sample = 1 + ((largest_sample - 1) as f64 * share) as u64;
            let (may_insert, may_sample) = (ratio.may_insert(insert, 0), ratio.may_sample(sample));
            // At the smallest tolerance, rounding of the last bit may block both sides.
            let tight = slack < 1e-6;
            prop_assert!(may_insert || may_sample || tight, "both wait at {}", ratio.error());
            if may_insert && (inserts_first || !may_sample) {
                ratio.insert(insert);
            } else if may_sample {
                ratio.sample(sample);
            }
            let (least, most) = ratio.bounds();
            prop_assert!(ratio.error() >= least || ratio.counters().inserts < warmup);
            // The last insert of the warm-up may exceed its end.
            prop_assert!(ratio.error() <= most.max(largest_insert as f64 * samples_per_insert));
        }
    }
}
