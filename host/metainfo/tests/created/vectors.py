"""Prints the lines of `vectors.txt`: torrents that libtorrent makes of the files that `files` describes.

Run by hand, in an environment with `pip install libtorrent` (2.1.1 made the lines there are):
    python vectors.py > vectors.txt
"""

import hashlib
import os
import tempfile

import libtorrent as lt

PACK = [
    (".hidden", 20),
    ("Z.txt", 16384),
    ("a/empty", 0),
    ("a/small", 5),
    ("b/after", 16385),
    ("b0.bin", 32768),
    ("c/d/e.bin", 100001),
    ("c/d/f.bin", 131072),
    ("c/\u00e9\U0001f3ac.mkv", 65536),
    ("c1", 40000),
    ("z-last", 0),
]
# libtorrent 2.1.1 sorts these by the text of their paths and not name by name, and then refuses the hybrid it made.
BY_NAMES = [("b/after", 16385), ("b.bin", 32768), ("c/d", 5), ("c!", 40000)]
CASES = [
    # name, the files below it (none: it is the file), size of a piece
    ("one.bin", [("", 1)], 16384),
    ("one.bin", [("", 16384)], 16384),
    ("one.bin", [("", 16385)], 16384),
    ("one.bin", [("", 100000)], 16384),
    ("one.bin", [("", 100000)], 65536),
    ("one.bin", [("", 100000)], 131072),
    ("one.bin", [("", 1000003)], 32768),
    ("pack", PACK, 16384),
    ("pack", PACK, 32768),
    ("pack", PACK, 131072),
    ("pack", PACK[:-1], 65536),
    ("pack", [("only/one", 70000)], 16384),
    ("pack", [("pack", 70000)], 16384),
    ("pack", [("pack", 70000), ("qack", 70000)], 16384),
    ("pack", BY_NAMES, 16384),
]


def content(name, size):
    """Bytes of a file, by its last letter, so that some files are equal where their sizes are."""
    seed = os.path.basename(name)[-1]
    blocks = range(size // 32 + 1)
    return b"".join(hashlib.sha256(f"{seed}{n}".encode()).digest() for n in blocks)[:size]


def create(folder, name, files, piece, flags):
    entries = []
    for path, size in files:
        below = os.path.join(name, path) if path else name
        where = os.path.join(folder, below)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with open(where, "wb") as file:
            file.write(content(below, size))
        entries.append(lt.create_file_entry(below, size))
    torrent = lt.create_torrent(entries, piece, flags)
    lt.set_piece_hashes(torrent, folder)
    return lt.bencode(torrent.generate())


def main():
    one_order = lt.create_torrent.canonical_files_no_tail_padding
    for name, files, piece in CASES:
        for version, flags in [("v1", lt.create_torrent.v1_only), ("hybrid", one_order)]:
            if files is BY_NAMES and version == "hybrid":
                continue
            with tempfile.TemporaryDirectory() as folder:
                made = create(folder, name, sorted(files, key=lambda file: file[0].split("/")), piece, flags)
            info = lt.bdecode(made)
            layers = lt.bencode(info.get(b"piece layers", {}))
            hashes = lt.torrent_info(info).info_hashes()
            listed = " ".join(f"{size}:{path}" for path, size in files)
            v2 = str(hashes.v2) if hashes.has_v2() else "-"
            print(version, piece, str(hashes.v1), v2, hashlib.sha256(layers).hexdigest(), name, listed, sep="\t")


main()
