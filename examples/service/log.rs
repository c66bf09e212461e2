use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

const KEPT: usize = 4;
const UNPOISONED: &str = "nothing panics under this lock";

/// The last lines that were logged; one that comes again at once is counted.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<VecDeque<(String, usize)>>>);

/// Warnings go to the log that is returned, for the terminal shows the table.
pub fn start() -> Log {
    let log = Log::default();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .with_target(false)
        .with_level(false)
        .without_time()
        .with_writer(log.clone())
        .init();
    log
}

impl Log {
    /// The oldest first.
    pub fn lines(&self) -> Vec<String> {
        let lines = self.0.lock().expect(UNPOISONED);
        let text = |(line, count): &(String, usize)| match count {
            1 => line.clone(),
            _ => format!("{count} × {line}"),
        };
        lines.iter().map(text).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = self.0.lock().expect(UNPOISONED);
        for line in text.lines() {
            match lines.back_mut() {
                Some((last, count)) if last == line => *count += 1,
                _ => lines.push_back((line.to_owned(), 1)),
            }
        }
        while lines.len() > KEPT {
            lines.pop_front();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
