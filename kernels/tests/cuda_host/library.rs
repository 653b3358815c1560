//! The kernels, compiled for the host by the stand-in for nvcc: a library for each file.

use moot_kernels::launch::{Argument, Launch, Module};
use std::ffi::{CString, c_char, c_uint, c_void};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where the kernels' sources are; the test of mutants sets another folder.
pub(crate) const SOURCES: &str = "MOOT_CUDA_SOURCES";

/// What the emulation takes as `Dim3`.
#[repr(C)]
struct Dim3([c_uint; 3]);

type Find = unsafe extern "C" fn(*const c_char) -> *const c_void;
type EmulatedLaunch = unsafe extern "C" fn(*const c_void, *const c_char, Dim3, Dim3, *mut *mut c_void);

/// All modules, each compiled when it is first used.
pub(crate) fn library() -> &'static Library {
    static LIBRARY: Library = Library([const { OnceLock::new() }; 8]);
    &LIBRARY
}

pub(crate) struct Library([OnceLock<Emulated>; 8]);

impl Library {
    pub(crate) fn run(&self, launch: &Launch) {
        let module = launch.kernel.module;
        self.0[module as usize].get_or_init(|| Emulated::load(&compiled(module))).run(launch);
    }
}

/// A module that is loaded.
struct Emulated {
    find: Find,
    launch: EmulatedLaunch,
    /// Its emulation has one block at a time, in global variables.
    turn: Mutex<()>,
}

impl Emulated {
    fn load(library: &Path) -> Self {
        let path = CString::new(library.as_os_str().as_bytes()).unwrap();
        // SAFETY: a library that the stand-in for nvcc made; the symbols have the types stated.
        unsafe {
            let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
            assert!(!handle.is_null(), "{} does not load", library.display());
            let symbols = [c"emulated_kernel", c"emulated_launch"];
            let [find, launch] = symbols.map(|name| libc::dlsym(handle, name.as_ptr()));
            assert!(!find.is_null() && !launch.is_null(), "{} has no kernels", library.display());
            let find = std::mem::transmute::<*mut c_void, Find>(find);
            Self { find, launch: std::mem::transmute::<*mut c_void, EmulatedLaunch>(launch), turn: Mutex::new(()) }
        }
    }

    fn run(&self, launch: &Launch) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let word = |argument: &Argument| match *argument {
            Argument::Pointer(address) => address,
            Argument::U32(count) => u64::from(count),
            Argument::F32(number) => u64::from(number.to_bits()),
        };
        let mut words: Vec<u64> = launch.arguments.iter().map(word).collect();
        let mut pointers: Vec<*mut c_void> = words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        let name = CString::new(launch.kernel.to_string()).unwrap();
        assert!(launch.threads.is_multiple_of(32) && launch.threads <= 1024, "{launch:?}");
        // SAFETY: arguments are as the kernel's launcher made them, of buffers that live.
        unsafe {
            let kernel = (self.find)(name.as_ptr());
            assert!(!kernel.is_null(), "no kernel is named {}", launch.kernel);
            let (grid, block) = (Dim3(launch.grid), Dim3([launch.threads, 1, 1]));
            (self.launch)(kernel, name.as_ptr(), grid, block, pointers.as_mut_ptr());
        }
    }
}

/// The library of `module`, from an earlier run where its content is the same.
fn compiled(module: Module) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let sources = std::env::var_os(SOURCES).map_or_else(|| tests.join("../cuda"), PathBuf::from);
    let (nvcc, name) = (tests.join("cuda_stand_in/nvcc"), format!("{module:?}").to_lowercase());
    let source = format!("{name}.cu");
    let mut content = DefaultHasher::new();
    (std::env::var_os("CXX"), with_includes(&sources, &source), fs::read(&nvcc).unwrap()).hash(&mut content);
    for file in ["emulation.hpp", "kernels.hpp"] {
        fs::read(tests.join("cuda_host").join(file)).unwrap().hash(&mut content);
    }
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda_host");
    let folder = cache.join(format!("{name}-{:016x}", content.finish()));
    let library = |folder: &Path| folder.join(format!("{name}.emulated.so"));
    if library(&folder).exists() {
        return library(&folder);
    }
    // In a folder of its own, which then gets its name: another process may do the same.
    fs::create_dir_all(&cache).unwrap();
    let own = tempfile::tempdir_in(&cache).unwrap();
    let mut command = Command::new("sh");
    command.arg(nvcc).args(["-fatbin", "-o"]).arg(own.path().join("fatbin")).arg(sources.join(source));
    let said = command.output().unwrap();
    let log = fs::read_to_string(own.path().join(format!("{name}.emulated.so.log"))).unwrap_or_default();
    assert!(
        said.status.success() && library(own.path()).exists(),
        "the kernels are tested with a C++ compiler (CXX, or c++): {}{log}",
        String::from_utf8_lossy(&said.stderr)
    );
    let own = own.keep();
    if fs::rename(&own, &folder).is_err() {
        fs::remove_dir_all(own).unwrap();
    }
    library(&folder)
}

/// The text of a file in `folder`, and of those there that it includes.
fn with_includes(folder: &Path, file: &str) -> String {
    let mut text = fs::read_to_string(folder.join(file)).unwrap();
    let included = |line: &str| Some(line.strip_prefix("#include \"")?.split('"').next()?.to_owned());
    for other in text.lines().filter_map(included).collect::<Vec<_>>() {
        if folder.join(&other).exists() {
            text += &with_includes(folder, &other);
        }
    }
    text
}
