//! Table of the forms in which names write numbers: seasons, episodes, dates. Of the rows with the same
//! meaning, the first match decides.

use crate::pattern::Numbers;

/// Meaning of the numbers of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// Season `S` and episode `E`, up to `F`.
    Episode,
    /// Number `C`: the season, and the episode in its last two digits; up to `D`.
    Combined,
    /// Special episode `E`, up to `F`, outside the seasons.
    Special,
    /// Episode `E` of a series with only one season.
    Mini,
    /// Season `S`, up to `T`.
    Season,
    /// Absolute episode `A`, up to `B`; counted over all seasons, unless a season stands before it.
    Absolute,
    /// Number `N`, which is no episode: between two, of a disc's extras, of films.
    Half,
    /// Date `Y`, `M`, `D`, or eight digits `Z`.
    Date,
    /// Part `P`.
    Part,
}

/// Conditions around a match, as a sum of the flags below.
pub(crate) type When = u32;

/// A letter or digit may stand right before it.
pub(crate) const GLUED: When = 1;
/// A letter may stand right behind it.
pub(crate) const OPEN: When = 1 << 1;
/// No word of a title follows: an end, a bracket, a dash, a known word, or another marker.
pub(crate) const ENDS: When = 1 << 2;
/// The name begins with a group in brackets.
pub(crate) const GROUP: When = 1 << 3;
/// The name begins without such a group.
pub(crate) const NO_GROUP: When = 1 << 4;
/// The first digit is a zero.
pub(crate) const PADDED: When = 1 << 5;
/// The name has words of television.
pub(crate) const TELEVISION: When = 1 << 6;
/// The name has no year.
pub(crate) const NO_YEAR: When = 1 << 7;
/// The name has a mark of anime releases: a checksum, a version, fan subtitles.
pub(crate) const FANS: When = 1 << 8;
/// A season stands right before it.
pub(crate) const SEASON: When = 1 << 9;
/// The name has no known word.
pub(crate) const BARE: When = 1 << 10;
/// No further number comes behind the next separator.
pub(crate) const LAST: When = 1 << 11;
/// It is not at the start of the name.
pub(crate) const INSIDE: When = 1 << 12;

/// It comes right behind the group.
pub(crate) const LEADS: When = 1 << 13;

/// Names of rows with several seasons behind one letter or word, used by other choices.
pub(crate) const RANGE: &str = "range of seasons";
pub(crate) const LIST: &str = "list of seasons";
/// End of a range in bare numbers.
pub(crate) const SPAN: &str = "{-~} <E:2-4>";

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) means: Means,
    /// Name in the trace.
    pub(crate) name: &'static str,
    pub(crate) when: When,
    pub(crate) pattern: &'static str,
}

/// True for a range of seasons like `S01-05`: both numbers are written alike. `S2-05` is an episode, and
/// `S2-12` is as likely one; with words (`Season 2-12`) only a leading zero tells.
pub(crate) fn is_range(rule: &Rule, numbers: &Numbers, last: u8) -> bool {
    let (Some(first), Some(last)) = (numbers.get(b'S'), numbers.get(last)) else {
        return false;
    };
    let alike = first.digits == last.digits;
    let in_words = !rule.pattern.starts_with("s ") && last.value > 9;
    last.value > first.value && (alike || in_words)
}

macro_rules! rules {
    ($($means:ident $name:tt $when:expr, $pattern:expr;)*) => {
        &[$(Rule { means: Means::$means, name: $name, when: $when, pattern: $pattern }),*]
    };
}

macro_rules! season {
    () => {
        "season|seasons|saison|temporada|temporadas|temp|tem|stagione|staffel|seizoen|сезон|сезоны|sezon|sezonul|\
         sezona|sez|säsong|sæson|sesong|kausi|évad|cezon|\
         시즌|saisons|stagioni|staffeln|seizoenen|sezony|sezóna|сезона|сез|sæsonen|säsongen"
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
    Episode "season and episode" OPEN, "s <S:1-2> . x . (? e|ep . ) <E:1-4>";
    Episode "season and episode in brackets" OPEN, "s <S:1-2> _ {([} e|ep|episode _ <E:1-4>";
    Episode "season and episode, a letter for zero" 0, "so <S:1> e <E:1-3>";
    Episode "season and episode, without the S" 0, "<S:2> e <E:2>";
    Episode "season by episode" 0, "ep|episode .. <S:1-2> x <E:1-4>";
    Episode "season by episode" GLUED | OPEN, "<S:1-2> x|х|× <E:1-4>";
    Episode "season by episode, in brackets" 0, "{[(} <S:1-2> {.} <E:2-3> {])}";
    Episode "year by episode" 0, "<S:4> x|e <E:1-3>";
    Episode "season and episode in words" OPEN, concat!(season!(), "|series|s = <S:1-4> = ", episode!(), "|e = <E:1-4>");
    Episode "season and episode in words" OPEN, concat!("<S:1-2> = ", season!(), " = ", episode!(), "|e = <E:1-4>");
    Episode "season and episode, each one of several" OPEN, concat!(season!(), " = <S:1-2> . of . <N:1-2> = <E:1-3> . of . <M:1-3>");
    Episode "numbered season, numbered episode" OPEN, concat!("<S:1-2> = ", season!(), " = <E:1-4> (? ~ <F:1-4> ) = ", episode!());
    Episode "numbered season, numbered episode" OPEN, "<S:1-2> {-} й|я|ый|ой = сезон = <E:1-3> (? {-} я|ая|й ) = серия|серии|эпизод|выпуск";
    Episode "numbered season, numbered episode" 0, "第 <S:1-2> 季|期 = (? 第 ) <E:1-4> (? ~ <F:1-4> ) 话|話|集|回";
    Episode "numbered season, numbered episode" 0, "<season> = (? 第 ) <E:1-4> (? ~ <F:1-4> ) 话|話|集|回";
    Episode "season and episode as a decimal" 0, "episode|ep _ <S:1-2> {.} <E:2>";
    Episode "season and episode as a decimal" 0, "{ } {-} { } <S:1-2> {.} <E:2> { } {-}";
    Combined "chapter" OPEN, "cap . <C:3-4> (? {_-} <D:3-4> )";
    Combined "season and episode in four digits" PADDED, "s <C:4>";
    Episode "fourfold season and number" NO_GROUP | PADDED, "s <S:1-2> {._ } <E:2>";
    Episode "season and number" ENDS, "s <S:1-2> {._ } <E:2>";
    Episode "season in words and number" PADDED, concat!(season!(), " __ <S:1-2> .. <E:2-3>");
    Episode "season in words and number" ENDS, concat!(season!(), " __ <S:1-2> .. {-} .. <E:1-3> (? v <V:1> )");
    Episode "season in words and number" ENDS, "<S:1-2> . st|nd|rd|th .. season .. (? {-} .. ) <E:2-3> (? v <V:1> )";
    Episode "season, dash, number" 0, "s <S:1-2> {-} <E:2-3>";
    Mini "episode with a date behind it" OPEN, "e|ep <E:2-4> {.} <N:6>";
    Mini "episode between dashes" 0, "{-} e <E:2-3> {-}";
    Absolute "several of all" INSIDE, "<A:1-4> ~ <B:1-4> . of|iz|из|von|de|sur . <N:1-4>";
    Absolute "several of all" INSIDE, "{[(} . <A:1-4> ~ <B:1-4> . of|iz|из|von|de|sur . <N:1-4>";
    Mini "one of several" NO_GROUP, "e|ep|episode|part . <E:1-3> .. of|iz|из .. <N:1-3>";
    Absolute "one of several" GROUP, "e|ep|episode . <A:1-3> . of|iz|из . <N:1-3>";
    Absolute "one of several" GROUP, "{[} . <A:1-3> {/} <N:1-3> . {]}";
    Mini "all of several" INSIDE, "{[(} . <E:2-3> . iz|из . <N:2-3> . {])}";
    Mini "one of several" 0, "<E:1-2> . of|iz|из <N:1-3>";
    Mini "one of several" NO_GROUP | INSIDE, "<E:1-3> .. of|iz|из .. <N:1-3>";
    Mini "one of several" NO_GROUP | INSIDE, "{[(} . <E:1-3> . of|iz|из|von|de|di|sur|od|z . <N:1-3> . {])}";
    Absolute "one of several" GROUP | INSIDE, "<A:1-3> . of|iz|из . <N:1-3>";
    Absolute "one of several" GROUP | INSIDE, "{[(} . <A:1-3> . of|iz|из|von|de|di|sur|od|z . <N:1-3> . {])}";
    Mini "one of several" NO_YEAR, "cd|part|pt _ <E:1-2> . of <N:1-2>";
    Mini "one of several" NO_YEAR, "cd|part|pt _ <E:1-2> . of .. <N:1-2>";
    Mini "part of a series" TELEVISION | NO_YEAR | OPEN, "part|pt . <E:1-2>";
    Mini "part of a series, in words" TELEVISION | NO_YEAR, "part|pt .. <count>";
    Mini "first and last episode" TELEVISION | NO_GROUP, "e|ep <E:2-4> {-} (? e|ep ) <F:2-4>";
    Season "seasons" 0, "s <S:1-2> . (? {-+&~} . ) s <T:1-2>";
    Season LIST 0, "s <S:1-2> {-+&} s <T:1-2> {-+&} s <U:1-2> (? {-+&} s <W:1-2> )";
    Season RANGE 0, "s <S:1-2> {-~} <T:1-2>";
    Season RANGE 0, "s <S:1-2> .. to|bis|thru|through .. s <T:1-2>";
    Season RANGE 0, concat!(season!(), "|series = <S:1-2> {-~} <T:1-2>");
    Season RANGE 0, concat!(season!(), "|series .. <S:1-2> .. to|a|à|ao|bis|do|al|по|thru|through .. (? s|season . ) <T:1-2>");
    Season LIST 0, concat!(season!(), "|series .. <S:1-2> . {,&+} . <T:1-2> . {,&+} . (? and|und|et|y|и|e . ) <U:1-2>");
    Season LIST 0, concat!(season!(), "|series .. <S:1-2> . {,&+} . <T:1-2> .. and|und|et|y|и|e .. <U:1-2>");
    Season LIST 0, concat!(season!(), "|series .. <S:1-2> . {&+} . <T:1-2>");
    Season LIST 0, concat!(season!(), "|series .. <S:1-2> .. and|und|et|y|и|e .. <T:1-2>");
    Season LIST 0, "s <S:1-2> {+&,} <T:1-2> (? {+&,} <U:1-2> ) (? {+&,} <W:1-2> )";
    Season "season" OPEN, "s <S:1-4>";
    Season "season" 0, "s {._ } <S:2>";
    Season "seasons in words" 0, concat!(season!(), "|series .. <S:1-2> ~ (? s|season . ) <T:1-2>");
    Season "season in words" OPEN, concat!(season!(), " = <S:1-2>");
    Season "season in words" 0, concat!(season!(), " .. <S:4>");
    Season "numbered season" 0, concat!("<S:1-2> . (? st|nd|rd|th|a|o|â|ª ) = ", season!());
    Season "numbered season" 0, concat!("<S:1-2> {-} й|я|ый|ой = ", season!());
    Season "numbered season" 0, "第 <S:1-2> ~ <T:1-2> 季|期";
    Season "numbered season" 0, "第 <S:1-2> 季|期";
    Season "numbered season" 0, "<season>";
    Season "numbered seasons" 0, concat!("<S:1-2> {-~} <T:1-2> . ", season!());
    Season "every episode of a season" 0, "<S:1-2> xall";
    Season "series" 0, "series .. <S:1-2>";
    Half "between two episodes" ENDS, "{ _.} {-} { _.} <N:1-4> {.} <D:1> (? v <V:1> )";
    Half "between two episodes" ENDS, "ep|eps|episode|e . <N:1-4> {.} <D:1> (? v <V:1> )";
    Half "between two episodes" GROUP, "{[(} . <N:1-4> {.} <D:1> (? v <V:1> ) . {])}";
    Half "between two episodes" 0, "第 <N:1-4> {.} <D:1> 话|話|集|回";
    Half "between two episodes of a season" ENDS | OPEN, "s <S:1-2> _ e|ep <N:1-4> {.} <D:1>";
    Half "number of all episodes" 0, "全|共 <N:1-4> 话|話|集|回";
    Half "extra of a disc" GROUP | INSIDE | ENDS, "ed|op|ex|nced|ncop|pv|cm|iv|menu|trailer|preview|teaser <N:1-2> (? a|b|c|d ) (? v <V:1> )";
    Half "extra of a disc" INSIDE | ENDS, "{-[(} . ed|op|ex|nced|ncop|pv|cm|iv|menu|trailer|preview|teaser <N:1-2> (? a|b|c|d ) (? v <V:1> )";
    Half "volume" GROUP, "vol|volume _ <N:1-3> (? v <V:1> )";
    Half "between two episodes" GROUP | ENDS, "{ _} <N:2-3> {.} <D:1>";
    Half "bonus of a disc" 0, "{-} x <N:2> {-}";
    Half "film of a series" 0, "{-} f <N:1-2> {-}";
    Absolute "numbered episode" 0, concat!(episode!(), " = <A:1-4> (? v <V:1> ) (? ~ (? e|ep|eps . ) <B:1-4> )");
    Absolute "numbered episode" 0, "e <A:2-4> (? v <V:1> ) (? ~ (? e ) <B:2-4> )";
    Absolute "numbered episode" 0, "^ e <A:1>";
    Absolute "numbered episode" 0, "第 <A:1-4> ~ <B:1-4> 话|話|集|回";
    Absolute "numbered episode" 0, "第|제 <A:1-4> 话|話|集|回|화|회";
    Absolute "numbered episode" 0, "<A:1-4> ~ <B:1-4> 话|話|集|回|话全|話全|集全|화|회";
    Absolute "numbered episode" 0, "<A:1-4> 话|話|集|回|화|회|话完|話完|集完";
    Absolute "numbered episode" 0, concat!("<A:1-3> . ", episode!());
    Absolute "span counted twice" INSIDE, "{ _.-} <A:2-4> {-~} <B:2-4> . {(} <N:2-4> {-~} <M:2-4> {)}";
    Absolute "numbers in brackets" 0, "{(} . <A:1-4> ~ <B:1-4> . {)}";
    Absolute "two numbers in a row" INSIDE, "{ _.} {-} .. <A:1-4> {,} { } <B:1-4> .. {-}";
    Absolute "numbers behind a dash" ENDS | INSIDE, "{ _.} {-} .. <A:2-3> {-} <N:2-3> {-} <B:2-3>";
    Absolute "numbers behind a dash" ENDS | INSIDE, "{ _.} {-} .. <A:1-4> {+&} <B:1-4>";
    Absolute "padded span" PADDED | ENDS | INSIDE, "{ _.} <A:2-4> { _} {-~} { _} <B:2-4>";
    Absolute "number behind a dash" ENDS | INSIDE, "{ _.} {-} .. <A:1-4> (? v <V:1> ) (? a|b|c|d ) (? ~ <B:2-4> )";
    Absolute "number in brackets" INSIDE, "{[} . <A:1-4> (? v <V:1> ) (? ~ <B:1-4> ) . (? {(} ) (? end|fin|final|完 ) (? {)} ) {]}";
    Special "numbered special" 0, "s <S:1-2> . sp|ova|oad|oav . <E:1-3>";
    Special "numbered special" INSIDE | ENDS, "sp|sps|ova|ovas|oad|oads|oav <E:1-3> (? v <V:1> ) (? {-~} <F:1-3> )";
    Special "numbered special" INSIDE | ENDS, "{-[(} . special|specials|sp|ova|oad|oav .. <E:1-2> (? v <V:1> )";
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
    Combined "several numbers of season and episode" TELEVISION | ENDS | NO_GROUP | INSIDE | LAST, "{ _.} <C:3-4> {._ -+&} <D:3-4> (? {._ -+&} <G:3-4> ) (? {._ -+&} <H:3-4> )";
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
    Date "date with the name of its month" 0, "<Y:4> _ <month> _ <D:1-2>";
    Date "date in eight digits" 0, "<Z:8>";
    Date "date in six digits" 0, "<Z:6>";
    Date "short date" 0, "<Y:2> {./ } <M:2> {./ } <D:2>";
};

/// Continuation of a marker: the next episode of the same season, or the last of several.
pub(crate) struct More {
    /// True when the numbers between are included.
    pub(crate) fills: bool,
    pub(crate) pattern: &'static str,
}

pub(crate) static MORE: &[More] = &[
    More {
        fills: true,
        pattern: ". {-~} . s <S:1-4> _ e|ep <E:1-5>",
    },
    More {
        fills: true,
        pattern: ". {-~} . <S:1-4> x|х <E:1-4>",
    },
    More {
        fills: true,
        pattern: ".. to|bis|thru|through|до .. (? s <S:1-4> . ) e|ep|episode . <E:1-4>",
    },
    More {
        fills: true,
        pattern: ".. to|bis|thru|through|до .. <E:2-4>",
    },
    More {
        fills: true,
        pattern: "{-~} <E:1-4> . of|iz|из . <N:1-4>",
    },
    More {
        fills: false,
        pattern: "_ (? {&+} _ ) (? and|und|y|et _ ) s <S:1-4> _ e|ep <E:1-5>",
    },
    More {
        fills: false,
        pattern: "_ (? {&+} _ ) <S:1-4> x|х <E:1-4>",
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
        pattern: SPAN,
    },
    More {
        fills: true,
        pattern: "{_} <E:2-4>",
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
        pattern: "{,} <E:2-3>",
    },
    More {
        fills: false,
        pattern: ". {,} . e|ep <E:1-4>",
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
                Means::Episode => &["<S:|<season>", "<E:"],
                Means::Combined => &["<C:"],
                Means::Mini => &["<E:|<count>"],
                Means::Special => &["<E:"],
                Means::Season => &["<S:|<season>"],
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
