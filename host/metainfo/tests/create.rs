//! Torrents that this crate creates: like those of libtorrent, and read by its own reader as they were meant.

use proptest::prelude::*;
use qm_metainfo::bencode::{self, Node};
use qm_metainfo::create::{Created, Format, Hasher, Options, Plan, PlannedFile};
use qm_metainfo::{Contents, Metainfo};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Bytes of a file by its last letter, as `created/vectors.py` makes them.
fn content(name: &str, size: u64) -> Vec<u8> {
    let seed = name.chars().last().expect("a name");
    let mut bytes = Vec::new();
    for n in 0..=size / 32 {
        bytes.extend_from_slice(&Sha256::digest(format!("{seed}{n}")));
    }
    bytes.truncate(usize::try_from(size).expect("a small file"));
    bytes
}

fn path(text: &str) -> Vec<String> {
    text.split('/')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn plan(name: &str, files: &[(String, u64)], options: Options) -> Plan {
    match files {
        [(only, size)] if only.is_empty() => Plan::of_file(name, *size, options),
        files => {
            let files = files.iter().map(|(text, size)| PlannedFile {
                path: path(text),
                size: *size,
            });
            Plan::of_folder(name, files.collect(), options)
        }
    }
    .expect("a plan")
}

/// Hashes all files in portions of that size.
fn create(plan: Plan, portion: usize) -> Created {
    let mut hasher = Hasher::new(plan.clone());
    for file in plan.files() {
        let name = file.path.last().map_or(plan.name(), String::as_str);
        for bytes in content(name, file.size).chunks(portion) {
            hasher.push(bytes).expect("bytes of the plan");
        }
    }
    hasher.finish().expect("a torrent")
}

/// Lines of `created/vectors.txt` were written by libtorrent 2.1.1 through `created/vectors.py`.
#[test]
fn torrents_are_those_of_libtorrent() {
    let mut checked = 0;
    for line in include_str!("created/vectors.txt").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [version, piece, v1, v2, layers, name, listed] = fields[..] else {
            panic!("seven fields: {line}");
        };
        let files: Vec<(String, u64)> = listed
            .split(' ')
            .map(|file| {
                let (size, path) = file.split_once(':').expect("a size and a path");
                (path.to_owned(), size.parse().expect("a size"))
            })
            .collect();
        let format = if version == "v1" {
            Format::V1
        } else {
            Format::Hybrid
        };
        let options = Options {
            format,
            piece_size: Some(piece.parse().expect("a size")),
            ..Options::default()
        };
        let made = create(plan(name, &files, options), 10_007);
        assert_eq!(made.metainfo.v1.as_deref(), Some(v1), "{line}");
        assert_eq!(made.metainfo.v2.as_deref().unwrap_or("-"), v2, "{line}");
        let root = bencode::parse(&made.file).expect("bencode");
        let own = root.get("piece layers").map_or(&b"de"[..], Node::raw);
        assert_eq!(hex::encode(Sha256::digest(own)), layers, "{line}");
        checked += 1;
    }
    assert_eq!(checked, 29);
}

/// Root of a tree as the specification describes it: blocks of a whole file at once, in a tree as high as it needs.
fn root_of(bytes: &[u8]) -> [u8; 32] {
    let leaves = bytes.chunks(16 * 1024).map(|block| Sha256::digest(block).into());
    root_above(leaves.collect(), [0; 32])
}

fn root_above(mut level: Vec<[u8; 32]>, mut blank: [u8; 32]) -> [u8; 32] {
    let join = |left: [u8; 32], right: [u8; 32]| Sha256::digest([left, right].concat()).into();
    while level.len() > 1 {
        level.resize(level.len().next_multiple_of(2), blank);
        level = level.chunks(2).map(|pair| join(pair[0], pair[1])).collect();
        blank = join(blank, blank);
    }
    level[0]
}

/// Leaves of a tree of files, in their order: path, length, root.
fn leaves<'a>(tree: Node<'a>, above: &[String], found: &mut Vec<(Vec<String>, u64, Option<&'a [u8]>)>) {
    for (name, node) in tree.dict().expect("a folder") {
        if name.is_empty() {
            let length = node.get("length").and_then(Node::int).expect("a length");
            let root = node.get("pieces root").and_then(Node::bytes);
            found.push((above.to_vec(), u64::try_from(length).expect("a length"), root));
        } else {
            let name = String::from_utf8(name.to_vec()).expect("UTF-8");
            leaves(node, &[above, &[name]].concat(), found);
        }
    }
}

/// Checks every hash of a torrent against the content, each computed at once and without the hasher.
fn check_hashes(made: &Created, plan: &Plan, format: Format) {
    let root = bencode::parse(&made.file).expect("bencode");
    let info = root.get("info").expect("an info dictionary");
    let bytes_of = |file: &PlannedFile| content(file.path.last().expect("a folder"), file.size);
    let piece_size = usize::try_from(plan.piece_size()).expect("a size");
    let mut laid_out = Vec::new();
    for file in plan.files() {
        if format == Format::Hybrid && file.size > 0 {
            laid_out.resize(laid_out.len().next_multiple_of(piece_size), 0);
        }
        laid_out.extend(bytes_of(file));
    }
    let pieces: Vec<u8> = laid_out.chunks(piece_size).flat_map(Sha1::digest).collect();
    assert_eq!(info.get("pieces").and_then(Node::bytes), Some(&pieces[..]));
    let Some(tree) = info.get("file tree") else {
        assert_eq!(format, Format::V1);
        return;
    };
    let mut found = Vec::new();
    leaves(tree, &[], &mut found);
    let layers = root.get("piece layers").and_then(Node::dict).expect("layers");
    let layers: std::collections::BTreeMap<_, _> = layers
        .map(|(root, layer)| (root, layer.bytes().expect("a layer")))
        .collect();
    let mut layered = std::collections::BTreeSet::new();
    for (file, (path, length, root)) in plan.files().iter().zip(&found) {
        assert_eq!((&file.path, file.size), (path, *length));
        let bytes = bytes_of(file);
        assert_eq!(root.is_some(), file.size > 0);
        let Some(root) = root else { continue };
        assert_eq!(**root, root_of(&bytes), "{path:?}");
        if file.size > plan.piece_size() {
            let blank = (0..(piece_size / 16384).trailing_zeros())
                .fold([0; 32], |blank, _| Sha256::digest([blank, blank].concat()).into());
            let roots: Vec<[u8; 32]> = layers[root]
                .chunks(32)
                .map(|root| root.try_into().expect("32 bytes"))
                .collect();
            assert_eq!(roots.len(), bytes.len().div_ceil(piece_size));
            assert_eq!(roots[0], root_of(&bytes[..piece_size]));
            assert_eq!(root_above(roots, blank), **root);
            layered.insert(*root);
        }
    }
    assert_eq!(found.len(), plan.files().len());
    assert_eq!(layers.len(), layered.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn hashes_are_those_of_the_content(
        sizes in prop::collection::btree_map("[a-c]/[a-e]{1,2}", prop_oneof![
            Just(0u64), Just(16384), Just(65536), 1u64..200_000
        ], 1..8),
        hybrid in any::<bool>(),
        exponent in 14u32..18,
        portion in 1usize..100_000,
    ) {
        prop_assume!(sizes.values().any(|size| *size > 0));
        let format = if hybrid { Format::Hybrid } else { Format::V1 };
        let options = Options { format, piece_size: Some(1 << exponent), ..Options::default() };
        let files: Vec<(String, u64)> = sizes.into_iter().collect();
        let plan = plan("pack", &files, options);
        let made = create(plan.clone(), portion);
        check_hashes(&made, &plan, format);
        let metainfo = Metainfo::parse(&made.file).expect("a torrent");
        prop_assert_eq!(&metainfo, &made.metainfo);
        prop_assert_eq!((metainfo.size, metainfo.file_count), (plan.total_bytes(), files.len()));
        let contents = Contents::read(&made.file).expect("contents");
        let planned: Vec<Vec<u8>> = plan.files().iter().map(|file| file.path.join("/").into_bytes()).collect();
        prop_assert_eq!(contents.files, planned);
    }
}
