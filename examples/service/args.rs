use std::time::Duration;

/// What the command line says.
#[derive(Debug, Default)]
pub struct Args {
    pub seconds: Option<Duration>,
    pub is_plain: bool,
    pub port: u16,
    pub svg: Option<String>,
    pub chart: Option<String>,
}

impl Args {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self::default();
        while let Some(flag) = words.next() {
            let mut value =
                |what: &str| words.next().ok_or_else(|| format!("{flag} needs {what} after it"));
            match flag.as_str() {
                "--plain" => args.is_plain = true,
                "--seconds" => {
                    let word = value("a number")?;
                    let seconds = word.parse().ok().filter(|&seconds: &u64| seconds > 0);
                    let seconds = seconds.ok_or_else(|| {
                        format!("--seconds {word}: give a whole number of seconds, at least 1")
                    })?;
                    args.seconds = Some(Duration::from_secs(seconds));
                }
                "--port" => {
                    let word = value("a port")?;
                    args.port = word
                        .parse()
                        .map_err(|_| format!("--port {word}: give a number from 0 to 65535"))?;
                }
                "--svg" => args.svg = Some(value("a file")?),
                "--chart" => args.chart = Some(value("a file")?),
                _ => {
                    return Err(format!(
                        "{flag} is no option; there are --seconds N, --plain, --port P, --svg FILE \
                         and --chart FILE"
                    ));
                }
            }
        }
        Ok(args)
    }
}
