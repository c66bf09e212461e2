//! Warm interpreters of several languages, as many alive at a time as there is room for.
//!
//! Each worker is a child process of its language that evaluates one snippet after another. There is
//! room for one process fewer than there are languages, so that the one longest idle has to go when
//! another language is asked for. At the end one of them is killed from outside, and replaced.
//!
//! ```text
//! cargo run --example classified
//! ```

use std::io;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use sfo_pool::{
    ClassifiedWorker, ClassifiedWorkerFactory, ClassifiedWorkerPool, ClassifiedWorkerPoolConfig,
    ClassifiedWorkerPoolRef, PoolResult, into_pool_err,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::sleep;

type Pool = ClassifiedWorkerPoolRef<Language, Interpreter, Interpreters>;

const TURNS: [Language; 5] =
    [Language::Sh, Language::Sh, Language::Python, Language::Node, Language::Python];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let languages = installed_languages().await;
    let turns: Vec<_> = TURNS.into_iter().filter(|turn| languages.contains(turn)).collect();
    let Some(&last) = turns.last() else {
        println!("none of the interpreters is installed, so there is nothing to show");
        return Ok(());
    };
    let room = u16::try_from(languages.len() - 1)?.max(1);
    println!("languages: {languages:?}, room for interpreters: {room}");
    let config = ClassifiedWorkerPoolConfig::default().with_max_count(Some(room));
    let pool = ClassifiedWorkerPool::new(Interpreters, config);

    for language in turns {
        evaluate_in(language, &pool).await?;
    }
    kill_one_of(last, &pool).await?;
    evaluate_in(last, &pool).await?;
    println!("The pool is dropped, and with it what is idle");
    drop(pool);
    Ok(())
}

async fn installed_languages() -> Vec<Language> {
    let mut installed = Vec::new();
    for language in [Language::Sh, Language::Python, Language::Node] {
        if language.is_installed().await {
            installed.push(language);
        } else {
            println!("{language:?} is not installed, so it is left out");
        }
    }
    installed
}

async fn evaluate_in(language: Language, pool: &Pool) -> PoolResult<()> {
    println!("{language:?} is asked for");
    let mut interpreter = pool.get_classified_worker(language).await?;
    let snippet = language.snippet();
    let output = interpreter.evaluate(snippet).await;
    let output = output.map_err(into_pool_err!("{language:?} did not evaluate {snippet}"))?;
    println!("  {} evaluates `{snippet}` to {output}", interpreter.name);
    Ok(())
}

/// Kills an idle interpreter behind the pool's back.
async fn kill_one_of(language: Language, pool: &Pool) -> PoolResult<()> {
    let interpreter = pool.get_classified_worker(language).await?;
    let (name, pid) = (interpreter.name.clone(), interpreter.pid);
    drop(interpreter);
    println!("{name} is killed while it is idle");
    let killed = Language::Sh.command(&format!("kill -9 {pid}")).status().await;
    killed.map_err(into_pool_err!("sh is needed to kill {name}"))?;
    sleep(Duration::from_millis(100)).await;
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Language {
    Sh,
    Python,
    Node,
}

impl Language {
    fn command(self, program_text: &str) -> Command {
        let (program, option) = match self {
            Self::Sh => ("sh", "-c"),
            Self::Python => ("python3", "-c"),
            Self::Node => ("node", "-e"),
        };
        let mut command = Command::new(program);
        // In this locale sh counts bytes, not characters.
        command.env("LC_ALL", "C").args([option, program_text]).kill_on_drop(true);
        command
    }

    fn driver(self) -> &'static str {
        match self {
            Self::Sh => SH_DRIVER,
            Self::Python => PYTHON_DRIVER,
            Self::Node => NODE_DRIVER,
        }
    }

    fn snippet(self) -> &'static str {
        match self {
            Self::Sh => "echo $((6 * 7))",
            Self::Python => "print(2 ** 100)",
            Self::Node => "console.log([1, 2, 3].map(n => n * n))",
        }
    }

    async fn is_installed(self) -> bool {
        let output = self.command("").output().await;
        output.is_ok_and(|output| output.status.success())
    }
}

/// The worker.
struct Interpreter {
    language: Language,
    name: String,
    pid: u32,
    child: Mutex<Child>,
    snippets: ChildStdin,
    outputs: BufReader<ChildStdout>,
    output_is_due: bool,
}

impl Interpreter {
    fn start(language: Language) -> io::Result<Self> {
        let mut command = language.command(language.driver());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pid = child.id().expect("it has not been waited for");
        let snippets = child.stdin.take().expect("it is piped");
        let outputs = BufReader::new(child.stdout.take().expect("it is piped"));
        let name = format!("{language:?} {pid}");
        println!("  {name} starts");
        let child = Mutex::new(child);
        Ok(Self { language, name, pid, child, snippets, outputs, output_is_due: false })
    }

    async fn evaluate(&mut self, snippet: &str) -> io::Result<String> {
        assert!(!snippet.contains('\n'), "a snippet is one line");
        self.output_is_due = true;
        self.snippets.write_all(format!("{snippet}\n").as_bytes()).await?;

        let mut length = String::new();
        self.outputs.read_line(&mut length).await?;
        let length = length.trim_end().parse().map_err(io::Error::other)?;
        let mut output = vec![0; length];
        self.outputs.read_exact(&mut output).await?;
        self.output_is_due = false;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }
}

impl ClassifiedWorker<Language> for Interpreter {
    fn is_work(&self) -> bool {
        let mut child = self.child.lock().expect("nothing panics under this lock");
        let is_alive = matches!(child.try_wait(), Ok(None));
        // One whose user gave up would hand the late output to the next user.
        is_alive && !self.output_is_due
    }

    fn is_valid(&self, language: Language) -> bool {
        language == self.language
    }

    fn classification(&self) -> Language {
        self.language
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        println!("  {} leaves the pool", self.name);
    }
}

struct Interpreters;

#[async_trait::async_trait]
impl ClassifiedWorkerFactory<Language, Interpreter> for Interpreters {
    async fn create(&self, language: Option<Language>) -> PoolResult<Interpreter> {
        let language = language.unwrap_or(Language::Sh);
        Interpreter::start(language).map_err(into_pool_err!("cannot start {language:?}"))
    }
}

/// Every driver reads a snippet, which is one line, and writes the length of its output in bytes on a
/// line of its own and then the output, for ever.
const SH_DRIVER: &str = r#"
while read -r snippet; do
    output=$( (eval "$snippet") 2>&1 </dev/null)
    printf '%s\n%s' "${#output}" "$output"
done
"#;

const PYTHON_DRIVER: &str = r#"
import contextlib, io, sys
snippets, sys.stdin = sys.stdin, io.StringIO()
for snippet in snippets:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try: exec(snippet, {})
        except BaseException as error: print(repr(error))
    output = output.getvalue().encode()
    sys.stdout.buffer.write(b"%d\n%b" % (len(output), output))
    sys.stdout.flush()
"#;

const NODE_DRIVER: &str = r#"
const util = require('util'), vm = require('vm');
require('readline').createInterface({ input: process.stdin }).on('line', snippet => {
    let output = '';
    const console = { log: (...values) => output += util.format(...values) + '\n' };
    try { vm.runInNewContext(snippet, { console }); }
    catch (error) { console.log(String(error)); }
    process.stdout.write(`${Buffer.byteLength(output)}\n${output}`);
});
"#;
