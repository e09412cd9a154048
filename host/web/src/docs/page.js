"use strict";

// Renders the OpenAPI document. Texts of the document are only ever set as text, never as markup.

const METHODS = ["get", "post", "put", "patch", "delete"];
/** How deep schemas are unfolded in a table. */
const DEPTH = 3;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
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
      element("td", {}, label), element("td", {}, typeName(property)), element("td", {}, text));
    return [row, ...(depth < DEPTH ? rows(api, property, depth + 1, [...above, name]) : [])];
  });
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
  ]).filter((part) => part !== null);
}

function parameters(api, operation) {
  const found = (operation.parameters ?? []).map((item) => resolve(api, item));
  if (!found.length) return [];
  const lines = found.map((item) => element("tr", {},
    element("td", {}, element("span", item.required ? { class: "required" } : {}, item.name)),
    element("td", {}, `${typeName(item.schema)}, ${item.in}`),
    element("td", {}, item.description ?? "")));
  return [element("h3", {}, "Parameters"), element("table", {}, element("tbody", {}, ...lines))];
}

function responses(api, operation) {
  const all = Object.entries(operation.responses ?? {});
  const good = all.filter(([status]) => status < "4");
  const bad = all.filter(([status]) => status >= "4");
  const parts = good.flatMap(([status, item]) => {
    const response = resolve(api, item);
    return [element("h3", {}, `Answer ${status}`), element("p", {}, response.description ?? ""), ...content(api, response)];
  });
  if (bad.length) {
    const lines = bad.map(([status, item]) => element("tr", {},
      element("td", { class: "status" }, status), element("td", {}, ""), element("td", {}, resolve(api, item).description ?? "")));
    parts.push(element("h3", {}, "Failures"), element("table", {}, element("tbody", {}, ...lines)));
  }
  return parts;
}

function need(operation) {
  const permissions = operation["x-permissions"] ?? [];
  return permissions.length ? permissions.join(", ") : (operation["x-access"] ?? "");
}

function fill(api, operation, body) {
  const text = operation.description ?? "";
  const request = resolve(api, operation.requestBody);
  body.replaceChildren(
    ...(text && text !== operation.summary ? [element("p", {}, text)] : []),
    element("p", {}, `Needs: ${need(operation)}`),
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
      element("span", { class: "summary" }, operation.summary ?? "")),
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
  find("intro").textContent = api.info.description ?? "";
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
