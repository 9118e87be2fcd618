// @ts-check
// Every state is in the fragment of the address: "#cloud?beta=4&skip=1", so a link shows what its sender saw.

/** @typedef {string | number | boolean | number[][] | number[] | string[]} Value */

/** @param {Value} value */
function written(value) {
  if (typeof value === "boolean") return value ? "1" : "0";
  if (Array.isArray(value) && Array.isArray(value[0])) return value.map((row) => /** @type {number[]} */ (row).join(",")).join(";");
  return String(value);
}

/**
 * What differs from the defaults, as a query.
 * @param {Record<string, any>} settings @param {Record<string, any>} defaults
 */
export function encode(settings, defaults) {
  const query = new URLSearchParams();
  for (const name of Object.keys(defaults)) {
    const text = written(settings[name]);
    if (text !== written(defaults[name])) query.set(name, text);
  }
  return query.toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
}

/**
 * Settings from a query; whatever is missing or makes no sense is the default.
 * @template {Record<string, any>} T
 * @param {string} text @param {T} defaults @returns {T}
 */
export function decode(text, defaults) {
  const query = new URLSearchParams(text);
  /** @type {Record<string, any>} */
  const settings = {};
  for (const [name, usual] of Object.entries(defaults)) {
    const given = query.get(name);
    settings[name] = given === null ? usual : read(given, usual);
  }
  return /** @type {T} */ (settings);
}

/** @param {string} given @param {Value} usual @returns {Value} */
function read(given, usual) {
  if (typeof usual === "boolean") return given === "1";
  if (typeof usual === "number") return given.trim() !== "" && Number.isFinite(Number(given)) ? Number(given) : usual;
  if (typeof usual === "string") return given;
  if (Array.isArray(usual[0])) {
    const rows = given.split(";").map((row) => row.split(",").map(Number));
    const width = rows[0].length;
    const sound = rows.length <= 64 && width <= 64 && rows.every((row) => row.length === width && row.every((x) => Math.abs(x) <= 1e4));
    return sound ? rows : usual;
  }
  if (typeof usual[0] === "string") return given === "" ? [] : given.split(",");
  const numbers = given.split(",").map(Number);
  return numbers.length <= 4096 && numbers.every(Number.isFinite) ? numbers : usual;
}

/** The name of the room and its query, from "#cloud?beta=4". @param {string} hash @returns {[string, string]} */
export function parts(hash) {
  const [room, ...rest] = hash.replace(/^#/, "").split("?");
  return [room, rest.join("?")];
}
