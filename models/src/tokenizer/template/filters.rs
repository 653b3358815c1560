//! Filters, tests, functions and methods that a template may call, each checked before and after.

use super::super::python::json_dumps;
use super::budget::{self, MAX_TEXT, Result, VALUE, charge, fits, nested};
use super::measure::{MAX_ITEMS, measure, measure_part, settled};
use super::operators::METHOD;
use minijinja::value::{Kwargs, Rest, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value, escape_formatter, filters, functions, tests};

/// Columns by which JSON is indented.
const MAX_INDENT: usize = 16;
/// Filters and tests whose results are no larger than what they are given and that look at it from the outside only.
#[rustfmt::skip]
const SMALL: &[&str] = &[
    "length", "count", "default", "d", "safe", "bool", "first", "last", "attr", "abs", "int", "float", "boolean", "defined",
    "undefined", "none", "number", "integer", "string", "sequence", "iterable", "mapping", "true", "false", "escaped",
];
/// Filters and methods that look at all of their other arguments for each item of the first, a text's characters included.
#[rustfmt::skip]
const EACH: &[&str] = &[
    "trim", "strip", "lstrip", "rstrip", "map", "select", "reject", "selectattr", "rejectattr", "sort", "unique", "groupby",
    "min", "max", "sum", "join", "in",
];

/// Gives `environment` all that templates may call.
pub(super) fn register(environment: &mut Environment<'static>) {
    environment.set_formatter(|output, state, value| {
        budget::print(measure(value)?)?;
        escape_formatter(output, state, value)
    });
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    for (name, inner) in known_filters() {
        environment.add_filter(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            filter(name, &inner, state, &args.into_values())
        });
    }
    for (name, inner) in known_tests() {
        environment.add_test(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            filter(name, &inner, state, &args.into_values()).map(|value| value.is_true())
        });
    }
    for (name, inner) in known_functions() {
        environment.add_function(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            for arg in &args {
                measure_part(arg)?;
            }
            inner.call(state, &args)
        });
    }
    environment.add_filter(METHOD, |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let args = args.into_values();
        let (Some((name, args)), true) = (args.split_last(), args.len() > 1) else {
            return Err(Error::from(ErrorKind::MissingArgument));
        };
        let name = name.to_string();
        if name == "cycle" && args.len() == 1 {
            // The language's own divides by the number of values.
            return Err(Error::from(ErrorKind::MissingArgument));
        }
        before(&name, args)?;
        settled(nested(|| args[0].call_method(state, &name, &args[1..]))?)
    });
}

/// A call of a filter or test between its two checks.
fn filter(name: &str, inner: &Value, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value> {
    if SMALL.contains(&name) { charge(VALUE) } else { before(name, args) }?;
    settled(nested(|| inner.call(state, args))?)
}

/// Refuses a call whose result, or whose work, is a product of what it is given.
fn before(name: &str, args: &[Value]) -> Result<()> {
    let mut lengths = Vec::with_capacity(args.len());
    for arg in args {
        lengths.push(measure(arg)?);
    }
    let length = |index: usize| lengths.get(index).copied().unwrap_or(0);
    let items = args.first().and_then(Value::len).unwrap_or(0);
    if EACH.contains(&name) {
        fits(items, MAX_ITEMS, "items in one value")?;
        charge(items.saturating_mul(lengths.iter().skip(1).sum::<usize>().saturating_add(VALUE)))?;
    }
    // Arguments that are not text are converted to text.
    let text = |index: usize| args.get(index).map(Value::to_string).unwrap_or_default();
    // Of arguments by position and by name.
    let numbers = || args.iter().skip(1).flat_map(numbers_of);
    let largest = numbers().max().unwrap_or(0);
    let made = match name {
        "replace" => {
            let (whole, from) = (text(0), text(1));
            let times = if from.is_empty() { whole.len() + 1 } else { whole.matches(&from).count() };
            whole.len().saturating_add(times.saturating_mul(text(2).len()))
        }
        // The filter joins the items of the first argument, the method those of the second.
        "join" => {
            let joins = items.max(args.get(1).and_then(Value::len).unwrap_or(0));
            length(0).max(length(1)).saturating_add(joins.saturating_mul(length(0).max(length(1))))
        }
        "indent" => (text(0).matches('\n').count() + 1).saturating_mul(largest).saturating_add(length(0)),
        "batch" | "slice" => return fits(largest, MAX_ITEMS, "items in one value"),
        "list" | "reverse" | "split" | "lines" | "splitlines" => {
            return fits(items.min(length(0)), MAX_ITEMS, "items in one value");
        }
        "tojson" => return fits(largest, MAX_INDENT, "columns of indentation"),
        "format" => formatted(&text(0), lengths.iter().skip(1).copied().chain(numbers()).max().unwrap_or(0)),
        _ => return Ok(()),
    };
    fits(made, MAX_TEXT, "bytes of text in one value")
}

/// Upper bound of the bytes of a formatted text: the sum of its widths and precisions, an argument in each field, and `format`.
fn formatted(format: &str, largest: usize) -> usize {
    let digits = format.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widths = digits.map(|digits| digits.parse::<usize>().unwrap_or(usize::MAX)).fold(0, usize::saturating_add);
    let fields = format.matches(['%', '{']).count();
    widths.saturating_add(fields.saturating_mul(largest.saturating_add(64))).saturating_add(format.len())
}

/// The numbers among an argument, a number itself or arguments by name.
fn numbers_of(arg: &Value) -> Vec<usize> {
    let number = |value: &Value| value.is_number().then(|| value.as_usize().unwrap_or(usize::MAX));
    if arg.is_kwargs() {
        let values = arg.try_iter().into_iter().flatten().filter_map(|key| arg.get_item(&key).ok());
        return values.filter_map(|value| number(&value)).collect();
    }
    number(arg).into_iter().collect()
}

#[allow(clippy::needless_pass_by_value)] // minijinja hands arguments over by value
fn to_json(value: &Value, options: Kwargs) -> Result<Value> {
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    let value = serde_json::to_value(value).map_err(|why| Error::new(ErrorKind::BadSerialization, why.to_string()))?;
    Ok(Value::from(json_dumps(&value, indent)))
}

fn raise(message: String) -> Result<Value> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// Functions of `module`, each with its name or other names.
macro_rules! functions {
    ($module:ident: $($name:ident $(= $($more:literal)+)?),* $(,)?) => {{
        let mut all: Vec<(&'static str, Value)> = Vec::new();
        $(
            let function = Value::from_function($module::$name);
            functions!(@names all, function, $name $(, $($more)+)?);
        )*
        all
    }};
    (@names $all:ident, $function:ident, $name:ident) => { $all.push((stringify!($name), $function)) };
    (@names $all:ident, $function:ident, $name:ident, $($more:literal)+) => {
        $($all.push(($more, $function.clone()));)+
    };
}

/// The filters of Jinja2, as the language has them.
fn known_filters() -> Vec<(&'static str, Value)> {
    let mut all = functions![filters:
        lower, upper, title, capitalize, replace, length = "length" "count", dictsort, items, reverse, trim, join, split, lines,
        default = "default" "d", round, abs, int, float, attr, first, last, min, max, sort, list, string, bool, batch, slice,
        sum, indent, select, reject, selectattr, rejectattr, map, groupby, unique, pprint, format, safe,
        escape = "escape" "e",
    ];
    all.push(("tojson", Value::from_function(to_json)));
    all
}

/// The tests of Jinja2, as the language has them.
fn known_tests() -> Vec<(&'static str, Value)> {
    functions![tests:
        is_undefined = "undefined", is_defined = "defined", is_none = "none", is_safe = "safe" "escaped",
        is_boolean = "boolean", is_odd = "odd", is_even = "even", is_divisibleby = "divisibleby", is_number = "number",
        is_integer = "integer" "int", is_float = "float", is_string = "string", is_sequence = "sequence",
        is_iterable = "iterable", is_mapping = "mapping", is_startingwith = "startingwith", is_endingwith = "endingwith",
        is_lower = "lower", is_upper = "upper", is_sameas = "sameas", is_eq = "eq" "equalto" "==", is_ne = "ne" "!=",
        is_lt = "lt" "lessthan" "<", is_le = "le" "<=", is_gt = "gt" "greaterthan" ">", is_ge = "ge" ">=", is_in = "in",
        is_true = "true", is_false = "false", is_filter = "filter", is_test = "test",
    ]
}

fn known_functions() -> Vec<(&'static str, Value)> {
    let mut all = functions![functions: range, dict, namespace];
    all.push(("raise_exception", Value::from_function(raise)));
    all
}
