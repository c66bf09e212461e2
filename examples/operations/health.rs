//! Connections that broke, are checked, grew old, or are taken away.

use std::panic::resume_unwind;
use std::time::Duration;

use sfo_pool::{PoolErrorCode, PoolOptions, WorkerGuard, WorkerPool, WorkerPoolConfig};

use crate::connection::request;
use crate::server::Server;
use crate::{HUNG, LONG, Outcome, SHORT, expect_error, wait_until};

pub async fn replace_broken() -> Outcome {
    let server = Server::start().await?;
    let pool = WorkerPool::new(1, server.connector());
    let mut connection = pool.get_worker().await?;
    let broken = connection.session;
    server.kill_connections().await;
    let reason = connection.ask("hello").await.expect_err("the server has closed it");
    report!("session {broken} gets no answer: {reason}");
    drop(connection);
    assert_eq!(pool.status().total, 0);
    assert_ne!(request("the next request", &pool).await?, broken);
    Ok(())
}

pub async fn recycle() -> Outcome {
    let server = Server::start().await?;
    let connector = server.connector();
    let options = PoolOptions::default().with_recycle_after(Some(Duration::ZERO));
    let config = WorkerPoolConfig::default();
    let pool = WorkerPool::new_with_options(connector.clone(), config.clone(), options);

    let first = request("a request", &pool).await?;
    assert_eq!(server.tally().pings, 0);
    assert_eq!(request("the next, after a ping,", &pool).await?, first);
    assert_eq!(server.tally().pings, 1);
    assert!(pool.try_get_worker()?.is_none());
    report!("one that can't wait gets none, for there is no time for a ping");

    pool.prewarm(3).await?;
    server.kill_connections().await;
    report!("3 connections are killed while they are idle");
    assert!(request("the next request", &pool).await? > 3);
    assert_eq!(pool.status().total, 1);
    report!("it found them all: {:?}", pool.status());

    server.rotate_password("another");
    connector.use_password("another");
    let session = server.tally().logins;
    report!("session {session} is logged out, though its connection stays open");
    assert!(request("the next request", &pool).await? > session);

    let options = PoolOptions::default().with_recycle_after(Some(LONG));
    let pool = WorkerPool::new_with_options(connector, config, options);
    let pings = server.tally().pings;
    request("where only those are checked that were idle for long, one", &pool).await?;
    request("the next", &pool).await?;
    assert_eq!(server.tally().pings, pings);
    report!("there was no ping");
    Ok(())
}

pub async fn bound_recycling() -> Outcome {
    let server = Server::start().await?;
    let recycling = PoolOptions::default().with_recycle_after(Some(Duration::ZERO));
    let config = WorkerPoolConfig::default().with_max_count(Some(1));
    let options = recycling.clone().with_acquire_timeout(Some(SHORT));
    let unbounded = WorkerPool::new_with_options(server.connector(), config.clone(), options);
    let options = recycling.with_recycle_timeout(Some(SHORT));
    let bounded = WorkerPool::new_with_options(server.connector(), config, options);
    unbounded.prewarm(1).await?;
    let stuck = request("a request", &bounded).await?;

    server.delay_answers(HUNG);
    let result = unbounded.get_worker().await;
    let error = expect_error("without a bound for the check, one", result, PoolErrorCode::Timeout);
    assert!(error.msg().contains("while recycling"));

    let mut connection = bounded.get_worker_timeout(LONG).await?;
    assert_ne!(connection.session, stuck);
    report!("with one, session {} takes the place of session {stuck}", connection.session);
    server.delay_answers(Duration::ZERO);
    connection.prove().await?;
    Ok(())
}

pub async fn wear_out() -> Outcome {
    let server = Server::start().await?;
    let options = PoolOptions::default().with_max_use_count(Some(2));
    let config = WorkerPoolConfig::default().with_max_count(Some(1));
    let pool = WorkerPool::new_with_options(server.connector(), config, options);
    let mut sessions = Vec::new();
    for _ in 0..5 {
        let mut connection = pool.get_worker().await?;
        connection.prove().await?;
        let info = WorkerGuard::info(&connection).ok_or("a limit on uses keeps a record")?;
        report!("session {}, use {}", connection.session, info.use_count);
        sessions.push(connection.session);
    }
    assert_eq!(sessions, [1, 1, 2, 2, 3]);
    Ok(())
}

/// A lifetime with an idle pool: the task of maintenance ends them, and not all at one moment.
pub async fn grow_old() -> Outcome {
    let server = Server::start().await?;
    let connector = server.connector();
    let (lifetime, jitter) = (Duration::from_millis(400), Duration::from_millis(300));
    let options = PoolOptions::default()
        .with_max_lifetime(Some(lifetime))
        .with_max_lifetime_jitter(jitter)
        .with_maintenance(true);
    let pool =
        WorkerPool::new_with_options(connector.clone(), WorkerPoolConfig::default(), options);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(pool.get_worker().await?);
    }
    let in_use = held.pop().ok_or("there are four")?;
    drop(held);

    wait_until("the idle ones end", || connector.lifetimes().len() == 3).await;
    let lived = connector.lifetimes();
    assert!(lived.iter().all(|&age| age >= lifetime - jitter), "{lived:?}");
    report!("of at most {lifetime:?}, less at most {jitter:?}, they lived {lived:.0?}");

    wait_until("the one in use is too old", || {
        WorkerGuard::info(&in_use).is_some_and(|info| info.age > lifetime)
    })
    .await;
    assert_eq!(pool.status().borrowed, 1);
    let old = in_use.session;
    drop(in_use);
    assert_eq!(pool.status().total, 0);
    report!("session {old} was in use for longer, and went when it came back");
    assert_ne!(request("the next request", &pool).await?, old);
    Ok(())
}

pub async fn panic_with_guard() -> Outcome {
    let server = Server::start().await?;
    for (keep, left) in [(false, 0), (true, 1)] {
        let options = PoolOptions::default().with_keep_on_panic(keep);
        let config = WorkerPoolConfig::default();
        let pool = WorkerPool::new_with_options(server.connector(), config, options);
        let mut connection = pool.get_worker().await?;
        let task = tokio::spawn(async move {
            connection.prove().await.expect("the server is well");
            // A panic that prints no message of its own.
            resume_unwind(Box::new("a fault in the caller"));
        });
        assert!(task.await.is_err_and(|error| error.is_panic()));
        assert_eq!(pool.status().idle, left);
        let fate = if keep { "kept, if it is well" } else { "destroyed" };
        report!("keep_on_panic {keep}: the connection of a task that panics is {fate}");
        request("the next request", &pool).await?;
    }
    Ok(())
}

pub async fn take_away() -> Outcome {
    let server = Server::start().await?;
    let options = PoolOptions::default().with_worker_info(true);
    let config = WorkerPoolConfig::default().with_max_count(Some(1));
    let pool = WorkerPool::new_with_options(server.connector(), config, options);
    pool.prewarm(1).await?;

    let connection = pool.get_worker().await?;
    let info = WorkerGuard::info(&connection).ok_or("the option is on")?;
    assert_eq!(info.use_count, 1);
    assert!(info.borrowed_for <= info.age);
    report!("session {}: {info:?}", connection.session);

    let mut detached = WorkerGuard::detach(connection);
    assert_eq!(pool.status().total, 0);
    let next = request("session 1 is detached; the next request", &pool).await?;
    detached.prove().await?;
    assert_ne!(detached.session, next);
    assert_eq!(server.tally().sessions, 2);
    report!("session {} works on, outside the pool", detached.session);

    let connection = pool.get_worker().await?;
    let other = WorkerGuard::info(&connection).ok_or("the option is on")?;
    assert_ne!(other.id, info.id);
    WorkerGuard::discard(connection);
    assert_eq!(pool.status().total, 0);
    wait_until("it is closed", || server.tally().sessions == 1).await;
    report!("session {next} is discarded, and closed");
    request("the next request", &pool).await?;
    Ok(())
}
