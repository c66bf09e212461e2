use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use sfo_pool::PoolMetrics;

/// Serves all metrics for Prometheus, and returns where.
pub fn start(port: u16) -> Result<SocketAddr, String> {
    let address = free(port).map_err(|error| format!("cannot listen on port {port}: {error}"))?;
    let times = Matcher::Prefix("sfo_pool_".to_owned());
    let exporter = PrometheusBuilder::new()
        .with_http_listener(address)
        .set_buckets_for_metric(times, &PoolMetrics::BUCKETS)
        .and_then(PrometheusBuilder::install);
    exporter.map_err(|error| format!("cannot serve metrics on {address}: {error}"))?;
    Ok(address)
}

/// The exporter does not tell which port it was given, so it is looked for beforehand.
fn free(port: u16) -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))?.local_addr()
}
