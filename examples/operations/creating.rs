//! Creations that are slow, fail or are abandoned; creations ahead of need.

use std::error::Error;
use std::time::Duration;

use sfo_pool::{PoolErrorCode, PoolOptions, PoolRetry, WorkerPool, WorkerPoolConfig};

use crate::connection::{drop_closed, is_transient, request};
use crate::server::Server;
use crate::{HUNG, LONG, Outcome, SHORT, expect_error, wait_until};

pub async fn time_out() -> Outcome {
    let server = Server::start().await?;
    let options = PoolOptions::default().with_creation_timeout(Some(SHORT));
    let config = WorkerPoolConfig::default().with_max_count(Some(1));
    let pool = WorkerPool::new_with_options(server.connector(), config, options);

    server.delay_logins(HUNG);
    expect_error("a request", pool.get_worker().await, PoolErrorCode::Timeout);
    assert_eq!(pool.status().total, 0);
    report!("its slot is free again: {:?}", pool.status());
    Ok(())
}

pub async fn retry() -> Outcome {
    let mut server = Server::start().await?;
    let connector = server.connector();
    let retry = PoolRetry::new(is_transient)
        .with_max_retry_count(10_000)
        .with_first_delay(Duration::from_millis(5))
        .with_max_delay(Duration::from_millis(20));
    let options = PoolOptions::default().with_creation_retry(Some(retry));
    let config = WorkerPoolConfig::default().with_max_count(Some(2));
    let pool = WorkerPool::new_with_options(connector.clone(), config, options);
    request("a request before the restart", &pool).await?;

    server.stop().await?;
    drop_closed(&pool).await;
    report!("the server is down, and its connections are gone");
    let impatient = pool.get_worker_timeout(5 * SHORT).await;
    let error = expect_error("an impatient request", impatient, PoolErrorCode::Timeout);
    assert!(error.source().is_some());

    let before = connector.attempts().len();
    let patient = tokio::spawn({
        let pool = pool.clone();
        async move { request("the patient request", &pool).await.map_err(|error| error.to_string()) }
    });
    wait_until("some attempts", || connector.attempts().len() >= before + 3).await;
    report!("a patient request has tried 3 times");
    server.listen()?;
    report!("the server is up again");
    patient.await??;

    let before = connector.attempts().len();
    server.rotate_password("another");
    pool.invalidate_all();
    expect_error("with a wrong password, one", pool.get_worker().await, PoolErrorCode::Failed);
    assert_eq!(connector.attempts().len(), before + 1);
    report!("that is not transient: there was 1 attempt");
    Ok(())
}

pub async fn outlive_caller() -> Outcome {
    let server = Server::start().await?;
    let connector = server.connector();
    let options = PoolOptions::default().with_detached_creation(true);
    let config = WorkerPoolConfig::default().with_max_count(Some(1));
    let pool = WorkerPool::new_with_options(connector.clone(), config, options);

    server.delay_logins(HUNG);
    expect_error("a caller", pool.get_worker_timeout(SHORT).await, PoolErrorCode::Timeout);
    assert_eq!(pool.status().creating, 1);
    server.delay_logins(Duration::ZERO);
    wait_until("the connection is finished", || pool.status().idle == 1).await;
    report!("nobody waits for it, but the connection is finished, and idle");
    request("the next request", &pool).await?;
    assert_eq!(connector.attempts().len(), 1);
    Ok(())
}

pub async fn limit_handshakes() -> Outcome {
    let server = Server::start().await?;
    let options = PoolOptions::default().with_max_concurrent_creation_count(Some(2));
    let config = WorkerPoolConfig::default().with_max_count(Some(6));
    let pool = WorkerPool::new_with_options(server.connector(), config, options);

    server.delay_logins(HUNG);
    let get = || pool.get_worker_timeout(LONG);
    let watch = async {
        wait_until("both handshakes", || server.tally().handshakes == 2).await;
        let status = pool.status();
        assert_eq!((status.creating, status.waiting), (2, 4));
        report!("of 6 requests {} create and {} wait", status.creating, status.waiting);
        server.delay_logins(Duration::ZERO);
    };
    // All are polled before the watch looks.
    let (a, b, c, d, e, f, ()) =
        tokio::join!(biased; get(), get(), get(), get(), get(), get(), watch);
    for connection in [a, b, c, d, e, f] {
        connection?.prove().await?;
    }
    assert_eq!(server.tally().most_handshakes, 2);
    report!("all are served, with never more than 2 handshakes at a time");
    Ok(())
}

pub async fn prewarm() -> Outcome {
    let server = Server::start().await?;
    let pool = WorkerPool::new(8, server.connector());
    let created = pool.prewarm(3).await?;
    assert_eq!((created, pool.status().idle), (3, 3));
    report!("{created} connections are opened ahead of need");
    let burst = [pool.get_worker().await?, pool.get_worker().await?, pool.get_worker().await?];
    for mut connection in burst {
        connection.prove().await?;
    }
    assert_eq!(server.tally().logins, 3);
    report!("a burst of 3 requests connects to nobody");
    Ok(())
}

/// A constructor cannot fail; the first request tells.
pub async fn misconfigure() -> Outcome {
    let server = Server::start().await?;
    let options = PoolOptions::default().with_min_idle_count(2);
    let config = WorkerPoolConfig::default();
    let pool = WorkerPool::new_with_options(server.connector(), config.clone(), options);
    expect_error("a request", pool.get_worker().await, PoolErrorCode::InvalidConfig);

    let options = PoolOptions::default().with_create_first(true);
    let pool = WorkerPool::new_with_options(server.connector(), config, options);
    expect_error("another", pool.get_worker().await, PoolErrorCode::InvalidConfig);
    Ok(())
}
