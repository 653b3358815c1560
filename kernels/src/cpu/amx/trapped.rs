//! The instructions themselves on a processor that lacks them: each is illegal there, and the signal's handler reads
//! its bytes by Intel's manual, executes them on [`Emulated`], and goes on behind them. So the test covers the machine
//! code that the compiler made: opcodes, registers, addresses and strides. With AMX nothing is trapped.

use super::emulated::Emulated;
use std::cell::Cell;
use std::sync::Once;

thread_local! {
    static TILES: Cell<Emulated> = const { Cell::new(Emulated::new()) };
    static TRAPPED: Cell<usize> = const { Cell::new(0) };
}

/// Instructions trapped on this thread so far.
pub(super) fn count() -> usize {
    TRAPPED.get()
}

/// From now on, on all threads.
pub(super) fn catch() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: all zeros is a valid action without a handler, which is then put in; it is called with three
        // arguments because of the flag. The handler runs where the instruction stood, so it may do whatever could be
        // done there.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_illegal;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGILL, &raw const action, std::ptr::null_mut()), 0);
        }
    });
}

extern "C" fn on_illegal(signal: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the third argument is the thread's context, which the kernel restores afterwards.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let at = registers[libc::REG_RIP as usize];
    // SAFETY: the processor has read an instruction there; those of AMX are five to ten bytes long, and code goes on.
    let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, 10) };
    let mut tiles = TILES.get();
    match Instruction::read(bytes, registers) {
        Some((instruction, length)) => {
            instruction.perform(&mut tiles);
            TILES.set(tiles);
            TRAPPED.set(TRAPPED.get() + 1);
            registers[libc::REG_RIP as usize] = at + length as i64;
        }
        // Another's: met again without this handler, it ends the program.
        // SAFETY: the default action has no handler.
        None => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}

/// A decoded instruction, with its addresses.
#[derive(Debug, PartialEq, Eq)]
enum Instruction {
    Configure(usize),
    Release,
    Zero(usize),
    Load { tile: usize, from: usize, stride: usize },
    Store { tile: usize, to: usize, stride: usize },
    Dot { sums: usize, rows: usize, columns: usize },
    DotBf16 { sums: usize, rows: usize, columns: usize },
}

/// A memory operand: the base with its displacement, and the index register times its scale.
struct Address {
    base: usize,
    index: Option<usize>,
    length: usize,
}

/// General registers in the order of their numbers in an instruction.
const REGISTERS: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

impl Instruction {
    /// VEX.128.pp.0F38.W0 49, 4B, 5C or 5E, three-byte VEX, in 64-bit mode; and how many bytes it has.
    fn read(bytes: &[u8], registers: &[i64]) -> Option<(Self, usize)> {
        let [0xc4, one, two, opcode, modrm, rest @ ..] = bytes else { return None };
        // R, X, B and vvvv are stored inverted.
        let (r, x, b) = (!one >> 7 & 1, !one >> 6 & 1, !one >> 5 & 1);
        let (map, w, vvvv, l, pp) = (one & 31, two >> 7, !two >> 3 & 15, two >> 2 & 1, two & 3);
        if map != 2 || w != 0 || l != 0 {
            return None;
        }
        let (mode, reg, rm) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
        let tile = usize::from(reg);
        if mode == 3 {
            let read = match (opcode, pp) {
                (0x49, 0) if *modrm == 0xc0 && vvvv == 0 => Self::Release,
                (0x49, 3) if rm == 0 && r == 0 && vvvv == 0 => Self::Zero(tile),
                // ModRM.reg is the tile of sums, ModRM.rm that of rows, vvvv that of columns.
                (0x5e, 3) if r == 0 && b == 0 && vvvv < 8 => {
                    Self::Dot { sums: tile, rows: usize::from(rm), columns: usize::from(vvvv) }
                }
                (0x5c, 2) if r == 0 && b == 0 && vvvv < 8 => {
                    Self::DotBf16 { sums: tile, rows: usize::from(rm), columns: usize::from(vvvv) }
                }
                _ => return None,
            };
            return Some((read, 5));
        }
        let Address { base, index, length } = address(mode, rm, (x, b), rest, registers)?;
        let read = match (opcode, pp, index) {
            (0x49, 0, None) if reg == 0 && vvvv == 0 => Self::Configure(base),
            (0x4b, 3, Some(stride)) if r == 0 && vvvv == 0 => Self::Load { tile, from: base, stride },
            (0x4b, 2, Some(stride)) if r == 0 && vvvv == 0 => Self::Store { tile, to: base, stride },
            _ => return None,
        };
        Some((read, 5 + length))
    }

    fn perform(self, tiles: &mut Emulated) {
        // SAFETY: the addresses are those that the program would have read and written.
        unsafe {
            match self {
                Self::Configure(from) => tiles.configure_by(&*(from as *const [u8; 64])),
                Self::Release => tiles.release_all(),
                Self::Zero(tile) => tiles.zero_tile(tile),
                Self::Load { tile, from, stride } => tiles.load_tile(tile, from as *const u8, stride),
                Self::Store { tile, to, stride } => tiles.store_tile(tile, to as *mut u8, stride),
                Self::Dot { sums, rows, columns } => tiles.dot_signed(sums, rows, columns),
                Self::DotBf16 { sums, rows, columns } => tiles.dot_bf16(sums, rows, columns),
            }
        }
    }
}

/// ModRM's memory forms but the one that is relative to the instruction.
fn address(mode: u8, rm: u8, (x, b): (u8, u8), rest: &[u8], registers: &[i64]) -> Option<Address> {
    let register = |number: u8| registers[REGISTERS[usize::from(number)] as usize];
    let (base, index, sib) = if rm == 4 {
        let (scale, index, base) = (rest[0] >> 6, rest[0] >> 3 & 7 | x << 3, rest[0] & 7);
        let index = (index != 4).then(|| (register(index) << scale) as usize);
        (base, index, 1)
    } else {
        (rm, None, 0)
    };
    let (displacement, length) = match mode {
        0 if base == 5 => return None,
        0 => (0, 0),
        1 => (i64::from(rest[sib] as i8), 1),
        _ => (i64::from(i32::from_le_bytes(rest[sib..sib + 4].try_into().ok()?)), 4),
    };
    Some(Address { base: (register(base | b << 3) + displacement) as usize, index, length: sib + length })
}

#[test]
fn instructions_are_read_as_the_manual_has_them() {
    // Bytes as GNU as 2.40 makes them of the text beside them.
    let mut registers = [0_i64; 32];
    for (number, &task) in REGISTERS.iter().enumerate() {
        registers[task as usize] = 1000 * number as i64;
    }
    let cases: [(&[u8], Instruction); 10] = [
        // ldtilecfg [rax]
        (&[0xc4, 0xe2, 0x78, 0x49, 0x00], Instruction::Configure(0)),
        // ldtilecfg [r12 + 64]
        (&[0xc4, 0xc2, 0x78, 0x49, 0x44, 0x24, 0x40], Instruction::Configure(12064)),
        // tilerelease
        (&[0xc4, 0xe2, 0x78, 0x49, 0xc0], Instruction::Release),
        // tilezero tmm5
        (&[0xc4, 0xe2, 0x7b, 0x49, 0xe8], Instruction::Zero(5)),
        // tileloadd tmm3, [rcx + rdx*1]
        (&[0xc4, 0xe2, 0x7b, 0x4b, 0x1c, 0x11], Instruction::Load { tile: 3, from: 1000, stride: 2000 }),
        // tileloadd tmm1, [r9 + r10*1 + 8]
        (&[0xc4, 0x82, 0x7b, 0x4b, 0x4c, 0x11, 0x08], Instruction::Load { tile: 1, from: 9008, stride: 10000 }),
        // tilestored [r13 + rax*2 + 0], tmm6
        (&[0xc4, 0xc2, 0x7a, 0x4b, 0x74, 0x45, 0x00], Instruction::Store { tile: 6, to: 13000, stride: 0 }),
        // tilestored [rdi + r8*1], tmm7
        (&[0xc4, 0xa2, 0x7a, 0x4b, 0x3c, 0x07], Instruction::Store { tile: 7, to: 7000, stride: 8000 }),
        // tdpbssd tmm6, tmm2, tmm4
        (&[0xc4, 0xe2, 0x5b, 0x5e, 0xf2], Instruction::Dot { sums: 6, rows: 2, columns: 4 }),
        // tdpbf16ps tmm6, tmm2, tmm4
        (&[0xc4, 0xe2, 0x5a, 0x5c, 0xf2], Instruction::DotBf16 { sums: 6, rows: 2, columns: 4 }),
    ];
    for (bytes, wanted) in cases {
        let padded = [bytes, &[0x90; 10]].concat();
        assert_eq!(Instruction::read(&padded[..10], &registers), Some((wanted, bytes.len())), "{bytes:02x?}");
    }
    // vpdpbusd, and tdpbusd, which is not used here.
    for other in [[0xc4, 0xe2, 0x6d, 0x50, 0xcb], [0xc4, 0xe2, 0x59, 0x5e, 0xf2]] {
        let padded = [&other[..], &[0x90; 10]].concat();
        assert_eq!(Instruction::read(&padded[..10], &registers), None);
    }
}
