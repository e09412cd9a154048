//! Vocabulary of release names: the value of each word, and how safely it ends a title.
//!
//! In a phrase a dot stands for at most one separator (`web.dl` matches `WEB-DL`, `web dl` and `WEBDL`), an
//! underscore for exactly one. The order of a field's rows is the order of its values.

/// Field that a word belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Resolution,
    Source,
    Codec,
    Audio,
    Channels,
    Depth,
    Hdr,
    Language,
    Edition,
    Service,
    Proper,
    Repack,
    Version,
    Container,
    /// Openings and trailers: no episode, and the title ends before them.
    Extra,
    /// A word of releases without a field.
    Noise,
    /// An event instead of a series: numbers before it belong to the title.
    Event,
    /// A whole series, stated in front of the seasons.
    Whole,
}

/// Certainty that a word belongs to the release and not to the title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Never in a title: the title ends before it.
    Always,
    /// Occurs in titles too: it counts behind the title, together with the part that ends the title.
    Behind,
    /// A common word: it counts behind the title, next to another word of releases or before an end.
    Beside,
}

use Field::{
    Audio, Channels, Codec, Container, Depth, Edition, Event, Extra, Hdr, Language, Noise, Proper, Repack,
    Resolution, Service, Source, Version, Whole,
};
use Trust::{Always, Behind, Beside};

/// A row: field, value, certainty, phrases.
pub(crate) type Row = (Field, &'static str, Trust, &'static str);

/// Name of a field in the trace.
pub(crate) fn name(field: Field) -> &'static str {
    match field {
        Resolution => "resolution",
        Source => "source",
        Codec => "codec",
        Audio => "audio",
        Channels => "channels",
        Depth => "bitDepth",
        Hdr => "hdr",
        Language => "languages",
        Edition => "edition",
        Service => "streamingService",
        Proper => "proper",
        Repack => "repack",
        Version => "version",
        Container => "container",
        Extra => "extra",
        Noise => "known word",
        Event => "event",
        Whole => "whole series",
    }
}

/// For a phrase in several rows the first row counts.
pub(crate) const ROWS: &[Row] = &[
    (Resolution, "2160p", Always, "2160p 2160i 4k ultrahd"),
    (Resolution, "2160p", Behind, "uhd ultra.hd hd4k"),
    (Resolution, "1080p", Behind, "fhd fullhd full.hd"),
    (Resolution, "1440p", Always, "1440p"),
    (
        Resolution,
        "1080p",
        Always,
        "1080p hd1080p 10800p m1080 hd1080 1080hd",
    ),
    (Resolution, "1080i", Always, "1080i hd1080i"),
    (Resolution, "720p", Always, "720p hd720p 720hd hd720 7200p m720"),
    (Resolution, "720i", Always, "720i"),
    (Resolution, "576p", Always, "576p 576i"),
    (Resolution, "540p", Always, "540p"),
    (Resolution, "480p", Always, "480p 480i"),
    (Resolution, "360p", Always, "360p 368p 400p 404p 240p"),
    (Resolution, "576p", Behind, "pal"),
    (Resolution, "480p", Behind, "ntsc"),
    (
        Source,
        "WEB-DL",
        Always,
        "web.dl webdl web.dlrip webdlrip webhd web.hd netflixhd netflixsd amazonhd amazonsd amazonuhd disneyhd disneysd disneyuhd huluhd maxdomehd joynhd applehd ituneshd hditunes netflixuhd webuhd web.dlmux webdlmux true.web.dl webdl.rip web.dl.rip webdlremux web.dl.remux webremux web.remux hdweb uhdweb hbohd paramounthd wowhd rtlhd magentahd primehd crunchyrollhd",
    ),
    (
        Source,
        "WEBRip",
        Always,
        "web.rip webrip webriphd webmux web.mux web.cap webcap dlmux netflixuhdrip netflixhdrip webcaprip hdwebrip uhdwebrip webripmux vodrip vod.rip ppvrip ppv.rip",
    ),
    (
        Source,
        "Remux",
        Always,
        "remux bd.remux bdremux uhdremux uhd.remux 4kuhdremux bluray.remux blu.ray.remux br.remux blurayremux uhd.bd.remux uhdbdremux bluray.uhd.remux",
    ),
    (
        Source,
        "BluRay",
        Always,
        "blu.ray bluray bd.rip bdrip brripmux bdripmux bdmux br.rip brrip bdmux bdmv mbluray bdlight blurayrip blu.ray.rip uhd2bd bdr bd25 bd50 bd66 bd100 bd.25 bd.50 bdiso brip uhdbd hddvd hd.dvd mblu.ray uhdrip uhd.rip uhdbdrip bd5 bd9 dlbd microhd bdrip10 hdbd hdbrrip bdavc bluray3d blu.ray.3d bd3d 4klight uhdlight",
    ),
    (Source, "BluRay", Beside, "bd blu br"),
    (
        Source,
        "HDTV",
        Always,
        "hdtv hd.tv pdtv sdtv sd.tv tvrip tv.rip hdtvrip hdtv.rip dvbrip dvb.rip dvb dsr dsrip dthrip satrip sat.rip hdtvhd dtv ldtv ahdtv uhdtv tvhdrip iptvrip iptv hdtvmux satmux digitalrip dtvrip uhdtvrip dvbtrip dvbs dvbt tvmux pdtvrip dttrip dtt dttvrip",
    ),
    (Source, "HDTV", Beside, "tv"),
    (
        Source,
        "DVD",
        Always,
        "dvd.rip dvdrip dvd.r dvdr dvd5 dvd9 dvd.5 dvd.9 xdvd xdvd5 xdvd9 dvdscr dvd.scr dvdscreener dvd.screener hddvdrip hd.dvdrip dvdivx dvdmux xvidvd dvdfull full.dvd ldrip r2dvd predvd predvdrip pre.dvdrip pdvd dvdripmux dvdremux dvd.remux",
    ),
    (Source, "DVD", Behind, "dvd dvds"),
    (Source, "HDRip", Always, "hdrip hd.rip webrip.hdrip"),
    (
        Source,
        "CAM",
        Always,
        "hdcam hd.cam camrip cam.rip hqcam hdcamrip hd.camrip hqcamrip qcam",
    ),
    (Source, "CAM", Beside, "cam"),
    (
        Source,
        "Telesync",
        Always,
        "telesync telesynch hdts hd.ts tsrip ts.rip hdtsrip pdvdrip hqts hqtsrip hd.tsrip hdtelesync telesyncrip",
    ),
    (Source, "Telesync", Beside, "ts"),
    (
        Source,
        "Telecine",
        Always,
        "telecine hdtc hd.tc tcrip hdtcrip hd.tcrip hqtc",
    ),
    (Source, "Telecine", Beside, "tc"),
    (
        Source,
        "Screener",
        Always,
        "screener bdscr scr desiscr webscreener desiscr.rip brscreener",
    ),
    (Source, "R5", Beside, "r5 r6 r5.line"),
    (Source, "VHS", Always, "vhsrip vhs.rip"),
    (Source, "VHS", Beside, "vhs"),
    (Source, "WEB", Beside, "web webx"),
    (
        Codec,
        "x265",
        Always,
        "x265 h265 h.265 x.265 hevc hevc10 hevc8 h.265p h265p x265p hevc10bit hevc.x265",
    ),
    (
        Codec,
        "x264",
        Always,
        "x264 h264 264 h.264 x.264 avc h264p x264hi10p h.264p x264p avchd avc1",
    ),
    (Codec, "AV1", Always, "av1"),
    (Codec, "XviD", Always, "xvid xvidhd"),
    (Codec, "DivX", Always, "divx divx5 divx6 divx3 divx4"),
    (Codec, "VC-1", Always, "vc.1 vc1"),
    (Codec, "VP9", Always, "vp9"),
    (Codec, "VVC", Always, "h266 h.266 x266 vvc"),
    (Codec, "MPEG-2", Always, "mpeg2 mpeg.2 h262 h.262 mpeg2video"),
    (Codec, "MPEG-4", Always, "mpeg4 mpeg.4 h.263 h263"),
    (Codec, "WMV", Behind, "wmv wmvhd"),
    (Audio, "Atmos", Behind, "atmos"),
    (Audio, "TrueHD", Behind, "true.hd truehd"),
    (
        Audio,
        "DTS-HD",
        Behind,
        "dts.hd dtshd dts.hdma dtshdma dts.hd.ma dts.hd.hr dts.hd.hra dts.ma dts.hr dts.hr.ma dts.hd.master dtsma dtshr dts.hd.mahr dtshdhr dtshdhra",
    ),
    (
        Audio,
        "DTS",
        Behind,
        "dts dts.x dtsx dts.es dtses dts.x.ma dtsd dtsl dts:x",
    ),
    (
        Audio,
        "DDP",
        Behind,
        "ddp dd+ eac3 e.ac.3 e.ac3 ddpa dolby.digital.plus ddplus dd.p eac3d eac3dl ddp.a dd+a eac3x2 ddp.atmos",
    ),
    (
        Audio,
        "AC3",
        Behind,
        "ac3 ac.3 dd dolby.digital dd.ex ddex ac3d ac3x2 dolby ac3dl ac3ld ac3md",
    ),
    (
        Audio,
        "AAC",
        Behind,
        "aac aac.lc he.aac heaac aacx aacx2 aacx3 aacx4 qaac qaacx qaacx2 aacd aacdl xhe.aac xheaac he.aacv2 heaacv2",
    ),
    (Audio, "FLAC", Behind, "flac flacx flacx2 flacx3 alac"),
    (Audio, "Opus", Behind, "opus"),
    (Audio, "MP3", Behind, "mp3"),
    (Audio, "PCM", Behind, "lpcm pcm"),
    (Audio, "Vorbis", Behind, "vorbis ogg"),
    (Audio, "MP2", Behind, "mp2 mpa"),
    (Channels, "7.1", Behind, "7.1 7.1ch 8ch 7.1.4 5.1.4 8.ch"),
    (Channels, "5.1", Behind, "5.1 5.1ch 6ch 6.0 6.ch"),
    (Channels, "2.1", Behind, "2.1"),
    (Channels, "2.0", Behind, "2.0 2.0ch 2ch stereo"),
    (Channels, "1.0", Behind, "1.0 1ch mono"),
    (Depth, "12", Always, "12bit 12bits"),
    (
        Depth,
        "10",
        Always,
        "10bit 10bits hi10p hi10 yuv420p10 10b main10 yuv420p10le main.10 hi422p hi444pp hi444p",
    ),
    (Depth, "8", Always, "8bit 8bits hi8p"),
    (Depth, "12", Behind, "12.bit"),
    (Depth, "10", Behind, "10.bit 10.bits"),
    (Depth, "8", Behind, "8.bit 8.bits"),
    (
        Hdr,
        "HDR10+",
        Behind,
        "hdr10+ hdr10plus hdr10.plus hdr10p hdr.10+ hdr10.p",
    ),
    (Hdr, "HDR10", Behind, "hdr10 hdr.10"),
    (Hdr, "HDR", Behind, "hdr"),
    (
        Hdr,
        "DV",
        Behind,
        "dv dovi dolby.vision dolbyvision d_v dv.p5 dv.p7 dv.p8 dovi.p5 dovi.p7 dovi.p8 dvp5 dvp7 dvp8 dv5 dv8",
    ),
    (
        Language,
        "MULTI",
        Behind,
        "multi multi2 multi3 multi4 multi5 multi6 multilang multi.audio multiaudio",
    ),
    (Language, "VOSTFR", Behind, "vostfr subfrench stfr vost.fr"),
    (Language, "TRUEFRENCH", Behind, "truefrench true.french vff"),
    (
        Language,
        "FRENCH",
        Behind,
        "french vf vfq vfi vf2 vof français francais quebecois québécois vfstfr",
    ),
    (Language, "FRENCH", Beside, "fr"),
    (Language, "GERMAN", Behind, "german deutsch swissgerman ger deu"),
    (Language, "ITA", Behind, "ita"),
    (Language, "ITALIAN", Behind, "italian italiano"),
    (
        Language,
        "SPANISH",
        Behind,
        "spanish español espanol castellano esp español.castellano castellana spa",
    ),
    (
        Language,
        "DUAL",
        Behind,
        "dual dual.audio dualaudio dual.audios dual.áudio dual.latino dual.lat dublado.dual bilingual",
    ),
    (Language, "JAPANESE", Behind, "japanese jap"),
    (Language, "JPN", Behind, "jpn"),
    (Language, "NORDIC", Behind, "nordic"),
    (Language, "DUTCH", Behind, "dutch flemish nld"),
    (Language, "KOREAN", Behind, "korean"),
    (Language, "KOR", Behind, "kor"),
    (Language, "ENGLISH", Behind, "english eng"),
    (Language, "LATINO", Behind, "latino lat"),
    (
        Language,
        "PORTUGUESE",
        Behind,
        "portuguese portugues português pt.br ptbr dublado dublado.pt brazilian pt.pt dublada brazilian.portuguese por",
    ),
    (Language, "RUSSIAN", Behind, "russian rus"),
    (Language, "UKRAINIAN", Behind, "ukrainian ukr"),
    (
        Language,
        "POLISH",
        Behind,
        "polish pldub dubbing.pl dub.pl pl.dub polski",
    ),
    (
        Language,
        "CZECH",
        Behind,
        "czech cze česky czdub cz.dub dabing cz.dabing",
    ),
    (Language, "CZECH", Beside, "cz"),
    (Language, "HUNGARIAN", Behind, "hungarian hun magyar"),
    (Language, "ROMANIAN", Behind, "romanian"),
    (
        Language,
        "TURKISH",
        Behind,
        "turkish türkçe turkce turkish.dubbed trdub",
    ),
    (Language, "GREEK", Behind, "greek"),
    (Language, "HEBREW", Behind, "hebrew heb"),
    (Language, "ARABIC", Behind, "arabic"),
    (Language, "HINDI", Behind, "hindi"),
    (Language, "TAMIL", Behind, "tamil"),
    (Language, "TELUGU", Behind, "telugu"),
    (Language, "MALAYALAM", Behind, "malayalam"),
    (Language, "KANNADA", Behind, "kannada"),
    (Language, "BENGALI", Behind, "bengali"),
    (Language, "PUNJABI", Behind, "punjabi"),
    (Language, "THAI", Behind, "thai"),
    (Language, "VIETNAMESE", Behind, "vietnamese"),
    (
        Language,
        "CHINESE",
        Behind,
        "chinese mandarin cantonese chs cht big5 chi taiwanese 国语 國語 粤语 粵語",
    ),
    (Language, "SWEDISH", Behind, "swedish swe"),
    (Language, "NORWEGIAN", Behind, "norwegian"),
    (Language, "DANISH", Behind, "danish"),
    (Language, "FINNISH", Behind, "finnish"),
    (Language, "CATALAN", Behind, "catalan català valencian"),
    (Language, "SLOVAK", Behind, "slovak slovenčina sk.dabing"),
    (Language, "BULGARIAN", Behind, "bulgarian"),
    (Language, "SERBIAN", Behind, "serbian"),
    (Language, "CROATIAN", Behind, "croatian"),
    (Language, "SLOVENIAN", Behind, "slovenian"),
    (Language, "LITHUANIAN", Behind, "lithuanian"),
    (Language, "LATVIAN", Behind, "latvian"),
    (Language, "ESTONIAN", Behind, "estonian"),
    (Language, "ICELANDIC", Behind, "icelandic"),
    (Language, "PERSIAN", Behind, "farsi"),
    (Language, "INDONESIAN", Behind, "indonesian"),
    (Language, "URDU", Behind, "urdu"),
    (Language, "MARATHI", Behind, "marathi"),
    (
        Edition,
        "Director's Cut",
        Behind,
        "director.s.cut directors.cut director.cut dircut dc_cut directors.edition director.s.edition montaje.del.director",
    ),
    (
        Edition,
        "Extended",
        Behind,
        "extended extended.cut extended.edition extended.version extended.director.s.cut extended.directors.cut version.longue rogue.cut super.duper.cut extended.collector.s.edition versione.estesa versión.extendida version.extendida langfassung",
    ),
    (
        Edition,
        "Uncut",
        Behind,
        "uncut unzensiert uncut.edition uncut.version",
    ),
    (
        Edition,
        "Unrated",
        Behind,
        "unrated unrated.cut unrated.edition unrated.version",
    ),
    (
        Edition,
        "Uncensored",
        Behind,
        "uncensored uncensored.cut uncen non.censuré non.censure",
    ),
    (
        Edition,
        "Theatrical",
        Behind,
        "theatrical theatrical.cut theatrical.edition theatrical.version kinofassung",
    ),
    (Edition, "Final Cut", Behind, "final.cut the.final.cut"),
    (
        Edition,
        "Ultimate",
        Behind,
        "ultimate.edition ultimate.cut ultimate.collectors.edition ultimate.collector.s.edition ultimate.extended.edition ultimate.directors.cut",
    ),
    (
        Edition,
        "Collector's Edition",
        Behind,
        "collector.s.edition collectors.edition collector.edition",
    ),
    (
        Edition,
        "Special Edition",
        Behind,
        "special.edition edicion.especial edición.especial edizione.speciale",
    ),
    (Edition, "Complete", Behind, "complete.version complete.edition"),
    (Edition, "Limited", Behind, "limited limited.edition"),
    (
        Edition,
        "Criterion",
        Behind,
        "criterion criterion.collection the.criterion.collection criterion.edition",
    ),
    (Edition, "Anniversary", Behind, "anniversary.edition"),
    (
        Edition,
        "Remastered",
        Behind,
        "remastered 4k.remastered hd.remastered hd.remaster 4k.remaster remaster 4k.restoration 4k.restored 6k.restoration digitally.remastered restored restauriert 8k.remastered 2k.remastered 2k.restoration remasterizado remasterizada remasterisé remasterise mastered.in.4k 4k.scan 2k.scan 4k.transfer remasterizada.en.4k",
    ),
    (Edition, "IMAX", Beside, "imax imax.edition imax.enhanced"),
    (Edition, "Open Matte", Behind, "open.matte openmatte"),
    (Edition, "Open Matte", Beside, "om"),
    (Edition, "Despecialized", Behind, "despecialized"),
    (Edition, "Fan Edit", Behind, "fan.edit fanedit fan.cut"),
    (Edition, "Festival", Beside, "festival"),
    (Edition, "Hybrid", Beside, "hybrid"),
    (Service, "AMZN", Behind, "amzn amazon"),
    (
        Service,
        "NF",
        Behind,
        "nf netflix netflix.original netflix.originals",
    ),
    (Service, "DSNP", Behind, "dsnp dsny disney+ dsn+"),
    (Service, "HMAX", Behind, "hmax hbomax hbo.max hbom"),
    (Service, "MAX", Beside, "max"),
    (Service, "HULU", Behind, "hulu"),
    (Service, "ATVP", Behind, "atvp aptv"),
    (Service, "PCOK", Behind, "pcok peacock"),
    (Service, "PMTP", Behind, "pmtp pmnt paramount+"),
    (Service, "iT", Beside, "it itunes"),
    (Service, "iP", Beside, "ip"),
    (Service, "CR", Beside, "cr"),
    (Service, "STAN", Beside, "stan"),
    (Service, "CRAV", Behind, "crav"),
    (Service, "STARZ", Beside, "starz stz"),
    (Service, "SHO", Beside, "sho showtime"),
    (Service, "HBO", Beside, "hbo"),
    (Service, "B-Global", Behind, "b.global bglobal"),
    (Service, "FUNI", Behind, "funi"),
    (Service, "ADN", Beside, "adn"),
    (Service, "HIDIVE", Behind, "hidive hidi"),
    (Service, "VRV", Beside, "vrv"),
    (Service, "iQIYI", Behind, "iqiyi iq"),
    (Service, "MUBI", Behind, "mubi"),
    (Service, "RED", Beside, "red"),
    (Service, "CC", Beside, "cc"),
    (Service, "PBS", Beside, "pbs"),
    (Service, "DCU", Behind, "dcu"),
    (Service, "MA", Beside, "ma"),
    (Service, "VUDU", Behind, "vudu"),
    (Service, "ROKU", Behind, "roku"),
    (Service, "TUBI", Behind, "tubi"),
    (Service, "ALL4", Behind, "all4"),
    (Service, "ITV", Beside, "itv itvx"),
    (Service, "NOW", Beside, "now"),
    (Service, "VIAP", Behind, "viap"),
    (Service, "AE", Beside, "ae anpl"),
    (Service, "MNBC", Behind, "mnbc msnbc"),
    (Service, "BKPL", Behind, "bkpl"),
    (Service, "SKST", Behind, "skst skyshowtime"),
    (Service, "DSCP", Behind, "dscp discovery+"),
    (Service, "HTSR", Behind, "htsr hotstar jhs"),
    (Service, "ZEE5", Behind, "zee5"),
    (Service, "GLBO", Behind, "glbo globoplay"),
    (Service, "CNLP", Behind, "cnlp mycanal"),
    (Service, "SVTP", Behind, "svtp svtplay"),
    (Service, "BAHA", Behind, "baha"),
    (Service, "ABEMA", Behind, "abema abma"),
    (Service, "BILI", Behind, "bili bilibili"),
    (
        Proper,
        "",
        Behind,
        "proper real.proper proper2 proper3 real.real.proper",
    ),
    (
        Repack,
        "",
        Behind,
        "repack repack2 repack3 rerip 2ndrepack repacks repack4 repack5 reripped",
    ),
    (Version, "0", Behind, "v0"),
    (Version, "1", Behind, "v1"),
    (Version, "2", Behind, "v2"),
    (Version, "3", Behind, "v3"),
    (Version, "4", Behind, "v4"),
    (Container, "mkv", Behind, "mkv"),
    (Container, "mp4", Behind, "mp4"),
    (Container, "avi", Behind, "avi"),
    (Container, "iso", Behind, "iso"),
    (Extra, "", Always, "ncop nced ncop1 nced1 ncop2 nced2 creditless"),
    (
        Extra,
        "",
        Behind,
        "extras extras.only digital.extras subpack proof sample subpacks bonus.disc nfofix bonusdisc bonus.discs featurettes deleted.scenes",
    ),
    (Event, "", Behind, "ppv"),
    (
        Whole,
        "",
        Beside,
        "the.complete.series complete.series the.complete complete full.series",
    ),
    (
        Whole,
        "",
        Behind,
        "trilogy duology quadrilogy pentalogy hexalogy heptalogy anthology",
    ),
    (
        Noise,
        "",
        Always,
        "readnfo read.nfo fansub swesub hebsubs korsub nlsubs dksubs vostfr.hd truefrench.hd 60fps 50fps 24fps 25fps 30fps 120fps dubbed subbed multisub multisubs multi.subs multi.sub multiple.subtitle msubs msub esub esubs e.subs legendado subtitulado softsub softsubs soft.sub soft.subs hardsub hardsubs hardcoded hdlight hd.light nordicsubs mhd fastsub ws internal.dubbed line.dubbed mic.dubbed subforced subtitles dub.audio audio.latino video_ts 48fps 100fps 144fps norsub norsubs finsub finsubs dansub dansubs engsub engsubs plsub plsubs subpl napisy.pl napisypl espsub subita sub.ita subeng sub.eng subesp sub.esp swesubs czsub cztit cz.titulky romsub rosubbed rusub rusubs vose arabicsub multi.subtitles multisubtitles multi.subtitle legendada dual.subs audio_ts",
    ),
    (
        Noise,
        "",
        Behind,
        "internal int complete complet completa completo integral integrale boxset box.set documentary docu doku anime retail custom synced r1 r2 r3 r4 stv line ld md ac3md hq hr dl ml fs hc subs sub dub legenda legendas plus.comm with.commentary commentary custom.audio custom.subbed dirfix hsbs half.sbs half.ou hou sbs 3d h.sbs h.ou upscaled upscale ai.upscale ai.upscaled sdr hlg convert batch incomplete vo xxx gb jp raw dxva bt2020 bt709 crf18 east.feed live.east.feed open.matte.hybrid audio audios eng.subs eng.sub english.subs nl.subs en.sub uhdr lektor lektor.pl oar minimalnr 35mm reencoded re.encoded reencode reenc re.enc 16mm 70mm intégrale intégral komplett komplette pq10 edr hfr full.sbs fsbs hardsubbed vost swe.sub ita.sub pl.sub fra.sub rus.sub subs.ita rus.ext sub.pl dubbing",
    ),
    (
        Noise,
        "",
        Beside,
        "real final read hd sd tvshow end original untouched clean.aud org.auds org.aud auds clean regraded hd.clean rip full pack miniseries mini.series",
    ),
];

/// Value of a source that words of television imply, unless the name states another.
pub(crate) const TELEVISION: &str = "HDTV";

/// Collectives that sign in brackets behind a member's name; the release is theirs.
pub(crate) const COLLECTIVES: [&str; 4] = ["qxr", "taoe", "utr2", "silence"];

/// Two-letter codes of languages and countries that are no group at the end of a name.
pub(crate) const CODES: [&str; 24] = [
    "cz", "de", "dk", "en", "es", "fi", "fr", "gr", "hu", "it", "jp", "kr", "nl", "no", "pl", "pt", "ro",
    "ru", "se", "sk", "tr", "ua", "uk", "us",
];

/// Countries that distinguish series of the same name: spelling in names, and the value.
pub(crate) const COUNTRIES: [(&str, &str); 9] = [
    ("us", "US"),
    ("usa", "US"),
    ("uk", "UK"),
    ("gb", "UK"),
    ("au", "AU"),
    ("nz", "NZ"),
    ("ca", "CA"),
    ("ie", "IE"),
    ("za", "ZA"),
];

/// Words in front of a country that belongs to the title: "Made in the UK", "This is US".
pub(crate) const BEFORE_A_WORD_OF_THE_TITLE: [&str; 17] = [
    "of", "in", "the", "is", "are", "and", "with", "for", "from", "to", "about", "between", "among",
    "around", "like", "got", "vs",
];

/// Halves of hyphenated words: with one of these the name does not begin with a group.
pub(crate) const HYPHENATED: [&str; 18] = [
    "anti", "semi", "non", "half", "self", "mid", "post", "pre", "man", "men", "woman", "girl", "fi", "up",
    "off", "out", "by", "and",
];

/// Resolutions written backwards.
pub(crate) const LINES_BACKWARDS: [&str; 5] = ["0612", "0801", "027", "675", "084"];

/// A year right after one of these belongs to the title: "Class of 2020".
pub(crate) const BEFORE_A_YEAR_OF_THE_TITLE: [&str; 11] = [
    "of", "in", "since", "from", "year", "after", "before", "until", "til", "circa", "von",
];

/// Small numbers in words, as titles of parts use them.
pub(crate) const COUNTS: [&str; 10] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// Months in three spellings each.
pub(crate) const MONTHS: [&str; 36] = [
    "jan",
    "january",
    "januar",
    "feb",
    "february",
    "februar",
    "mar",
    "march",
    "märz",
    "apr",
    "april",
    "avril",
    "may",
    "mai",
    "mayo",
    "jun",
    "june",
    "juni",
    "jul",
    "july",
    "juli",
    "aug",
    "august",
    "août",
    "sep",
    "september",
    "sept",
    "oct",
    "october",
    "okt",
    "nov",
    "november",
    "novembre",
    "dec",
    "december",
    "dez",
];

/// Seasons in Chinese numerals, two spellings each.
pub(crate) const HAN_SEASONS: [&str; 20] = [
    "第一季",
    "第一期",
    "第二季",
    "第二期",
    "第三季",
    "第三期",
    "第四季",
    "第四期",
    "第五季",
    "第五期",
    "第六季",
    "第六期",
    "第七季",
    "第七期",
    "第八季",
    "第八期",
    "第九季",
    "第九期",
    "第十季",
    "第十期",
];

/// Words behind a season for extras without episodes.
pub(crate) const EXTRAS: [&str; 12] = [
    "extra",
    "bonus",
    "special",
    "specials",
    "featurette",
    "interviews",
    "interview",
    "bts",
    "recap",
    "recaps",
    "trailer",
    "trailers",
];

/// Words in front of the number of a disc or volume.
pub(crate) const PIECES: [&str; 9] = ["d", "disc", "disk", "disque", "dvd", "cd", "bd", "vol", "volume"];

/// Formats of stereoscopic pictures, without separators.
pub(crate) const PICTURES: [&str; 10] = [
    "3d", "sbs", "hsbs", "halfsbs", "fsbs", "fullsbs", "hou", "halfou", "hfr", "uhdr",
];

/// Members of a group with a dash in its name, behind a dot: `x264.D-Z0N3`.
pub(crate) const DASHED_GROUPS: [&str; 2] = ["d-z0n3", "fight-bb"];
