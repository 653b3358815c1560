//! Bounds on the memory that a chat template takes: fuel bounds its steps, not what one step makes.
//!
//! A template comes with a model from anywhere, and `{% set s = s ~ s %}` doubles a string with each step. So every step
//! that makes a text or a list larger is checked before it does: operators are compiled to checked filters, filters and
//! methods are wrapped. A value that was checked has at most [`MAX_TEXT`] bytes of text, [`MAX_ITEMS`] items and
//! [`MAX_DEPTH`] levels; so steps that make a value a constant factor larger need no check before, only after.

use minijinja::machinery::{self, Instruction, Instructions, Token};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, Tuple, ValueKind, ValueOrKwargs};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, Value, escape_formatter, filters};
use std::cell::Cell;
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, Error>;

/// Instructions one rendering may take: thousands of times what a long conversation needs, a second at most.
const FUEL: u64 = 20_000_000;
/// Bytes of one value's text, and of all that is printed, into variables too.
const MAX_TEXT: usize = 4 << 20;
/// Items of one value, with those of its items.
const MAX_ITEMS: usize = 200_000;
/// Lists within lists.
const MAX_DEPTH: usize = 32;
/// Columns by which JSON is indented.
const MAX_INDENT: usize = 16;

/// The names under which checked operators are called; no template can write them.
const OPERATORS: [&str; 7] = ["+", "~", "*", "[]", "()", "?in", "[:]"];

/// Filters whose results are no larger than what they are given and that look at it from the outside only.
const SMALL: &[&str] =
    &["length", "count", "default", "d", "safe", "bool", "first", "last", "attr", "abs", "int", "float"];

thread_local! {
    /// Bytes printed by the rendering that this thread is at.
    static PRINTED: Cell<usize> = const { Cell::new(0) };
}

/// Wraps what `environment` offers templates.
pub(super) fn bound(environment: &mut Environment<'static>) {
    environment.set_fuel(Some(FUEL));
    environment.set_formatter(|output, state, value| {
        let length = measure(value)?;
        let printed = PRINTED.get().saturating_add(length);
        fits(printed, MAX_TEXT, "bytes printed")?;
        PRINTED.set(printed);
        escape_formatter(output, state, value)
    });
    environment.set_unknown_method_callback(|state, value, method, args| {
        let all: Vec<Value> = std::iter::once(value).chain(args).cloned().collect();
        before(method, &all)?;
        after(minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args)?)
    });
    environment.remove_global("debug");
    for name in ["dict", "namespace"] {
        let inner = if name == "dict" {
            Value::from_function(minijinja::functions::dict)
        } else {
            Value::from_function(minijinja::functions::namespace)
        };
        environment.add_function(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            args.iter().try_for_each(|arg| measure(arg).map(drop))?;
            inner.call(state, &args)
        });
    }
    for (name, inner) in wrapped() {
        environment.add_filter(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            before(name, &args)?;
            after(inner.call(state, &args)?)
        });
    }
    for name in OPERATORS {
        environment.add_filter(name, move |args: Rest<Value>| operate(name, &args));
    }
}

/// Refuses constants that a product makes large: the compiler computes `'x' * 99999999` itself, before any step. Counted is
/// what an expression could make at most, its own bytes times all of its numbers.
///
/// # Errors
/// Where it makes more than [`MAX_TEXT`] bytes in all expressions, or does not read.
pub(super) fn constants(source: &str) -> Result<()> {
    let (mut made, mut factor, mut product) = (0_usize, 1_usize, false);
    let mut start = 0;
    for token in machinery::tokenize(source, false, SyntaxConfig::default()) {
        let (token, span) = token?;
        match token {
            Token::VariableStart | Token::BlockStart => {
                (start, factor, product) = (span.start_offset as usize, 1, false);
            }
            Token::Mul => product = true,
            Token::Pow | Token::Int128(_) => factor = usize::MAX,
            Token::Int(number) => factor = factor.saturating_mul(usize::try_from(number).unwrap_or(usize::MAX).max(2)),
            // A number below one divides.
            Token::Float(number) => factor = factor.saturating_mul(number.max(1.0 / number).ceil().max(2.0) as usize),
            Token::VariableEnd | Token::BlockEnd if product => {
                let bytes = (span.end_offset as usize).saturating_sub(start);
                made = made.saturating_add(bytes.saturating_mul(factor));
                fits(made, MAX_TEXT, "bytes of text by products of constants")?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Renders the template `name` with its operators checked.
pub(super) fn render(environment: &Environment<'_>, name: &str, context: Value) -> Result<String> {
    let template = environment.get_template(name)?;
    let compiled = machinery::get_compiled_template(&template);
    let instructions = checked(&compiled.instructions);
    let blocks: BTreeMap<&str, Instructions<'_>> =
        compiled.blocks.iter().map(|(name, block)| (*name, checked(block))).collect();
    PRINTED.set(0);
    let mut text = String::new();
    let mut output = machinery::make_string_output(&mut text);
    machinery::eval(environment, &instructions, context, &blocks, &mut output, AutoEscape::None)?;
    Ok(text)
}

/// The same instructions, with calls of checked filters in the place of operators, and the template's own text printed as
/// values are, so that it counts.
fn checked<'s>(instructions: &Instructions<'s>) -> Instructions<'s> {
    /// Filters in a place of their own are not remembered from call to call.
    const NOT_KEPT: u8 = !0;
    let all = || (0..).map_while(|at| Some((at, instructions.get(at)?)));
    // Where each instruction goes, for those that jump.
    let mut places = vec![0];
    for (at, instruction) in all() {
        places.push(places[at as usize] + if matches!(instruction, Instruction::EmitRaw(_)) { 2 } else { 1 });
    }
    let place = |at: u32| places[at as usize];
    let call =
        |name: &'static str, arguments: usize| Instruction::ApplyFilter(name, u16::try_from(arguments).ok(), NOT_KEPT);
    let few = |count: usize| count > 0 && count <= usize::from(u16::MAX);
    let mut out = Instructions::new(instructions.name(), instructions.source());
    for (at, instruction) in all() {
        let line = instructions.get_line(at).and_then(|line| u16::try_from(line).ok()).unwrap_or(0);
        let instruction = match instruction {
            Instruction::EmitRaw(text) => {
                out.add_with_line(Instruction::LoadConst(Value::from(*text)), line);
                Instruction::Emit
            }
            Instruction::Iterate(to) => Instruction::Iterate(place(*to)),
            Instruction::Jump(to) => Instruction::Jump(place(*to)),
            Instruction::JumpIfFalse(to) => Instruction::JumpIfFalse(place(*to)),
            Instruction::JumpIfFalseOrPop(to) => Instruction::JumpIfFalseOrPop(place(*to)),
            Instruction::JumpIfTrueOrPop(to) => Instruction::JumpIfTrueOrPop(place(*to)),
            Instruction::BuildMacro(name, at, flags) => Instruction::BuildMacro(name, place(*at), *flags),
            Instruction::Add => call(OPERATORS[0], 2),
            Instruction::StringConcat => call(OPERATORS[1], 2),
            Instruction::Mul => call(OPERATORS[2], 2),
            Instruction::BuildList(Some(count)) if few(*count) => call(OPERATORS[3], *count),
            Instruction::BuildTuple(Some(count)) if few(*count) => call(OPERATORS[4], *count),
            Instruction::In => call(OPERATORS[5], 2),
            Instruction::Slice => call(OPERATORS[6], 4),
            other => other.clone(),
        };
        out.add_with_line(instruction, line);
    }
    out
}

/// An operator on what was measured.
fn operate(name: &str, args: &[Value]) -> Result<Value> {
    let mut length = 0;
    for arg in args {
        length += measure(arg)?;
    }
    let (left, right) = (args.first().cloned().unwrap_or_default(), args.get(1).cloned().unwrap_or_default());
    let result = match name {
        "~" => {
            fits(length, MAX_TEXT, "bytes of text")?;
            return Ok(Value::from(format!("{left}{right}")));
        }
        "[]" => Value::from(args.to_vec()),
        "*" => {
            let (value, times) = if left.is_number() { (&right, &left) } else { (&left, &right) };
            if !value.is_number() {
                let times = times.as_usize().unwrap_or(0);
                let (length, items) = (measure(value)?, value.len().unwrap_or(0));
                fits(length.saturating_mul(times), MAX_TEXT, "bytes of text")?;
                fits(items.saturating_mul(times).min(length.saturating_mul(times)), MAX_TEXT, "items")?;
            }
            evaluate("a * b", left, right)?
        }
        "+" => match (left.as_str(), right.as_str()) {
            (Some(a), Some(b)) => {
                fits(length, MAX_TEXT, "bytes of text")?;
                return Ok(Value::from([a, b].concat()));
            }
            _ => evaluate("a + b", left, right)?,
        },
        "()" => Value::from(Tuple::from(args.to_vec())),
        // The language's own slice panics for an empty text or list and a negative step.
        "[:]" if is_empty(&left) => left,
        "[:]" => {
            let (stop, step) = (args.get(2).cloned().unwrap_or_default(), args.get(3).cloned().unwrap_or_default());
            slice(left, right, stop, step)?
        }
        _ => return evaluate("a in b", left, right),
    };
    after(result)
}

fn is_empty(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Iterable => value.try_iter().is_ok_and(|mut items| items.next().is_none()),
        _ => value.len() == Some(0),
    }
}

/// `value[start:stop:step]`.
fn slice(value: Value, start: Value, stop: Value, step: Value) -> Result<Value> {
    compiled("value[start:stop:step]", minijinja::context! { value, start, stop, step })
}

/// The language's own operator, on values that are small enough.
fn evaluate(expression: &str, a: Value, b: Value) -> Result<Value> {
    compiled(expression, minijinja::context! { a, b })
}

fn compiled(expression: &str, context: Value) -> Result<Value> {
    let mut plain = Environment::empty();
    plain.set_undefined_behavior(minijinja::UndefinedBehavior::Lenient);
    plain.compile_expression(expression)?.eval(context)
}

/// Refuses a call whose result is a product of what it is given.
fn before(name: &str, args: &[Value]) -> Result<()> {
    if SMALL.contains(&name) {
        return Ok(());
    }
    let mut lengths = Vec::with_capacity(args.len());
    for arg in args {
        lengths.push(measure(arg)?);
    }
    let length = |index: usize| lengths.get(index).copied().unwrap_or(0);
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
        "join" => length(0).max(length(1)).saturating_add(length(0).saturating_mul(length(1))),
        "indent" => (text(0).matches('\n').count() + 1).saturating_mul(largest).saturating_add(length(0)),
        "batch" | "slice" => return fits(largest, MAX_ITEMS, "items"),
        "tojson" => return fits(largest, MAX_INDENT, "columns of indentation"),
        "format" => formatted(&text(0), lengths.iter().skip(1).copied().chain(numbers()).max().unwrap_or(0)),
        _ => return Ok(()),
    };
    fits(made, MAX_TEXT, "bytes of text")
}

/// At most so many bytes come of a format: its widths and precisions, and an argument in each place.
fn formatted(format: &str, largest: usize) -> usize {
    let digits = format.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widths = digits.map(|digits| digits.parse::<usize>().unwrap_or(usize::MAX)).fold(0, usize::saturating_add);
    let places = format.matches(['%', '{']).count();
    widths.saturating_add(places.saturating_mul(largest.saturating_add(64))).saturating_add(format.len())
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

/// Refuses a result that is too large to go on with.
fn after(result: Value) -> Result<Value> {
    measure(&result)?;
    Ok(result)
}

/// Bytes that `value` has as text, roughly.
fn measure(value: &Value) -> Result<usize> {
    let (mut text, mut items) = (0, 0);
    add_size(value, 0, &mut text, &mut items)?;
    Ok(text)
}

/// Adds the size of `value` to `text` (bytes) and `items` (values in lists and maps, itself included).
fn add_size(value: &Value, depth: usize, text: &mut usize, items: &mut usize) -> Result<()> {
    fits(depth, MAX_DEPTH, "lists within lists")?;
    *items += 1;
    fits(*items, MAX_ITEMS, "items")?;
    // The separator from the next item, so that an empty item has a size.
    let separator = if depth > 0 { 2 } else { 0 };
    let own = match value.kind() {
        ValueKind::String => value.as_str().map_or(0, str::len),
        ValueKind::Bytes => value.as_bytes().map_or(0, <[u8]>::len),
        ValueKind::Seq | ValueKind::Iterable => {
            for item in value.try_iter()? {
                add_size(&item, depth + 1, text, items)?;
            }
            2
        }
        ValueKind::Map => {
            for key in value.try_iter()? {
                add_size(&value.get_item(&key)?, depth + 1, text, items)?;
                add_size(&key, depth + 1, text, items)?;
            }
            2
        }
        ValueKind::Undefined => 0,
        _ => 24,
    };
    *text = text.saturating_add(separator).saturating_add(own);
    fits(*text, MAX_TEXT, "bytes of text")
}

fn fits(found: usize, most: usize, of: &str) -> Result<()> {
    if found <= most {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidOperation, format!("a chat template may make at most {most} {of}")))
}

/// The filters of the language, as they are.
fn wrapped() -> Vec<(&'static str, Value)> {
    macro_rules! filters {
        ($($name:ident),* $(,)?) => { vec![$((stringify!($name), Value::from_function(filters::$name))),*] };
    }
    let mut all = filters![
        lower, upper, title, capitalize, replace, length, dictsort, items, reverse, trim, join, split, lines, default,
        round, abs, int, float, attr, first, last, min, max, sort, list, string, bool, batch, slice, sum, indent,
        select, reject, selectattr, rejectattr, map, groupby, unique, chain, zip, pprint, format, safe, escape,
    ];
    let named = |name: &'static str, of: &str, all: &[(&'static str, Value)]| {
        all.iter().find(|(known, _)| *known == of).map(|(_, filter)| (name, filter.clone()))
    };
    for (name, of) in [("count", "length"), ("d", "default"), ("e", "escape")] {
        all.extend(named(name, of, &all));
    }
    all.push(("tojson", Value::from_function(super::template::to_json)));
    all
}
