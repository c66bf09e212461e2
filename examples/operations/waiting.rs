//! How long a request waits, and how many may.

use std::time::Duration;

use sfo_pool::{PoolErrorCode, PoolOptions, WorkerGuard, WorkerPool, WorkerPoolConfig};
use tokio::time::{sleep, timeout};

use crate::connection::request;
use crate::server::Server;
use crate::{HUNG, LONG, Outcome, SHORT, expect_error};

/// The message names what the request was doing, and what there was in the pool.
pub async fn time_out() -> Outcome {
    let server = Server::start().await?;
    let config = WorkerPoolConfig::default().with_max_count(Some(1));
    let options = PoolOptions::default().with_acquire_timeout(Some(SHORT));
    let pool = WorkerPool::new_with_options(server.connector(), config, options);

    let held = pool.get_worker_timeout(LONG).await?;
    let error = expect_error("a request", pool.get_worker().await, PoolErrorCode::Timeout);
    assert!(error.msg().contains("while waiting"));

    let limit = SHORT / 2;
    let result = pool.get_worker_timeout(limit).await;
    let error = expect_error("one in more of a hurry", result, PoolErrorCode::Timeout);
    assert!(error.msg().contains(&format!("{limit:?}")));

    WorkerGuard::discard(held);
    server.delay_logins(HUNG);
    let result = pool.get_worker().await;
    let error = expect_error("while logins hang, one", result, PoolErrorCode::Timeout);
    assert!(error.msg().contains("while creating"));

    server.delay_logins(Duration::ZERO);
    request("a request after that", &pool).await?;
    Ok(())
}

/// The place in the line goes with the request; the next in the line loses nothing.
pub async fn give_up() -> Outcome {
    let server = Server::start().await?;
    let pool = WorkerPool::new(2, server.connector());
    let held = [pool.get_worker().await?, pool.get_worker().await?];
    let impatient = async {
        assert!(timeout(SHORT, pool.get_worker()).await.is_err());
        report!("the impatient request gives up after {SHORT:?}");
    };
    let hold = async {
        sleep(2 * SHORT).await;
        report!("both connections come back");
        drop(held);
    };
    let ((), patient, ()) =
        tokio::join!(biased; impatient, request("the patient request", &pool), hold);
    patient?;
    assert_eq!(pool.status().idle, 2);
    Ok(())
}

pub async fn try_at_once() -> Outcome {
    let server = Server::start().await?;
    let pool = WorkerPool::new(1, server.connector());
    assert!(pool.try_get_worker()?.is_none());
    report!("an empty pool has none, and connects to nobody for it");
    assert_eq!(server.tally().logins, 0);

    let session = request("a request that waits for a connection", &pool).await?;
    let mut connection = pool.try_get_worker()?.ok_or("it is idle now")?;
    connection.prove().await?;
    assert_eq!(connection.session, session);
    report!("then session {session} is there at once");
    assert!(pool.try_get_worker()?.is_none());
    report!("and while it is out there is none");
    Ok(())
}

/// Those who have a place in the line keep it.
pub async fn be_full() -> Outcome {
    let server = Server::start().await?;
    let config = WorkerPoolConfig::default().with_max_count(Some(1));
    let options = PoolOptions::default().with_max_waiting_count(Some(1));
    let pool = WorkerPool::new_with_options(server.connector(), config, options);

    let held = pool.get_worker().await?;
    // Polled in this order: the first waits already when the second comes.
    let (first, ()) = tokio::join!(biased; request("the first that waits", &pool), async {
        assert_eq!(pool.status().waiting, 1);
        expect_error("the second", pool.get_worker().await, PoolErrorCode::Full);
        drop(held);
    });
    first?;
    Ok(())
}
