//! What an operator changes while requests go on, up to the end.

use sfo_pool::{PoolErrorCode, PoolPhase, WorkerPool};
use tokio::time::sleep;

use crate::connection::request;
use crate::server::Server;
use crate::{LONG, Outcome, SHORT, expect_error, wait_until};

pub async fn resize() -> Outcome {
    let server = Server::start().await?;
    let pool = WorkerPool::new(2, server.connector());
    let held = [pool.get_worker().await?, pool.get_worker().await?];
    // Polled in this order: the first waits already when the limit grows.
    let (third, ()) = tokio::join!(biased; pool.get_worker_timeout(LONG), async {
        assert_eq!(pool.status().waiting, 1);
        report!("{:?}", pool.status());
        pool.set_max_count(Some(3)).expect("it is above zero");
    });
    third?.prove().await?;
    assert_eq!(pool.status().total, 3);
    report!("the limit grows to 3: the request that waits is served");

    pool.set_max_count(Some(1))?;
    assert_eq!((pool.status().idle, pool.status().borrowed), (0, 2));
    report!("it shrinks to 1: what is idle goes, and 2 are still out");
    drop(held);
    let status = pool.status();
    assert_eq!((status.max_count, status.total, status.idle), (Some(1), 1, 1));
    report!("they come back, and 1 stays");

    expect_error("a limit of 0", pool.set_max_count(Some(0)), PoolErrorCode::InvalidConfig);
    request("a request", &pool).await?;
    Ok(())
}

pub async fn retain() -> Outcome {
    let server = Server::start().await?;
    let pool = WorkerPool::new(8, server.connector());
    pool.prewarm(3).await?;
    let retained = pool.retain(|connection| connection.session == 2);
    assert_eq!((retained.kept, retained.removed), (1, 2));
    wait_until("they are closed", || server.tally().sessions == 1).await;
    report!("all but session 2 go: {retained:?}");
    assert_eq!(request("a request", &pool).await?, 2);
    Ok(())
}

pub async fn rotate_password() -> Outcome {
    let server = Server::start().await?;
    let connector = server.connector();
    let pool = WorkerPool::new(3, connector.clone());
    pool.prewarm(3).await?;
    let (mut in_use, old) = (pool.get_worker().await?, pool.get_worker().await?);

    server.rotate_password("another");
    connector.use_password("another");
    let reason = in_use.ask("hello").await.expect_err("its password is no longer right");
    report!("session {}: {reason}", in_use.session);
    drop(in_use);
    assert_eq!(pool.status().total, 2);

    pool.invalidate_all();
    assert_eq!(pool.status().total, 1);
    report!("the pool gives up all sessions from before; the idle one is gone");
    assert!(request("a request", &pool).await? > 3);
    assert!(old.is_open());
    drop(old);
    assert_eq!(pool.status().total, 1);
    report!("one that was out goes when it comes back: {:?}", pool.status());
    request("the next request", &pool).await?;
    Ok(())
}

pub async fn clear_under_load() -> Outcome {
    let server = Server::start().await?;
    let pool = WorkerPool::new(2, server.connector());
    let held = [pool.get_worker().await?, pool.get_worker().await?];
    let wait = async {
        expect_error("one that waits", pool.get_worker().await, PoolErrorCode::Cleared);
    };
    let clear = async {
        report!("the clear begins");
        pool.clear_all_worker().await;
        assert_eq!(pool.status().total, 0);
        report!("the clear is over");
    };
    let ask_meanwhile = async {
        assert_eq!(pool.status().phase, PoolPhase::Clearing);
        expect_error("one that comes", pool.get_worker().await, PoolErrorCode::Clearing);
    };
    let hold = async {
        for connection in held {
            sleep(SHORT).await;
            report!("session {} comes back", connection.session);
        }
    };
    // Polled in this order: one waits already when the clear begins.
    tokio::join!(biased; wait, clear, ask_meanwhile, hold);
    assert!(request("a request after the clear", &pool).await? > 2);
    Ok(())
}

pub async fn close() -> Outcome {
    let server = Server::start().await?;
    let pool = WorkerPool::new(2, server.connector());
    let held = [pool.get_worker().await?, pool.get_worker().await?];
    let told = tokio::spawn({
        let pool = pool.clone();
        async move { pool.closed().await }
    });
    assert!(!pool.is_closed());

    let wait = async {
        expect_error("one that waits", pool.get_worker().await, PoolErrorCode::Closed);
    };
    let ((), missing) = tokio::join!(biased; wait, pool.close_within(SHORT));
    assert_eq!(missing, 2);
    report!("after {SHORT:?} {missing} connections have not come back");
    assert!(pool.is_closed());
    told.await?;
    report!("whoever waited for the close is told");
    expect_error("one that comes", pool.get_worker().await, PoolErrorCode::Closed);

    for mut connection in held {
        connection.prove().await?;
    }
    report!("those that are out work on until they come back");
    pool.close().await;
    assert_eq!(pool.status().total, 0);
    wait_until("all are closed", || server.tally().sessions == 0).await;
    report!("then all are closed: {:?}", pool.status());
    Ok(())
}
