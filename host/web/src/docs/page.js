"use strict";

// Renders the OpenAPI document. Texts of the document are only ever set as text, never as markup.

const METHODS = ["get", "post", "put", "patch", "delete"];
/** How deep schemas are unfolded in a table. */
const DEPTH = 3;

const SIGN_IN = `TOKEN=$(curl -s HOST/api/auth/login -H 'content-type: application/json' \\
  -d '{"username":"admin","password":"…"}' | sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')
curl -s HOST/api/auth/me -H "Authorization: Bearer $TOKEN"`;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** Nodes of a text in which `words` may stand in backticks. */
function inline(text) {
  return text.split(/`([^`]*)`/)
    .map((part, index) => (index % 2 ? element("code", {}, part) : part))
    .filter((part) => part !== "");
}

/** Paragraphs, and lists whose lines begin with a star. */
function prose(text) {
  return text.split(/\n{2,}/).flatMap((block) => {
    const lines = block.split("\n");
    const plain = lines.filter((line) => !line.startsWith("* ")).join(" ");
    const points = lines.filter((line) => line.startsWith("* ")).map((line) => element("li", {}, ...inline(line.slice(2))));
    return [
      ...(plain ? [element("p", {}, ...inline(plain))] : []),
      ...(points.length ? [element("ul", {}, ...points)] : []),
    ];
  });
}

function resolve(api, item) {
  const seen = new Set();
  while (item && item.$ref && !seen.has(item.$ref)) {
    seen.add(item.$ref);
    const keys = item.$ref.slice(2).split("/");
    item = keys.reduce((value, key) => value?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], api);
  }
  return item ?? {};
}

const lastPart = (reference) => reference.split("/").pop();

function typeName(schema) {
  if (!schema || schema === true) return "any";
  if (schema.$ref) return lastPart(schema.$ref);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const parts = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (parts) return parts.map(typeName).join(schema.allOf ? " & " : " | ");
  const types = [schema.type ?? (schema.properties ? "object" : "any")].flat();
  return types.map((type) => (type === "array" ? `${typeName(schema.items)}[]` : type)).join(" | ");
}

const isList = (schema) => [schema.type].flat().includes("array");

function span(least, most, unit) {
  if (least !== undefined && most !== undefined) return least === most ? `${least} ${unit}` : `${least} to ${most} ${unit}`;
  if (least !== undefined) return `at least ${least} ${unit}`;
  return most === undefined ? null : `at most ${most} ${unit}`;
}

/** What a schema allows beyond its type, in words. */
function facts(api, schema) {
  const item = resolve(api, schema);
  const items = isList(item) ? resolve(api, item.items) : {};
  const json = (value) => `\`${JSON.stringify(value)}\``;
  return [
    span(item.minimum, item.maximum, "")?.trim(),
    span(item.minLength, item.maxLength, "characters"),
    span(item.minItems, item.maxItems, "items"),
    items.maxLength === undefined ? null : `each ${span(items.minLength, items.maxLength, "characters")}`,
    /^(int|float|double)/.test(item.format ?? "int") ? null : item.format,
    item.default === undefined ? null : `default ${json(item.default)}`,
    item.example === undefined || typeof item.example === "object" ? null : `e.g. ${json(item.example)}`,
  ].filter(Boolean).join("; ");
}

/** What a value of a schema may look like. */
function example(api, schema, depth = 0) {
  const item = resolve(api, schema);
  if (item.example !== undefined) return item.example;
  if (item.examples?.length) return item.examples[0];
  if (item.default !== undefined) return item.default;
  if (item.enum) return item.enum[0];
  const parts = item.oneOf ?? item.anyOf;
  if (parts) return example(api, parts.find((part) => part.type !== "null") ?? {}, depth);
  const type = [item.type].flat().find((name) => name !== "null");
  if (type === "array") return depth > DEPTH ? [] : [example(api, item.items ?? {}, depth + 1)];
  if (type === "object" || item.properties || item.allOf) {
    const { properties, required } = members(api, item);
    const either = (item.allOf ?? []).flatMap((part) => part.anyOf?.[0]?.required ?? []);
    const shown = Object.entries(properties)
      .filter(([name, property]) => required.includes(name) || either.includes(name) || property.example !== undefined);
    return depth > DEPTH ? {} : Object.fromEntries(shown.map(([name, property]) => [name, example(api, property, depth + 1)]));
  }
  if (type === "integer" || type === "number") return item.minimum ?? 1;
  if (type === "boolean") return true;
  if (item.format === "date-time") return "2031-04-02T09:15:00.000Z";
  return type === "string" ? "…" : null;
}

/** The object whose properties a schema shows, through references, arrays, parts and `null`. */
function members(api, schema) {
  const item = resolve(api, schema);
  if (item.type === "array" || (Array.isArray(item.type) && item.type.includes("array"))) {
    return members(api, item.items ?? {});
  }
  const parts = item.allOf ?? item.oneOf ?? item.anyOf ?? [];
  const all = { properties: { ...item.properties }, required: [...(item.required ?? [])] };
  for (const part of parts) {
    const inner = members(api, part);
    Object.assign(all.properties, inner.properties);
    if (item.allOf) all.required.push(...inner.required);
  }
  return all;
}

function rows(api, schema, depth = 0, above = []) {
  const { properties, required } = members(api, schema);
  return Object.entries(properties).flatMap(([name, property]) => {
    const label = element("span", required.includes(name) ? { class: "required" } : {}, [...above, name].join("."));
    const text = property.description ?? resolve(api, property).description ?? "";
    const row = element("tr", depth ? { class: "nested" } : {},
      element("td", {}, label), element("td", {}, typeName(property)),
      element("td", {}, ...described(text, facts(api, property))));
    return [row, ...(depth < DEPTH ? rows(api, property, depth + 1, [...above, name]) : [])];
  });
}

function described(text, limits) {
  return [...inline(text), ...(limits ? [element("span", { class: "facts" }, ...inline(limits))] : [])];
}

function schemaTable(api, schema) {
  const found = rows(api, schema);
  const name = element("p", {}, element("code", {}, typeName(schema)));
  return found.length ? [name, element("table", {}, element("tbody", {}, ...found))] : [name];
}

function content(api, holder) {
  return Object.entries(holder.content ?? {}).flatMap(([kind, { schema }]) => [
    kind === "application/json" ? null : element("p", {}, kind),
    ...(schema ? schemaTable(api, schema) : []),
    kind === "application/json" && schema ? element("pre", {}, JSON.stringify(example(api, schema), null, 2)) : null,
  ]).filter((part) => part !== null);
}

function parameters(api, operation) {
  const found = (operation.parameters ?? []).map((item) => resolve(api, item));
  if (!found.length) return [];
  const lines = found.map((item) => element("tr", {},
    element("td", {}, element("span", item.required ? { class: "required" } : {}, item.name)),
    element("td", {}, `${typeName(item.schema)}, ${item.in}`),
    element("td", {}, ...described(item.description ?? "", facts(api, item.schema ?? {})))));
  return [element("h3", {}, "Parameters"), element("table", {}, element("tbody", {}, ...lines))];
}

function responses(api, operation) {
  const all = Object.entries(operation.responses ?? {});
  const good = all.filter(([status]) => status < "4");
  const bad = all.filter(([status]) => status >= "4");
  const parts = good.flatMap(([status, item]) => {
    const response = resolve(api, item);
    return [element("h3", {}, `Answer ${status}`), ...prose(response.description ?? ""), ...content(api, response)];
  });
  if (bad.length) {
    const lines = bad.map(([status, item]) => element("tr", {},
      element("td", { class: "status" }, status), element("td", {}, ...prose(resolve(api, item).description ?? ""))));
    parts.push(element("h3", {}, "Failures"), element("table", { class: "failures" }, element("tbody", {}, ...lines)));
  }
  return parts;
}

function need(operation) {
  const permissions = operation["x-permissions"] ?? [];
  return permissions.length ? permissions.join(", ") : (operation["x-access"] ?? "");
}

function size(bytes) {
  const units = [[1024 * 1024, "MiB"], [1024, "KiB"]];
  const [unit, name] = units.find(([one]) => bytes >= one && bytes % one === 0) ?? [1, "bytes"];
  return `${bytes / unit} ${name}`;
}

/** Who may call, how often and with how much. */
function terms(operation) {
  const rate = operation["x-rate-limit"];
  const most = operation["x-body-limit"];
  const access = operation["x-access"];
  const token = access === "public" ? "no token" : `a token${access === "permissions" ? ` with \`${need(operation).replaceAll(", ", "`, `")}\`` : ""}`;
  return [
    `Needs ${operation.security?.[0]?.ticket ? "a ticket in its query" : token}.`,
    rate ? `At most ${rate} requests a minute from one address.` : "",
    most ? `A body of at most ${size(most)}.` : "",
  ].filter(Boolean).join(" ");
}

function fill(api, operation, body) {
  const text = operation.description ?? "";
  const request = resolve(api, operation.requestBody);
  body.replaceChildren(
    ...(text && text !== operation.summary ? prose(text) : []),
    element("p", { class: "terms" }, ...inline(terms(operation))),
    ...parameters(api, operation),
    ...(operation.requestBody ? [element("h3", {}, "Body"), ...content(api, request)] : []),
    ...responses(api, operation));
}

function card(api, path, method, operation) {
  const body = element("div", { class: "body" });
  const details = element("details", { class: "operation", id: operation.operationId },
    element("summary", {},
      element("span", { class: `method ${method}` }, method),
      element("span", { class: "path" }, path),
      element("span", { class: "need" }, need(operation)),
      element("span", { class: "summary" }, ...inline(operation.summary ?? ""))),
    body);
  details.addEventListener("toggle", () => {
    if (details.open && !body.hasChildNodes()) fill(api, operation, body);
  });
  const words = [method, path, need(operation), operation.operationId, operation.summary, operation.description];
  return { details, access: operation["x-access"], text: words.join(" ").toLowerCase() };
}

function collect(api) {
  const areas = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      const tag = operation.tags?.[0] ?? "other";
      if (!areas.has(tag)) areas.set(tag, []);
      areas.get(tag).push(card(api, path, method, operation));
    }
  }
  return [...areas].sort(([one], [other]) => one.localeCompare(other));
}

function show(api) {
  const find = (id) => document.getElementById(id);
  document.title = `${api.info.title} API`;
  find("title").replaceChildren(`${api.info.title} API `, element("small", {}, api.info.version));
  find("intro").replaceChildren(...prose(api.info.description ?? ""));
  find("signin").textContent = SIGN_IN.replaceAll("HOST", location.origin);
  const areas = collect(api).map(([tag, cards]) => {
    const section = element("section", { id: `area-${tag}` }, element("h2", {}, tag), ...cards.map((one) => one.details));
    return { tag, cards, section };
  });
  find("tags").replaceChildren(...areas.map(({ tag }) => element("a", { href: `#area-${tag}` }, tag)));
  find("operations").replaceChildren(...areas.map(({ section }) => section));

  const filter = () => {
    const words = find("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const access = find("access").value;
    let count = 0;
    for (const { cards, section } of areas) {
      let any = false;
      for (const { details, access: own, text } of cards) {
        const shown = words.every((word) => text.includes(word)) && (!access || own === access);
        details.classList.toggle("hidden", !shown);
        any ||= shown;
        count += shown ? 1 : 0;
      }
      section.classList.toggle("hidden", !any);
    }
    find("count").textContent = `${count} operations`;
  };
  find("filter").addEventListener("input", filter);
  find("access").addEventListener("change", filter);
  filter();
  const asked = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (asked) {
    asked.open = true;
    asked.scrollIntoView();
  }
}

fetch("/api/docs/openapi.json")
  .then((response) => (response.ok ? response.json() : Promise.reject(new Error(`status ${response.status}`))))
  .then(show)
  .catch((error) => {
    document.getElementById("operations").textContent = `The document cannot be loaded: ${error.message}`;
  });
