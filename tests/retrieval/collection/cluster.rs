//! A PostgreSQL server of the test's own, in a folder that goes when the test ends.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use postgres::{Client, NoTls};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The user, and the password that no message may hold.
const USER: &str = "keeper";
pub(super) const PASSWORD: &str = "not-for-any-eye";
/// The server refuses to run as root: then it runs as this one.
const NOBODY: u32 = 65_534;

/// Whether this process is root's.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// A running server.
pub(super) struct Cluster {
    folder: tempfile::TempDir,
    programs: PathBuf,
    pub(super) port: u16,
    server: Option<Child>,
}

impl Cluster {
    /// With a database `wiki` that has pgvector, and a database `bare` that has not.
    pub(super) fn start() -> Self {
        let programs =
            std::env::var_os("MOOT_POSTGRES").expect("MOOT_POSTGRES names the folder of initdb and postgres");
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut cluster = Self { folder, programs: programs.into(), port, server: None };
        let (data, password) = (cluster.path("data"), cluster.path("password"));
        fs::write(&password, PASSWORD).unwrap();
        fs::create_dir(&data).unwrap();
        if is_root() {
            for path in [cluster.folder.path(), data.as_path(), password.as_path()] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let mut init = cluster.command("initdb");
        init.args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "-U", USER]);
        init.arg("--pwfile").arg(&password).arg("-D").arg(&data);
        assert!(init.status().unwrap().success(), "{init:?}");
        cluster.go_on();
        let mut client = cluster.client("postgres");
        client.batch_execute("CREATE DATABASE wiki").unwrap();
        client.batch_execute("CREATE DATABASE bare").unwrap();
        cluster.client("wiki").batch_execute("CREATE EXTENSION vector").unwrap();
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("LC_ALL", "C");
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts the server, and waits until it answers.
    pub(super) fn go_on(&mut self) {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.path("data")).args(["-p", &self.port.to_string(), "-h", "127.0.0.1"]);
        command.arg("-k").arg(self.folder.path()).args(["-c", "fsync=off"]);
        self.server = Some(command.spawn().unwrap());
        let start = Instant::now();
        while self.connect("postgres").is_err() {
            assert!(start.elapsed() < Duration::from_secs(30), "the server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server at once, as a crash does: what was not committed is lost.
    pub(super) fn crash(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let _ = kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGQUIT);
        let _ = server.wait();
    }

    fn connect(&self, database: &str) -> Result<Client, postgres::Error> {
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(self.port).user(USER).password(PASSWORD).dbname(database).connect(NoTls)
    }

    /// A connection of the test's own.
    pub(super) fn client(&self, database: &str) -> Client {
        self.connect(database).unwrap()
    }

    /// The address of a table of the database `wiki`.
    pub(super) fn address(&self, table: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/wiki#{table}", self.port)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.crash();
    }
}
