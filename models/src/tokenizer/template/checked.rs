//! Compiled templates whose instructions are checked.

use super::budget::{self, Result};
use super::operators;
use minijinja::machinery::{self, Instruction, Instructions};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value};
use std::collections::BTreeMap;

/// Filters in a slot of their own are not remembered from call to call.
const NOT_KEPT: u8 = !0;
/// The flag of a loop that its body may call.
const RECURSIVE: u8 = 2;

/// Renders the template `name` with its instructions checked.
pub(super) fn render(environment: &Environment<'_>, name: &str, context: Value) -> Result<String> {
    let template = environment.get_template(name)?;
    let compiled = machinery::get_compiled_template(&template);
    let instructions = checked(&compiled.instructions)?;
    budget::start();
    let mut text = String::new();
    let mut output = machinery::make_string_output(&mut text);
    machinery::eval(environment, &instructions, context, &BTreeMap::new(), &mut output, AutoEscape::None)?;
    Ok(text)
}

/// The same instructions, with calls of checked filters instead of those that take more than a constant time.
fn checked<'s>(instructions: &Instructions<'s>) -> Result<Instructions<'s>> {
    let all: Vec<(u32, &Instruction<'s>)> = (0..).map_while(|index| Some((index, instructions.get(index)?))).collect();
    let mut replaced = Vec::with_capacity(all.len());
    // Where each instruction begins, for those that jump.
    let mut begins = vec![0];
    for (_, instruction) in &all {
        let steps = steps(instruction)?;
        begins.push(begins[begins.len() - 1] + steps.len() as u32);
        replaced.push(steps);
    }
    let mut out = Instructions::new(instructions.name(), instructions.source());
    for ((index, _), steps) in all.iter().zip(replaced) {
        let line = instructions.get_line(*index).and_then(|line| u16::try_from(line).ok()).unwrap_or(0);
        for step in steps {
            out.add_with_line(moved(step, &begins), line);
        }
    }
    Ok(out)
}

/// An instruction that jumps, with its new target.
fn moved<'s>(instruction: Instruction<'s>, begins: &[u32]) -> Instruction<'s> {
    let begin = |target: u32| begins[target as usize];
    match instruction {
        Instruction::Iterate(to) => Instruction::Iterate(begin(to)),
        Instruction::Jump(to) => Instruction::Jump(begin(to)),
        Instruction::JumpIfFalse(to) => Instruction::JumpIfFalse(begin(to)),
        Instruction::JumpIfFalseOrPop(to) => Instruction::JumpIfFalseOrPop(begin(to)),
        Instruction::JumpIfTrueOrPop(to) => Instruction::JumpIfTrueOrPop(begin(to)),
        Instruction::BuildMacro(name, to, flags) => Instruction::BuildMacro(name, begin(to), flags),
        other => other,
    }
}

/// The instructions that replace `instruction`. Each part of a template's own text is printed as values are, so that it
/// counts.
fn steps<'s>(instruction: &Instruction<'s>) -> Result<Vec<Instruction<'s>>> {
    use Instruction as I;
    let same = || instruction.clone();
    Ok(match instruction {
        I::EmitRaw(text) => vec![I::LoadConst(Value::from(*text)), I::Emit],
        I::Add => vec![call("+", 2)?],
        I::StringConcat => vec![call("~", 2)?],
        I::Mul => vec![call("*", 2)?],
        I::In => vec![call("?in", 2)?],
        I::Slice => vec![call("[:]", 4)?],
        I::GetItem => vec![call("[i]", 2)?],
        I::Eq => vec![call("==", 2)?],
        I::Ne => vec![call("!=", 2)?],
        I::Lt => vec![call("<", 2)?],
        I::Lte => vec![call("<=", 2)?],
        I::Gt => vec![call(">", 2)?],
        I::Gte => vec![call(">=", 2)?],
        // A chained comparison, `a < b < c`, compares `b` again.
        I::CompareAndPreserve(_) => vec![call(operators::PAIR, 2)?, I::UnpackList(2), same()],
        I::BuildList(Some(_)) | I::BuildTuple(_) | I::BuildMap(_) => vec![same(), call(operators::SETTLED, 1)?],
        I::MergeKwargs(count) => vec![call("{**}", *count)?],
        I::UnpackLists(count) => vec![call("[*]", *count)?, I::UnpackLists(1)],
        // The value lies below the namespace that it is put into.
        I::SetAttr(_) => vec![I::Swap, call(operators::KEEP, 1)?, I::Swap, same()],
        I::CallMethod(name, Some(count)) => {
            vec![I::LoadConst(Value::from(*name)), call(operators::METHOD, usize::from(*count) + 1)?]
        }
        // The number of arguments is on the stack.
        I::CallMethod(name, None) => {
            let one_more = [I::Swap, I::LoadConst(Value::from(1)), I::Add];
            let counted = I::ApplyFilter(operators::METHOD, None, NOT_KEPT);
            [I::LoadConst(Value::from(*name))].into_iter().chain(one_more).chain([counted]).collect()
        }
        I::PushLoop(flags) if flags & RECURSIVE != 0 => return Err(refused("a recursive loop")),
        I::PushLoop(_) => vec![call(operators::ITERATE, 1)?, same()],
        // These take no fuel of their own.
        I::PushWith | I::PushAutoEscape | I::BeginCapture(_) | I::BuildMacro(..) => {
            vec![I::LoadConst(Value::UNDEFINED), I::DiscardTop, same()]
        }
        I::Include(_) | I::LoadBlocks | I::CallBlock(_) | I::FastSuper | I::FastRecurse => {
            return Err(refused("another template, a block or a recursive loop"));
        }
        _ => vec![same()],
    })
}

/// The call of a checked filter.
fn call<'s>(name: &'static str, arguments: usize) -> Result<Instruction<'s>> {
    let count = u16::try_from(arguments).map_err(|_| refused(&format!("{arguments} arguments")))?;
    Ok(Instruction::ApplyFilter(name, Some(count), NOT_KEPT))
}

fn refused(found: &str) -> Error {
    let expected = "expected one template without blocks and recursive loops, whose calls have at most 65535 arguments";
    Error::new(ErrorKind::InvalidOperation, format!("{expected}, found {found}"))
}
