//! The ways in which names write numbers: seasons, episodes, dates. Each is a row; of rows that tell the same, the
//! first that fits decides.

/// What the numbers of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// `S` and `E`, up to `F`.
    Episode,
    /// `C`: the season, and the episode in its last two digits; up to `D`.
    Combined,
    /// `E` of a series that has one season only.
    Mini,
    /// `S`, up to `T`.
    Season,
    /// `A`, up to `B`; counted over all seasons, unless a season stands before it.
    Absolute,
    /// `N`, which is no episode: between two, of a disc's extras, of films.
    Half,
    /// `Y`, `M`, `D`, or eight digits `Z`.
    Date,
    /// `P`
    Part,
}

/// What must hold around a match; a row's conditions are added up.
pub(crate) type When = u32;

/// A letter or digit may stand right before it.
pub(crate) const GLUED: When = 1;
/// A letter may stand right behind it.
pub(crate) const OPEN: When = 1 << 1;
/// Behind it comes what is no word of a title: an end, a bracket, a dash, a known word, another marker.
pub(crate) const ENDS: When = 1 << 2;
/// The name begins with a group in brackets.
pub(crate) const GROUP: When = 1 << 3;
/// It does not.
pub(crate) const NO_GROUP: When = 1 << 4;
/// The first digit is a zero.
pub(crate) const PADDED: When = 1 << 5;
/// The name speaks of television.
pub(crate) const TELEVISION: When = 1 << 6;
/// The name has no year.
pub(crate) const NO_YEAR: When = 1 << 7;
/// The name has something that anime releases have: a checksum, a version, subtitles of fans.
pub(crate) const FANS: When = 1 << 8;
/// A season stands right before it.
pub(crate) const SEASON: When = 1 << 9;
/// No known word is in the name.
pub(crate) const BARE: When = 1 << 10;
/// No further number comes behind the next separator.
pub(crate) const LAST: When = 1 << 11;
/// It is not the first thing in the name.
pub(crate) const INSIDE: When = 1 << 12;

/// It is the first thing behind the group.
pub(crate) const LEADS: When = 1 << 13;

/// What a row of the table says.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) means: Means,
    /// How the trace calls it.
    pub(crate) name: &'static str,
    pub(crate) when: When,
    pub(crate) pattern: &'static str,
}

macro_rules! rules {
    ($($means:ident $name:literal $when:expr, $pattern:expr;)*) => {
        &[$(Rule { means: Means::$means, name: $name, when: $when, pattern: $pattern }),*]
    };
}

macro_rules! season {
    () => {
        "season|seasons|saison|temporada|temporadas|temp|tem|stagione|staffel|seizoen|сезон|сезоны|sezon|sezonul|\
         sezona|sez|säsong|sæson|sesong|kausi|évad|cezon|\
         saisons|stagioni|staffeln|seizoenen|sezony|sezóna|сезона|сез|sæsonen|säsongen"
    };
}

macro_rules! episode {
    () => {
        "episode|episodes|ep|eps|episodio|episódio|episodios|epizod|capitulo|capítulo|cap|folge|afl|aflevering|серия|\
         серии|серій|сер|эпизод|эпизоды|выпуск|seriya|serii|seria|serija|serya|serie|ser|avsnitt|afsnit|jakso|bölüm|bolum|blm|odcinek|odc|epizoda|\
         folgen|épisode|épisodes|odcinki|capitulos|capítulos|episodi|afleveringen|avsnitten|эпизода|серію|серія|épizód"
    };
}

pub(crate) static RULES: &[Rule] = rules! {
    Episode "season and episode" OPEN, "s|sn|se|t|с <S:1-4> _ e|xe|ep|eps|episode|afl|é <E:1-5>";
    Episode "season and episode" OPEN, "se|sn|s .. <S:1-2> _ afl|ep|episode|aflevering _ <E:1-4>";
    Episode "season and episode, several parts" OPEN, "s <S:1-2> _ ep _ {#} <N:1-2> {.} <E:1-2>";
    Episode "season and episode in brackets" OPEN, "s <S:1-2> _ {([} e|ep|episode _ <E:1-4>";
    Episode "season and episode, a letter for zero" 0, "so <S:1> e <E:1-3>";
    Episode "season and episode, without the S" 0, "<S:2> e <E:2>";
    Episode "season by episode" 0, "ep|episode .. <S:1-2> x <E:1-4>";
    Episode "season by episode" GLUED | OPEN, "<S:1-2> x|х|× <E:1-4>";
    Episode "season by episode, in brackets" 0, "{[(} <S:1-2> {.} <E:2-3> {])}";
    Episode "year by episode" 0, "<S:4> x <E:1-3>";
    Episode "season and episode in words" OPEN, concat!(season!(), "|series|s = <S:1-4> = ", episode!(), "|e = <E:1-4>");
    Episode "season and episode in words" OPEN, concat!("<S:1-2> = ", season!(), " = ", episode!(), "|e = <E:1-4>");
    Episode "season and episode, each one of several" OPEN, concat!(season!(), " = <S:1-2> . of . <N:1-2> = <E:1-3> . of . <M:1-3>");
    Episode "numbered season, numbered episode" OPEN, concat!("<S:1-2> = ", season!(), " = <E:1-4> (? ~ <F:1-4> ) = ", episode!());
    Episode "numbered season, numbered episode" OPEN, "<S:1-2> {-} й|я|ый|ой = сезон = <E:1-3> (? {-} я|ая|й ) = серия|серии|эпизод|выпуск";
    Episode "season and episode as a decimal" 0, "episode|ep _ <S:1-2> {.} <E:2>";
    Episode "season and episode as a decimal" 0, "{ } {-} { } <S:1-2> {.} <E:2> { } {-}";
    Combined "chapter" OPEN, "cap . <C:3-4> (? {_-} <D:3-4> )";
    Combined "season and episode in four digits" PADDED, "s <C:4>";
    Episode "fourfold season and number" NO_GROUP | PADDED, "s <S:1-2> {._ } <E:2>";
    Episode "season in words and number" PADDED, concat!(season!(), " __ <S:1-2> .. <E:2-3>");
    Episode "season in words and number" ENDS, concat!(season!(), " __ <S:1-2> .. {-} .. <E:1-3> (? v <V:1> )");
    Episode "season in words and number" ENDS, "<S:1-2> . st|nd|rd|th .. season .. (? {-} .. ) <E:2-3> (? v <V:1> )";
    Episode "season, dash, number" 0, "s <S:1-2> {-} <E:2-3>";
    Mini "episode with a date behind it" OPEN, "e|ep <E:2-4> {.} <N:6>";
    Mini "episode between dashes" 0, "{-} e <E:2-3> {-}";
    Mini "one of several" 0, "<E:1-2> . of|iz|из <N:1-3>";
    Mini "one of several" NO_YEAR, "cd|part|pt _ <E:1-2> . of <N:1-2>";
    Mini "one of several" NO_YEAR, "part|pt _ <E:1-2> . of .. <N:1-2>";
    Mini "part of a series" TELEVISION | NO_YEAR | OPEN, "part|pt . <E:1-2>";
    Mini "part of a series, in words" TELEVISION | NO_YEAR, "part|pt .. <count>";
    Mini "first and last episode" TELEVISION | NO_GROUP, "e|ep <E:2-4> {-} (? e|ep ) <F:2-4>";
    Season "seasons" 0, "s <S:1-2> . (? {-+&~} . ) s <T:1-2>";
    Season "seasons" 0, "s <S:1-2> {-} <T:2>";
    Season "season" OPEN, "s <S:1-4>";
    Season "season" 0, "s {._ } <S:2>";
    Season "seasons in words" 0, concat!(season!(), "|series .. <S:1-2> ~ (? s|season . ) <T:1-2>");
    Season "season in words" OPEN, concat!(season!(), " = <S:1-2>");
    Season "season in words" 0, concat!(season!(), " .. <S:4>");
    Season "numbered season" 0, concat!("<S:1-2> . (? st|nd|rd|th|a|o|â|ª ) = ", season!());
    Season "numbered season" 0, concat!("<S:1-2> {-} й|я|ый|ой = ", season!());
    Season "numbered season" 0, "第 <S:1-2> 季|期";
    Season "every episode of a season" 0, "<S:1-2> xall";
    Season "series" 0, "series .. <S:1-2>";
    Half "between two episodes" ENDS, "{ _.} {-} { _.} <N:1-4> {.} <D:1> (? v <V:1> )";
    Half "volume" GROUP, "vol|volume _ <N:1-3> (? v <V:1> )";
    Half "between two episodes" GROUP | ENDS, "{ _} <N:2-3> {.} <D:1>";
    Half "bonus of a disc" 0, "{-} x <N:2> {-}";
    Half "film of a series" 0, "{-} f <N:1-2> {-}";
    Absolute "numbered episode" 0, concat!(episode!(), " = <A:1-4> (? v <V:1> ) (? ~ <B:1-4> )");
    Absolute "numbered episode" 0, "e <A:2-4> (? v <V:1> ) (? ~ (? e ) <B:2-4> )";
    Absolute "numbered episode" 0, "^ e <A:1>";
    Absolute "numbered episode" 0, "第 <A:1-4> ~ <B:1-4> 话|話|集|回";
    Absolute "numbered episode" 0, "第 <A:1-4> 话|話|集|回";
    Absolute "numbered episode" 0, concat!("<A:1-3> . ", episode!());
    Absolute "numbers in brackets" 0, "{(} . <A:1-4> ~ <B:1-4> . {)}";
    Absolute "two numbers in a row" INSIDE, "{ _.} {-} .. <A:1-4> {,} { } <B:1-4> .. {-}";
    Absolute "numbers behind a dash" ENDS | INSIDE, "{ _.} {-} .. <A:2-3> {-} <N:2-3> {-} <B:2-3>";
    Absolute "number behind a dash" ENDS | INSIDE, "{ _.} {-} .. <A:1-4> (? v <V:1> ) (? a|b|c|d ) (? ~ <B:2-4> )";
    Absolute "number in brackets" INSIDE, "{[} . <A:1-4> (? v <V:1> ) (? ~ <B:1-4> ) . (? {(} ) (? end|fin|final|完 ) (? {)} ) {]}";
    Absolute "number at the beginning" NO_YEAR, "^ <A:1-3> (? {-} <B:3> ) .. {-} ..";
    Absolute "number sign" 0, "{#} <A:1-4> (? ~ <B:1-4> )";
    Absolute "number behind a season" SEASON | ENDS | LAST, "<A:2-4> (? v <V:1> )";
    Absolute "number behind a dash" INSIDE, "{ _} {-} { _} <A:2-3> (? v <V:1> )";
    Episode "two numbers" NO_GROUP | LAST | INSIDE, "{._- } <S:2> {._} <E:2>";
    Episode "two numbers at the end" NO_GROUP | INSIDE, "{ _.} <S:2> {-} <E:2> $";
    Episode "two numbers at the beginning" NO_GROUP | LAST, "^ <S:1-2> {-} <E:2>";
    Absolute "two spans before an end" ENDS | INSIDE | LAST, "{ _.} <A:1-4> {-~} <B:2-4> . {&+} . <C:2-4> {-~} <D:2-4>";
    Absolute "numbers before an end" ENDS | INSIDE | LAST, "{ _.} <A:1-4> {-~+&} (? {-} ) <B:2-4>";
    Absolute "numbers before an end" ENDS | INSIDE | LAST | GROUP, "{ _.} <A:1-4> ~ <B:2-4>";
    Absolute "number of an anime before an end" GROUP | ENDS | INSIDE | LAST, "{ _.-} <A:2-4> (? v <V:1> )";
    Absolute "number of an anime before an end" FANS | ENDS | INSIDE | LAST, "{ _.} <A:1-4> (? v <V:1> )";
    Absolute "padded number before an end" PADDED | ENDS | INSIDE | LAST, "{ _.-} <A:2-4> (? v <V:1> )";
    Absolute "number behind the group" GROUP | LEADS | PADDED, "<A:2-3> ..";
    Absolute "number behind the group" GROUP | LEADS, "<A:2-3> .. {-} ..";
    Combined "season and episode in one number" TELEVISION | ENDS | NO_GROUP | INSIDE | LAST, "{ _.} <C:3-5>";
    Combined "season and episode between underscores" BARE | NO_GROUP | NO_YEAR | INSIDE | LAST, "{_} <C:3> {_}";
    Absolute "padded number of an anime" GROUP | PADDED | INSIDE | LAST, "{ _.} <A:2-3>";
    Absolute "number of a broadcast" TELEVISION | ENDS | INSIDE | LAST | NO_YEAR, "{ _.} <A:2>";
    Absolute "number at the beginning" NO_YEAR | PADDED, "^ <A:2-3> . {-} (? . )";
    Absolute "number at the beginning" NO_YEAR | PADDED, "^ <A:2-3> ..";
    Absolute "number at the beginning" NO_YEAR | BARE, "^ <A:3> { } <N:2> $";
    Part "part" 0, "part .. <P:1-2>";
    Date "date" 0, "<Y:4> {. -/_} <M:1-2> {. -/_} <D:1-2>";
    Date "date, day or month first" 0, "<D:1-2> {. -/_} <M:1-2> {. -/_} <Y:4>";
    Date "date with the name of its month" 0, "<D:1-2> . (? st|nd|rd|th ) _ <month> _ <Y:4>";
    Date "date with the name of its month" 0, "<month> . <D:1-2> (? st|nd|rd|th ) _ <Y:4>";
    Date "date in eight digits" 0, "<Z:8>";
    Date "short date" 0, "<Y:2> {./ } <M:2> {./ } <D:2>";
};

/// How a marker may go on: the same season's next episode, or the last of several.
pub(crate) struct More {
    /// The numbers between belong to it too.
    pub(crate) fills: bool,
    pub(crate) pattern: &'static str,
}

pub(crate) static MORE: &[More] = &[
    More {
        fills: false,
        pattern: "_ (? {&+} _ ) (? and|und|y|et _ ) s <S:1-4> _ e|ep <E:1-5>",
    },
    More {
        fills: false,
        pattern: "_ <S:1-4> x|х <E:1-4>",
    },
    More {
        fills: true,
        pattern: ". {-~} . e|ep|x <E:1-5>",
    },
    More {
        fills: false,
        pattern: ". (? {&+} . ) e|ep|x <E:1-5>",
    },
    More {
        fills: true,
        pattern: "{-~} <E:2-4>",
    },
    More {
        fills: true,
        pattern: ". {-~} . <E:2-4> {])}",
    },
    More {
        fills: true,
        pattern: "{-~} <E:1>",
    },
    More {
        fills: false,
        pattern: "{+&} <E:1-4>",
    },
    More {
        fills: false,
        pattern: "{ } en|and|и|y|und { } <E:1-3>",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_keeps_the_numbers_that_its_meaning_needs() {
        for rule in RULES {
            let needed: &[&str] = match rule.means {
                Means::Episode => &["<S:", "<E:"],
                Means::Combined => &["<C:"],
                Means::Mini => &["<E:|<count>"],
                Means::Season => &["<S:"],
                Means::Absolute => &["<A:"],
                Means::Half => &["<N:"],
                Means::Date => &["<Y:|<Z:", "<M:|<month>|<Z:", "<D:|<Z:"],
                Means::Part => &["<P:"],
            };
            for one_of in needed {
                let has = one_of.split('|').any(|number| rule.pattern.contains(number));
                assert!(has, "{}: {} lacks {one_of}", rule.name, rule.pattern);
            }
        }
        for more in MORE {
            assert!(more.pattern.contains("<E:"), "{}", more.pattern);
        }
    }
}
