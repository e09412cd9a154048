//! Bodies and queries in the document. An annotation names the extractor, `request_body = Body<NewTag>` and
//! `params(Params<ListQuery>)`; types, limits, enums and required flags come from the reading code, texts and
//! examples from the type's own declaration.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, SchemaType,
    Type,
};
use utoipa::openapi::{RefOr, Required};
// The trait behind `PartialSchema` for generic types: the annotations call it for `Body<T>`.
use utoipa::__dev::ComposeSchema;
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::body::{Body, Params};
use crate::fields::{Fields, FromBody, FromQuery, Kind, Outline, Property};
use crate::upload::{FILE_PART, MAX_FILE, Upload};

/// Schema names of extractors until [`super::describe`] replaces them.
pub(super) const BODY: &str = "Body_";
pub(super) const UPLOAD: &str = "Upload_";
/// Extension of an optional body.
pub(super) const OPTIONAL: &str = "x-optional";
/// Extension of a parameter declared by reading code.
const READ: &str = "x-read";

type Schemas = Vec<(String, RefOr<Schema>)>;

impl<T: FromBody + PartialSchema> ComposeSchema for Body<T> {
    fn compose(_generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let outline = Fields::outline_of(|fields| drop(T::from_body(fields)));
        let mut object = body(T::schema(), &outline);
        if T::OPTIONAL {
            let extensions = object.extensions.get_or_insert_default();
            extensions.insert(OPTIONAL.to_owned(), true.into());
        }
        object.into()
    }
}

impl<T: FromBody + ToSchema> ToSchema for Body<T> {
    fn name() -> Cow<'static, str> {
        BODY.trim_end_matches('_').into()
    }

    fn schemas(schemas: &mut Schemas) {
        T::schemas(schemas);
    }
}

impl<T: FromBody + PartialSchema> ComposeSchema for Upload<T> {
    fn compose(_generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let outline = Fields::outline_of(|fields| drop(T::from_body(fields)));
        let mut form = body(T::schema(), &outline);
        let file = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
            .description(Some(format!(
                "A file of at most {} MiB.",
                MAX_FILE / (1024 * 1024)
            )));
        form.properties
            .insert(FILE_PART.to_owned(), Schema::from(file).into());
        form.required.insert(0, FILE_PART.to_owned());
        form.into()
    }
}

impl<T: FromBody + ToSchema> ToSchema for Upload<T> {
    fn name() -> Cow<'static, str> {
        UPLOAD.trim_end_matches('_').into()
    }

    fn schemas(schemas: &mut Schemas) {
        T::schemas(schemas);
    }
}

impl<T: FromQuery> IntoParams for Params<T> {
    fn into_params(_provider: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let outline = Fields::outline_of(|fields| drop(T::from_query(fields)));
        outline.properties.iter().map(parameter).collect()
    }
}

/// Schema of a body as it is read. Declared properties that no code reads would be refused as unknown, so
/// they are kept for [`unread`].
fn body(declared: RefOr<Schema>, outline: &Outline) -> Object {
    let mut object = match declared {
        RefOr::T(Schema::Object(object)) => object,
        RefOr::T(_) | RefOr::Ref(_) => Object::new(),
    };
    if outline.open {
        return object;
    }
    let mut properties = std::mem::take(&mut object.properties);
    for asked in &outline.properties {
        let texts = Texts::from_declaration(properties.shift_remove(asked.name));
        let texts = match asked.about {
            Some(about) => texts.or_description(about),
            None => texts,
        };
        let texts = match outline.either.iter().find(|[_, raw]| *raw == asked.name) {
            Some([text, _]) => {
                texts.or_description(&format!("Instead of `{text}`: its bytes, percent-encoded."))
            }
            None => texts,
        };
        object
            .properties
            .insert(asked.name.to_owned(), property(asked, texts, true));
    }
    let unread: Vec<Value> = properties.into_keys().map(Value::from).collect();
    let mut extensions = Extensions::default();
    if !unread.is_empty() {
        extensions.insert(UNREAD.to_owned(), unread.into());
    }
    let is_alternative = |name: &str| outline.either.iter().flatten().any(|other| *other == name);
    let required = outline
        .properties
        .iter()
        .filter(|asked| asked.required && !is_alternative(asked.name));
    object.required = required.map(|asked| asked.name.to_owned()).collect();
    object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    let either =
        |[one, other]: &[&str; 2]| json!({ "anyOf": [{ "required": [one] }, { "required": [other] }] });
    if !outline.either.is_empty() {
        // JSON Schema's own keyword, which the builder supports only in schemas without other content.
        let all: Vec<Value> = outline.either.iter().map(either).collect();
        extensions.insert("allOf".to_owned(), all.into());
    }
    object.extensions = (!extensions.is_empty()).then_some(extensions);
    object
}

/// Extension of a body: declared properties that no code reads.
const UNREAD: &str = "x-unread";

/// Declared properties that no code reads.
pub(super) fn unread(schema: &RefOr<Schema>) -> Option<&Value> {
    marked(schema, UNREAD)
}

/// Value of an extension of a schema.
pub(super) fn marked<'s>(schema: &'s RefOr<Schema>, name: &str) -> Option<&'s Value> {
    match schema {
        RefOr::T(Schema::Object(object)) => object.extensions.as_ref()?.get(name),
        RefOr::T(_) | RefOr::Ref(_) => None,
    }
}

/// Texts of a declaration.
#[derive(Default)]
struct Texts {
    description: Option<String>,
    format: Option<SchemaFormat>,
    example: Option<Value>,
    /// The whole declaration, for properties whose shape only it describes.
    whole: Option<RefOr<Schema>>,
}

impl Texts {
    fn from_declaration(declared: Option<RefOr<Schema>>) -> Self {
        let (description, format, example) = match &declared {
            None => (None, None, None),
            Some(RefOr::Ref(reference)) => {
                let text = Some(reference.description.clone());
                (text.filter(|text| !text.is_empty()), None, None)
            }
            Some(RefOr::T(Schema::Object(object))) => (
                object.description.clone(),
                object.format.clone(),
                object
                    .example
                    .clone()
                    .or_else(|| object.examples.first().cloned()),
            ),
            Some(RefOr::T(Schema::Array(array))) => {
                let example = array.example.clone().or_else(|| array.examples.first().cloned());
                (array.description.clone(), None, example)
            }
            Some(RefOr::T(Schema::OneOf(one))) => {
                let inner = one.items.iter().find_map(|item| match item {
                    RefOr::Ref(reference) => Some(reference.description.clone()),
                    RefOr::T(_) => None,
                });
                let text = one.description.clone().or(inner);
                (text.filter(|text| !text.is_empty()), None, one.example.clone())
            }
            Some(RefOr::T(_)) => (None, None, None),
        };
        Self {
            description,
            format,
            example,
            whole: declared,
        }
    }

    fn or_description(mut self, text: &str) -> Self {
        self.description.get_or_insert_with(|| text.to_owned());
        self
    }
}

/// Schema of one property. In a body `null` is the same as absence.
fn property(asked: &Property, texts: Texts, in_body: bool) -> RefOr<Schema> {
    let kind = match asked.kind {
        Kind::Any => return texts.whole.unwrap_or_else(|| any().into()),
        Kind::Texts => return list(asked, texts, in_body),
        Kind::Text => Type::String,
        Kind::Integer => Type::Integer,
        Kind::Number => Type::Number,
        Kind::Flag => Type::Boolean,
        Kind::Object => Type::Object,
    };
    let nullable = in_body && !asked.required;
    let mut object = Object::new();
    object.schema_type = schema_type(kind.clone(), nullable);
    object.description = texts.description;
    object.example = texts.example;
    object.default.clone_from(&asked.default);
    object.format = match asked.format {
        Some(format) => Some(SchemaFormat::Custom(format.to_owned())),
        // For a number it would name the width of our integer type.
        None => texts.format.filter(|_| kind == Type::String),
    };
    object.minimum = asked.min.map(Into::into);
    object.maximum = asked.max.map(Into::into);
    object.min_length = asked.min_length;
    object.max_length = asked.max_length;
    if !asked.allowed.is_empty() {
        let null = nullable.then_some(Value::Null);
        object.enum_values = Some(asked.allowed.iter().cloned().chain(null).collect());
    }
    if kind == Type::Object {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(true)));
    }
    Schema::Object(object).into()
}

fn any() -> Schema {
    let mut object = Object::new();
    object.schema_type = SchemaType::AnyValue;
    object.into()
}

fn list(asked: &Property, texts: Texts, in_body: bool) -> RefOr<Schema> {
    let mut item = Object::new();
    item.schema_type = Type::String.into();
    item.min_length = asked.min_length;
    item.max_length = asked.max_length;
    item.enum_values = (!asked.allowed.is_empty()).then(|| asked.allowed.clone());
    let mut array = ArrayBuilder::new().items(item).build();
    array.schema_type = schema_type(Type::Array, in_body && !asked.required);
    array.description = texts.description;
    array.example = texts.example;
    array.default.clone_from(&asked.default);
    array.min_items = asked.min_items;
    array.max_items = asked.max_items;
    Schema::Array(array).into()
}

fn schema_type(kind: Type, nullable: bool) -> SchemaType {
    if nullable {
        SchemaType::from_iter([kind, Type::Null])
    } else {
        kind.into()
    }
}

fn parameter(asked: &Property) -> Parameter {
    let required = if asked.required {
        Required::True
    } else {
        Required::False
    };
    let mut parameter = ParameterBuilder::new()
        .name(asked.name)
        .parameter_in(ParameterIn::Query)
        .required(required)
        .description(asked.about)
        .schema(Some(property(asked, Texts::default(), false)))
        .build();
    parameter
        .extensions
        .get_or_insert_default()
        .insert(READ.to_owned(), true.into());
    parameter
}

/// Merges annotations of query parameters with the reading code. Returns annotated names that no code reads.
pub(super) fn join_parameters(operation: &mut Operation) -> Vec<String> {
    let Some(parameters) = operation.parameters.take() else {
        return Vec::new();
    };
    let is_read = |parameter: &Parameter| {
        let extensions = parameter.extensions.as_ref();
        extensions.is_some_and(|extensions| extensions.contains_key(READ))
    };
    let (mut read, annotated): (Vec<_>, Vec<_>) = parameters.into_iter().partition(is_read);
    let mut joined = Vec::new();
    let mut unread = Vec::new();
    for mut parameter in annotated {
        if parameter.parameter_in == ParameterIn::Query {
            match read.iter().position(|other| other.name == parameter.name) {
                None => unread.push(parameter.name.clone()),
                Some(index) => {
                    let same = read.remove(index);
                    parameter.schema = same.schema;
                    parameter.required = same.required;
                }
            }
        }
        joined.push(parameter);
    }
    for mut parameter in read {
        parameter.extensions = None;
        joined.push(parameter);
    }
    operation.parameters = (!joined.is_empty()).then_some(joined);
    unread
}
