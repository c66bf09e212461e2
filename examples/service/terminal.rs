use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};

use crate::sample::Sample;
use crate::table;

const PLAIN_EVERY: Duration = Duration::from_secs(1);

/// Where the table is shown.
pub enum Display {
    Live { terminal: DefaultTerminal, address: SocketAddr },
    Plain { next: Instant, address: SocketAddr },
}

impl Display {
    pub fn open(is_plain: bool, address: SocketAddr) -> io::Result<Self> {
        if is_plain || !io::stdout().is_terminal() {
            return Ok(Self::Plain { next: Instant::now(), address });
        }
        Ok(Self::Live { terminal: ratatui::try_init()?, address })
    }

    /// Returns whether the user wants to end.
    pub fn show(&mut self, sample: &Sample) -> Result<bool, Box<dyn Error>> {
        match self {
            Self::Live { terminal, address } => {
                terminal.draw(|frame| {
                    table::draw(frame.area(), frame.buffer_mut(), sample, *address);
                })?;
                is_asked_to_end()
            }
            Self::Plain { next, address } => {
                if Instant::now() >= *next {
                    *next += PLAIN_EVERY;
                    writeln!(io::stdout(), "{}", table::text(sample, *address))?;
                }
                Ok(false)
            }
        }
    }
}

/// The terminal hands on Ctrl-C as a key.
fn is_asked_to_end() -> Result<bool, Box<dyn Error>> {
    while event::poll(Duration::ZERO)? {
        if let Event::Key(key) = event::read()? {
            let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
            if matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
                || (is_control && key.code == KeyCode::Char('c'))
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Self::Live { .. } = self {
            ratatui::restore();
        }
    }
}
