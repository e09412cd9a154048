//! Errors of the derives about attributes that they don't know.

use quote::quote;

use super::{Source, expand};

/// Texts of the errors that a derive answers.
fn errors(source: Source, input: proc_macro2::TokenStream) -> Vec<String> {
    let answer = expand(input, source);
    let calls = answer.to_string();
    let texts = calls.split("compile_error ! { ").skip(1);
    texts
        .filter_map(|text| text.split('"').nth(1))
        .map(str::to_owned)
        .collect()
}

fn error(field: proc_macro2::TokenStream) -> String {
    let found = errors(Source::Body, quote!(struct Thing { #field }));
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap_or_default()
}

#[test]
fn unknown_words_name_the_rules_of_the_kind() {
    let text = error(quote!(#[field(max_items = 3)] name: String));
    assert_eq!(
        text,
        "unknown word `max_items`: the rules of a field that is read by `string` are `given`, `min`, `max`, `len`, \
         `not_empty`, `one_of`, `email`, `check`, `about`"
    );
    let text = error(quote!(#[field(max = 3)] is_on: bool));
    assert_eq!(
        text,
        "unknown word `max`: a field that is read by `boolean` has no rules"
    );
}

#[test]
fn values_are_counted() {
    assert_eq!(
        error(quote!(#[field(len = 3)] name: String)),
        "`len` takes 2 values: `len(…)`"
    );
    assert_eq!(
        error(quote!(#[field(max)] name: String)),
        "`max` takes one value: `max = …`"
    );
    assert_eq!(
        error(quote!(#[field(trim = true)] name: String)),
        "`trim` takes no value"
    );
    assert_eq!(
        error(quote!(#[field(with)] name: String)),
        "`with` takes one value: `with = …`"
    );
}

#[test]
fn types_that_do_not_say_how_they_are_sent_are_refused() {
    let text = error(quote!(mode: Option<Mode>));
    assert!(
        text.starts_with("`Mode` doesn't say how it is sent: add `string`"),
        "{text}"
    );
    let text = error(quote!(page: PageQuery));
    assert_eq!(
        text,
        "a page needs its largest size: `page = MAX`, or `page(DEFAULT, MAX)`"
    );
    let text = error(quote!(#[field(default = 1)] count: Option<i64>));
    assert_eq!(
        text,
        "a field with a `default` is never absent: take the `Option` off its type"
    );
    let text = error(quote!(#[field(trim)] count: i64));
    assert_eq!(text, "`trim` is for texts");
    let text = error(quote!(#[field(with = read, max = 3)] count: i64));
    assert_eq!(text, "`max` has no effect: the field isn't read by rules");
}

#[test]
fn a_required_field_has_a_value_whatever_converts_it() {
    let text = error(quote!(#[field(and_then = own)] key: Secret));
    assert_eq!(
        text,
        "`and_then` may leave a required field without a value: make it an `Option`, add a `default`, or convert by `map`"
    );
    let only_words = "`stand_in` is for a required field that is read by `words`";
    assert_eq!(
        error(quote!(#[field(string, map = own, stand_in = Mood::Calm)] mood: Mood)),
        only_words
    );
    assert_eq!(
        error(quote!(#[field(words(NAMES, from_name), stand_in = Mood::Calm)] mood: Option<Mood>)),
        only_words
    );
}

/// The compiler refuses what does not fit; see the example at `qm_web::FromBody`.
#[test]
fn bounds_are_compared_with_the_type_of_the_field() {
    let read = |field| {
        let written = expand(quote!(struct Thing { #field }), Source::Body);
        written.to_string().matches("assert").count()
    };
    assert_eq!(read(quote!(#[field(min = 1, max = 9)] port: u16)), 2);
    assert_eq!(read(quote!(#[field(one_of = &[1, 2])] level: Option<u8>)), 1);
    assert_eq!(read(quote!(#[field(min = 1)] size: u64)), 1);
    assert_eq!(read(quote!(#[field(min = 1, max = 9)] count: i64)), 0);
    assert_eq!(read(quote!(port: u16)), 0, "bounds of the type fit");
}

#[test]
fn every_wrong_field_is_told() {
    let input = quote!(
        struct Thing {
            #[field(mad = 3)]
            name: String,
            mode: Mode,
        }
    );
    assert_eq!(errors(Source::Query, input).len(), 2);
    let found = errors(
        Source::Body,
        quote!(
            struct Thing(String);
        ),
    );
    assert_eq!(found, ["a field without a name needs `name = \\"]);
}

#[test]
fn words_of_the_struct_are_known() {
    let input = quote!(
        #[fields(optional)]
        struct Thing {}
    );
    assert!(errors(Source::Body, input.clone()).is_empty());
    assert_eq!(
        errors(Source::Query, input),
        ["unknown word `optional`: a struct has `optional` (a body only), `open` and `check = path`"]
    );
    let found = errors(
        Source::Body,
        quote!(
            enum Thing {
                A,
            }
        ),
    );
    assert!(
        found[0].starts_with("only a struct is read field by field"),
        "{found:?}"
    );
}
