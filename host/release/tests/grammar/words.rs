//! Vocabulary: invented titles and groups, and words of releases with their meaning.

/// Titles. Some end in numbers, some begin with a word of releases, some do both.
pub const TITLES: &[&str] = &[
    "Stone Canal",
    "Harbor Folk",
    "The Orchard Lane",
    "Silver River",
    "Nightly Desk",
    "Paper Lantern",
    "A Lodger in the House",
    "Lanterns of the Upper Valley",
    "Kestrel",
    "Agent 86",
    "Platform 29",
    "Subbed Harbors",
    "Dubbed Canals",
    "French Harbors",
    "Proper Lodgers",
    "Élan Vital",
    "Greywater's Edge",
    "Tide & Moth",
];

/// Number of titles that end in no number, for forms where an episode number follows directly.
pub const PLAIN_TITLES: usize = 9;

pub const EPISODE_TITLES: &[&str] = &[
    "The Start",
    "Arrivals",
    "Long Way Home",
    "Lights Out",
    "A Quiet Word",
];

pub const GROUPS: &[&str] = &[
    "TIDE", "KESTREL", "MOTH", "CEDAR", "Kitsune", "DESK", "iNKWELL", "LANTERN", "B0RK",
];

pub const FAN_GROUPS: &[&str] = &["Kit", "Kitsune", "Moth-Subs", "Lantern Raws", "TideFansub"];

pub const SERVICES: &[(&str, &str)] = &[
    ("NF", "NF"),
    ("AMZN", "AMZN"),
    ("DSNP", "DSNP"),
    ("HMAX", "HMAX"),
    ("ATVP", "ATVP"),
    ("CR", "CR"),
    ("PCOK", "PCOK"),
];

pub const RESOLUTIONS: &[&str] = &["2160p", "1080p", "720p", "480p", "1080i", "576p"];

/// Spelling, value, and true when a service may precede it.
pub const SOURCES: &[(&str, &str, bool)] = &[
    ("WEB-DL", "WEB-DL", true),
    ("WEBRip", "WEBRip", true),
    ("WEB", "WEB", true),
    ("BluRay", "BluRay", false),
    ("Blu-ray", "BluRay", false),
    ("BDRip", "BluRay", false),
    ("HDTV", "HDTV", false),
    ("PDTV", "HDTV", false),
    ("DVDRip", "DVD", false),
    ("HDRip", "HDRip", false),
];

pub const CODECS: &[(&str, &str)] = &[
    ("x264", "x264"),
    ("x265", "x265"),
    ("H.264", "x264"),
    ("H264", "x264"),
    ("h265", "x265"),
    ("HEVC", "x265"),
    ("AVC", "x264"),
    ("AV1", "AV1"),
    ("XviD", "XviD"),
];

pub const SOUNDS: &[(&str, &[&str])] = &[
    ("DDP5.1", &["DDP"]),
    ("AAC2.0", &["AAC"]),
    ("AAC", &["AAC"]),
    ("DTS", &["DTS"]),
    ("FLAC", &["FLAC"]),
    ("AC3", &["AC3"]),
    ("Opus", &["Opus"]),
    ("DD5.1", &["AC3"]),
    ("DTS-HD.MA.5.1", &["DTS-HD", "DTS"]),
];

pub const PICTURES: &[(&str, &[&str])] = &[
    ("HDR", &["HDR"]),
    ("HDR10", &["HDR10"]),
    ("DV", &["DV"]),
    ("HDR10+", &["HDR10+"]),
    ("DV.HDR", &["HDR", "DV"]),
];

pub const LANGUAGES: &[(&str, &str)] = &[
    ("German", "GERMAN"),
    ("FRENCH", "FRENCH"),
    ("MULTi", "MULTI"),
    ("iTALiAN", "ITALIAN"),
    ("SPANISH", "SPANISH"),
    ("VOSTFR", "VOSTFR"),
    ("NORDiC", "NORDIC"),
];

pub const EDITIONS: &[(&str, &str)] = &[
    ("EXTENDED", "Extended"),
    ("UNRATED", "Unrated"),
    ("Directors.Cut", "Director's Cut"),
    ("REMASTERED", "Remastered"),
    ("IMAX", "IMAX"),
    ("Uncut", "Uncut"),
    ("Theatrical.Cut", "Theatrical"),
];

/// Status words in front of a group's dash that are not part of its name.
pub const STATUSES: &[&str] = &["PREAiR", "PROOFFIX", "iNTERNAL", "NFOFiX", "DiRFiX"];

pub const HAN_TITLES: &[&str] = &["石渠", "河港人家", "夜灯", "银河渡口"];
pub const HAN_GROUPS: &[&str] = &["Kit字幕组", "夜灯字幕社"];
