//! Every property, on every input that is kept in `fuzz/corpus`.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use ratchet_hostile::{ALL, Property};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn inputs(name: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder().join("corpus").join(name)).expect("a corpus");
    files.map(|file| file.expect("a file").path()).collect()
}

fn replay(property: &Property) {
    let inputs = inputs(property.name);
    assert!(inputs.len() >= 20, "{}: {} inputs", property.name, inputs.len());
    let holds = |file: &PathBuf| {
        let input = fs::read(file).expect("a file");
        catch_unwind(|| (property.holds)(&input)).is_ok()
    };
    let broken: Vec<&PathBuf> = inputs.iter().filter(|file| !holds(file)).collect();
    assert!(broken.is_empty(), "{} does not hold for {broken:?}", property.name);
}

macro_rules! replays {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(ALL.iter().find(|property| property.name == stringify!($name)).expect("a property"));
        })*

        #[test]
        fn every_property_is_replayed_and_has_a_target() {
            let replayed = [$(stringify!($name)),*];
            let names: Vec<&str> = ALL.iter().map(|property| property.name).collect();
            assert_eq!(names, replayed);
            for name in replayed {
                assert!(folder().join(format!("fuzz_targets/{name}.rs")).is_file(), "{name}");
            }
        }
    };
}

replays! { template key_rendering canonical_json inbound_key retry_after classification wire_body }
