//! What a pool does without traffic: expiry, a reserve, polite ends.

use std::time::{Duration, Instant};

use sfo_pool::{PoolErrorCode, PoolOptions, WorkerGuard, WorkerPool, WorkerPoolConfig};
use tokio::time::sleep;

use crate::connection::{drop_closed, request};
use crate::server::Server;
use crate::{HUNG, LONG, Outcome, SHORT, expect_error, wait_until};

pub async fn expire() -> Outcome {
    let server = Server::start().await?;
    let config = WorkerPoolConfig::default().with_idle_timeout(Some(SHORT));
    let pool = WorkerPool::new_with_config(server.connector(), config.clone());
    let held = [pool.get_worker().await?, pool.get_worker().await?];
    drop(held);
    sleep(SHORT).await;
    assert_eq!(pool.status().total, 2);
    let expired = pool.cleanup_idle_worker();
    assert_eq!((expired, pool.status().total), (2, 0));
    report!("without maintenance they stay, until a cleanup finds {expired} of them");

    let options = PoolOptions::default().with_maintenance(true);
    let pool = WorkerPool::new_with_options(server.connector(), config, options);
    let held = [pool.get_worker().await?, pool.get_worker().await?];
    drop(held);
    wait_until("they expire", || pool.status().total == 0).await;
    wait_until("they are closed", || server.tally().sessions == 0).await;
    report!("with maintenance they go by themselves");
    Ok(())
}

pub async fn keep_reserve() -> Outcome {
    let mut server = Server::start().await?;
    let connector = server.connector();
    let options = PoolOptions::default().with_min_idle_count(2).with_maintenance(true);
    let config = WorkerPoolConfig::default().with_max_count(Some(8));
    let pool = WorkerPool::new_with_options(connector.clone(), config, options);
    let is_full = || pool.status().idle >= 2;

    wait_until("the reserve is there", is_full).await;
    report!("nobody has asked, and there are {} idle", pool.status().idle);
    WorkerGuard::discard(pool.get_worker().await?);
    wait_until("the reserve is refilled", is_full).await;
    report!("one is discarded: refilled");

    let killed = server.tally().logins;
    server.kill_connections().await;
    wait_until("those that were killed are replaced", || {
        let mut sessions = Vec::new();
        pool.retain(|connection| {
            sessions.push(connection.session);
            connection.is_open()
        });
        sessions.len() >= 2 && sessions.iter().all(|&session| session > killed)
    })
    .await;
    report!("all are killed, and retain() drops what is closed: refilled");
    request("a request", &pool).await?;

    server.stop().await?;
    drop_closed(&pool).await;
    let before = connector.attempts().len();
    wait_until("some attempts", || connector.attempts().len() >= before + 3).await;
    let attempts = connector.attempts().split_off(before);
    let pauses = [attempts[1] - attempts[0], attempts[2] - attempts[1]];
    // The timer counts milliseconds.
    assert!(pauses.iter().all(|&pause| pause >= Duration::from_millis(99)), "{pauses:?}");
    report!("the server is down, and is not hammered: attempts pause for {pauses:.0?}");
    expect_error("a request", pool.get_worker().await, PoolErrorCode::Failed);

    server.listen()?;
    wait_until("the reserve is refilled", is_full).await;
    report!("the server is up again: refilled");
    request("a request", &pool).await?;
    Ok(())
}

pub async fn say_goodbye() -> Outcome {
    let server = Server::start().await?;
    let options = PoolOptions::default().with_maintenance(true).with_destroy_timeout(Some(LONG));
    let config = WorkerPoolConfig::default().with_max_idle_count(Some(1));
    let pool = WorkerPool::new_with_options(server.connector(), config, options.clone());
    let held = [pool.get_worker().await?, pool.get_worker().await?, pool.get_worker().await?];
    drop(held);
    wait_until("two are too many", || pool.status().total == 1).await;
    assert_eq!(server.tally().quits, 2);
    report!("2 connections are idle too many, and say QUIT");
    pool.close().await;
    assert_eq!(server.tally().quits, 3);
    report!("when the pool is closed, the last one has said QUIT as well");

    let config = WorkerPoolConfig::default().with_max_count(Some(1));
    let options = options.with_destroy_timeout(Some(SHORT));
    let pool = WorkerPool::new_with_options(server.connector(), config, options);
    let connection = pool.get_worker().await?;
    server.delay_answers(HUNG);
    let start = Instant::now();
    WorkerGuard::discard(connection);
    let _next = pool.get_worker_timeout(LONG).await?;
    let elapsed = start.elapsed();
    assert!(elapsed >= SHORT, "{elapsed:?}");
    report!("a server that does not answer is given {SHORT:?}, then the next may connect");
    Ok(())
}
