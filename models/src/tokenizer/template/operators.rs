//! The operators of the language on values that are measured.
//!
//! They are registered as filters, under names that no template can write.

use super::budget::{MAX_TEXT, Result, VALUE, charge, fits};
use super::measure::{MAX_ITEMS, measure, measure_part, settled};
use minijinja::value::{Kwargs, Rest, Tuple, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, Expression, State, UndefinedBehavior, Value};
use std::sync::LazyLock;

/// Two values, the second one first, as a list.
pub(super) const PAIR: &str = ".pair";
/// A list or map that was built.
pub(super) const SETTLED: &str = ".settled";
/// A value that a namespace will keep.
pub(super) const KEEP: &str = ".keep";
/// A method: its object, its arguments, its name.
pub(super) const METHOD: &str = ".method";
/// A value that a loop will read.
pub(super) const ITERATE: &str = ".iterate";

type Operator = fn(&mut State<'_, '_>, &[Value]) -> Result<Value>;

const OPERATORS: [(&str, Operator); 18] = [
    ("+", |_, args| add(args)),
    ("~", |_, args| concat(args)),
    ("*", |_, args| multiply(args)),
    ("?in", |_, args| contains(args)),
    ("[:]", |_, args| slice(args)),
    ("[i]", |_, args| item(args)),
    ("==", |_, args| compare(args, |a, b| a == b)),
    ("!=", |_, args| compare(args, |a, b| a != b)),
    ("<", |_, args| compare(args, |a, b| a < b)),
    ("<=", |_, args| compare(args, |a, b| a <= b)),
    (">", |_, args| compare(args, |a, b| a > b)),
    (">=", |_, args| compare(args, |a, b| a >= b)),
    ("{**}", |_, args| keyword_arguments(args)),
    ("[*]", |_, args| joined(args)),
    (PAIR, |_, args| pair(args)),
    (SETTLED, |_, args| settled(args[0].clone())),
    (KEEP, |_, args| measure_part(&args[0]).map(|_| args[0].clone())),
    (ITERATE, |_, args| iterated(&args[0])),
];

/// Registers them with `environment`.
pub(super) fn register(environment: &mut Environment<'static>) {
    for (name, operator) in OPERATORS {
        environment.add_filter(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            if args.is_empty() { Err(Error::from(ErrorKind::MissingArgument)) } else { operator(state, &args) }
        });
    }
}

/// The argument at `index`; undefined where there is none.
fn at(args: &[Value], index: usize) -> Value {
    args.get(index).cloned().unwrap_or_default()
}

fn add(args: &[Value]) -> Result<Value> {
    let (left, right) = (at(args, 0), at(args, 1));
    let bytes = measure(&left)? + measure(&right)?;
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        fits(bytes, MAX_TEXT, "bytes of text in one value")?;
        return Ok(Value::from([a, b].concat()));
    }
    let sequence = |value: &Value| matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) && !value.is_tuple();
    if sequence(&left) && sequence(&right) {
        return settled(left.try_iter()?.chain(right.try_iter()?).collect::<Vec<_>>().into());
    }
    settled(evaluate(&ADD, left, right)?)
}

fn concat(args: &[Value]) -> Result<Value> {
    let (left, right) = (at(args, 0), at(args, 1));
    fits(measure(&left)? + measure(&right)?, MAX_TEXT, "bytes of text in one value")?;
    Ok(Value::from(format!("{left}{right}")))
}

fn multiply(args: &[Value]) -> Result<Value> {
    let (left, right) = (at(args, 0), at(args, 1));
    let (value, times) = if left.is_number() { (&right, &left) } else { (&left, &right) };
    if !value.is_number() {
        let times = times.as_usize().unwrap_or(0);
        let (bytes, items) = (measure(value)?, value.len().unwrap_or(0));
        fits(bytes.saturating_mul(times), MAX_TEXT, "bytes of text in one value")?;
        fits(items.saturating_mul(times).min(bytes.saturating_mul(times)), MAX_TEXT, "items in one value")?;
    }
    settled(evaluate(&MULTIPLY, left, right)?)
}

fn contains(args: &[Value]) -> Result<Value> {
    let (left, right) = (at(args, 0), at(args, 1));
    // Each item is compared with the value.
    charge(measure(&left)?.saturating_mul(right.len().filter(|_| right.as_str().is_none()).unwrap_or(1)))?;
    measure(&right)?;
    evaluate(&CONTAINS, left, right)
}

fn compare(args: &[Value], holds: fn(&Value, &Value) -> bool) -> Result<Value> {
    let (left, right) = (at(args, 0), at(args, 1));
    measure(&left)?;
    measure(&right)?;
    Ok(Value::from(holds(&left, &right)))
}

/// `args[0][args[1]]`. A list or map is not measured: it takes the same time whatever its size.
fn item(args: &[Value]) -> Result<Value> {
    let (value, key) = (at(args, 0), at(args, 1));
    measure(&key)?;
    match value.kind() {
        ValueKind::String => charge(value.as_str().map_or(0, str::len))?,
        ValueKind::Iterable => charge(value.len().unwrap_or(MAX_ITEMS) * VALUE)?,
        _ => {}
    }
    value.get_item(&key)
}

fn keyword_arguments(args: &[Value]) -> Result<Value> {
    let mut all = Vec::new();
    for arg in args {
        if arg.kind() != ValueKind::Map {
            let found = format!("expected a map of keyword arguments, found {}", arg.kind());
            return Err(Error::new(ErrorKind::InvalidOperation, found));
        }
        for key in arg.try_iter()? {
            charge(VALUE)?;
            let value = arg.get_item(&key)?;
            all.push((key.to_string(), value));
        }
    }
    Ok(Value::from(all.into_iter().collect::<Kwargs>()))
}

/// The items of several lists in one.
fn joined(args: &[Value]) -> Result<Value> {
    let mut all = Vec::new();
    for arg in args {
        for item in arg.try_iter()? {
            charge(VALUE)?;
            all.push(item);
        }
    }
    fits(all.len(), usize::from(u16::MAX), "arguments in one call")?;
    Ok(Value::from(all))
}

fn pair(args: &[Value]) -> Result<Value> {
    for arg in args {
        measure(arg)?;
    }
    Ok(Value::from(vec![at(args, 1), at(args, 0)]))
}

fn iterated(value: &Value) -> Result<Value> {
    charge(value.as_str().map_or_else(|| value.len().unwrap_or(0) * VALUE, str::len))?;
    Ok(value.clone())
}

/// `value[start:stop:step]`, as in Python. The language's own panics for some bounds.
fn slice(args: &[Value]) -> Result<Value> {
    let value = at(args, 0);
    measure(&value)?;
    let number = |index: usize| match at(args, index) {
        none if none.is_none() || none.is_undefined() => Ok(None),
        number => i64::try_from(number).map(Some),
    };
    let (start, stop, step) = (number(1)?, number(2)?, number(3)?.unwrap_or(1));
    if step == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "expected a step that is not 0 in a slice, found 0"));
    }
    if let Some(text) = value.as_str() {
        // Four bytes a character, which are made and read.
        charge(text.len() * 4)?;
        let characters: Vec<char> = text.chars().collect();
        return Ok(Value::from(
            indices(characters.len(), start, stop, step).map(|at| characters[at]).collect::<String>(),
        ));
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::None | ValueKind::Undefined) {
        let found = format!("expected a text or list to slice, found {}", value.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, found));
    }
    let items: Vec<Value> = value.try_iter()?.collect();
    let chosen: Vec<Value> = indices(items.len(), start, stop, step).map(|at| items[at].clone()).collect();
    Ok(if value.is_tuple() { Value::from(Tuple::from(chosen)) } else { Value::from(chosen) })
}

/// The indices of `start:stop:step` in a sequence of `length` items.
fn indices(length: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let within = |index: i64| (if index < 0 { index.saturating_add(length) } else { index }).clamp(low, high);
    let (first, end) = if step > 0 { (low, high) } else { (high, low) };
    let (first, end) = (start.map_or(first, within), stop.map_or(end, within));
    let next = move |&index: &i64| index.checked_add(step);
    let inside = move |index: &i64| if step > 0 { *index < end } else { *index > end };
    std::iter::successors(Some(first), next).take_while(inside).filter_map(|index| usize::try_from(index).ok())
}

static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut plain = Environment::empty();
    plain.set_undefined_behavior(UndefinedBehavior::Lenient);
    plain
});
static ADD: LazyLock<Expression<'static, 'static>> = LazyLock::new(|| expression("a + b"));
static MULTIPLY: LazyLock<Expression<'static, 'static>> = LazyLock::new(|| expression("a * b"));
static CONTAINS: LazyLock<Expression<'static, 'static>> = LazyLock::new(|| expression("a in b"));

fn expression(source: &'static str) -> Expression<'static, 'static> {
    PLAIN.compile_expression(source).expect("an operator compiles (bug)")
}

/// The language's own operator, on values that are small enough.
fn evaluate(operator: &Expression<'_, '_>, a: Value, b: Value) -> Result<Value> {
    operator.eval(minijinja::context! { a, b })
}

#[cfg(test)]
mod tests {
    use super::indices;

    #[test]
    fn slices_are_pythons() {
        let of = |start, stop, step| indices(5, start, stop, step).collect::<Vec<_>>();
        assert_eq!(of(None, None, 1), [0, 1, 2, 3, 4]);
        assert_eq!(of(None, None, -1), [4, 3, 2, 1, 0]);
        assert_eq!(of(Some(-3), Some(-1), 1), [2, 3]);
        assert_eq!(of(Some(9), Some(1), -2), [4, 2]);
        assert_eq!(of(Some(0), Some(2), -1), [0; 0]);
        assert_eq!(of(Some(-9), Some(-9), -1), [0; 0]);
        assert_eq!(of(None, None, i64::MIN), [4]);
        assert_eq!(of(Some(1), None, i64::MAX), [1]);
        assert_eq!(indices(0, None, None, -1).count(), 0);
    }
}
